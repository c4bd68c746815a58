// Which files of a repository are models, and which of them is meant.

import { basename } from 'node:path';
import { EXIT, nearest, UserError } from '../errors.js';
import { printable } from '../printable.js';
import { sizeText } from './download-text.js';
import { AGENTWORLD, type ModelReference } from './model-name.js';
import { bytesOf, isSafe, type RepositoryFile } from './repository.js';

/** A model among the files of a repository: a GGUF file, or all parts of a split one in their order. */
export interface ModelChoice {
  /** Such as Q4_K_M; the file's name where it tells none. */
  readonly quantization: string;
  readonly files: readonly RepositoryFile[];
}

/** The name of a part of a split model: what precedes its number, the number, and the count of all. */
export const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;
const QUANTIZATION = /(?:^|[-._/])((?:UD-)?(?:I?Q\d\w*|TQ\d_\d|MXFP4\w*|NVFP4\w*|BF16|F16|F32))$/i;
/** Files beside a model's weights: for pictures, or for quantising it. */
const ACCESSORY = /(?:^|[/._-])(?:mmproj|imatrix)(?=[._-]|$)/i;

/** The one model that is meant. Throws a UserError with the choices where there is none (66) or several (2), and for another file than the pinned one (65). */
export function chooseModel(files: readonly RepositoryFile[], reference: ModelReference): ModelChoice {
  const choices = modelsAmong(files);
  const found = matching(choices, reference);
  const [choice] = found;
  if (choice !== undefined && found.length === 1) return requirePinned(choice, reference);
  throw new UserError(refusalText(choices, found, reference), found.length === 0 ? EXIT.inputMissing : EXIT.usage);
}

/** The one model among files on this machine that is meant; undefined where there is none, or no telling. */
export function onlyModel(files: readonly RepositoryFile[], reference: ModelReference): ModelChoice | undefined {
  const [choice, other] = matching(modelsAmong(files), reference);
  return other === undefined ? choice : undefined;
}

/** The models among files; split ones only where all of their parts are there. */
function modelsAmong(files: readonly RepositoryFile[]): ModelChoice[] {
  const byBase = new Map<string, RepositoryFile[]>();
  for (const file of files) {
    if (!/\.gguf$/i.test(file.path) || !isSafe(file.path) || ACCESSORY.test(file.path)) continue;
    const [, base, , count] = SPLIT.exec(file.path) ?? [];
    const key = base === undefined ? file.path : `${base}-of-${count}.gguf`;
    byBase.set(key, [...(byBase.get(key) ?? []), file]);
  }
  return [...byBase.values()]
    .map((parts) => parts.sort((a, b) => (a.path < b.path ? -1 : 1)))
    .filter((parts) => parts.length === Number(SPLIT.exec(parts[0]?.path ?? '')?.[3] ?? 1))
    .map((parts) => ({ quantization: quantizationOf(parts[0]?.path ?? ''), files: parts }));
}

function quantizationOf(path: string): string {
  const base = path.replace(SPLIT, '$1$4').replace(/\.gguf$/i, '');
  return QUANTIZATION.exec(base)?.[1] ?? basename(base);
}

function matching(choices: readonly ModelChoice[], { file, quantization }: ModelReference): readonly ModelChoice[] {
  if (file !== undefined) return choices.filter(({ files }) => files[0]?.path === file);
  const wanted = quantization?.toLowerCase();
  return wanted === undefined ? choices : choices.filter((choice) => choice.quantization.toLowerCase() === wanted);
}

function refusalText(
  choices: readonly ModelChoice[],
  found: readonly ModelChoice[],
  reference: ModelReference,
): string {
  const { repository, file, quantization } = reference;
  if (choices.length === 0) return `${repository} holds no GGUF model; name another repository`;
  const shownChoices = found.length > 1 ? found : choices;
  const isAmbiguous = new Set(shownChoices.map((choice) => choice.quantization)).size < shownChoices.length;
  const list = [...shownChoices]
    .sort((a, b) => bytesOf(a.files) - bytesOf(b.files))
    .map(
      (choice) => `${isAmbiguous ? choice.files[0]?.path : choice.quantization} (${sizeText(bytesOf(choice.files))})`,
    );
  const near = nearest(
    quantization ?? '',
    choices.map((choice) => choice.quantization),
  );
  const what =
    found.length > 1
      ? `${repository} holds several ${quantization === undefined ? 'models' : `of ${quantization}`}`
      : `${repository} holds no ${file ?? quantization}${near === undefined ? '' : ` (did you mean ${near}?)`}`;
  const how = isAmbiguous ? `hf:${repository}/FILE` : `hf:${repository}:QUANT`;
  return printable(`${what}; name one as ${how}: ${list.join(', ')}`);
}

/** The hub must have what scores were made with, before it is downloaded. */
function requirePinned(choice: ModelChoice, { repository, sha256 }: ModelReference): ModelChoice {
  const [file] = choice.files;
  if (sha256 === undefined || file === undefined) return choice;
  if (file.sha256 === undefined || file.sha256 === sha256) return { ...choice, files: [{ ...file, sha256 }] };
  const message = `${file.path} of ${repository} is no longer the file that ${AGENTWORLD.name} stands for; to use it nevertheless, name it as hf:${repository}/${file.path}`;
  throw new UserError(printable(message), EXIT.badData);
}
