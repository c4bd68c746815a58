// A model by its name: which file of which repository is meant, and where it is on this machine, downloaded where need be.

import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { EXIT, nearest, UserError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { bytesOf, type HubOptions, Repository, type RepositoryFile, type RepositoryName } from './client.js';
import { bring, withFolder } from './download.js';
import { sizeText } from './download-text.js';
import { isSafe } from './source-record.js';

/** What the name `qwen-agentworld-35b-a3b` stands for: one file, since scores depend on it. */
export const AGENTWORLD = {
  name: 'qwen-agentworld-35b-a3b',
  /** On the hub, where its weights are not quantised. */
  official: 'Qwen/Qwen-AgentWorld-35B-A3B',
  repository: 'unsloth/Qwen-AgentWorld-35B-A3B-GGUF',
  revision: '3a305abf5cfd119ee999dfe929c433746edd8d63',
  file: 'Qwen-AgentWorld-35B-A3B-UD-Q4_K_M.gguf',
  quantization: 'UD-Q4_K_M',
  sha256: 'e7a8eafdd8013443b6bcc4b6fb47b2d2025f772d359650b9ceb7d75971e22cad',
} as const;

/** A model of a hub as a user names it. */
interface ModelReference extends RepositoryName {
  readonly kind: 'model';
  readonly quantization?: string | undefined;
  readonly file?: string | undefined;
  /** What the file must be, whatever the hub says. */
  readonly sha256?: string;
}

/** A revision with slashes is one of the hub's own, such as refs/pr/1: elsewhere a slash begins the file's path. */
const REFERENCE = /^hf:([\w.-]+\/[\w.-]+)(?:@(refs\/[\w.-]+\/[\w.-]+|[\w.-]+))?(?::([\w.-]+)|\/(.+\.gguf))?$/i;
/** Parts of a path that lead out of it. */
const DOTS = /(?:^|\/)\.+(?:\/|$)/;

/** Undefined for what is a path. Throws a UserError (2) for what looks like a hub's name and is none. */
function referenceOf(name: string): ModelReference | undefined {
  if (name.toLowerCase() === AGENTWORLD.name) {
    const { repository, revision, file, sha256 } = AGENTWORLD;
    return { kind: 'model', repository, revision, file, sha256 };
  }
  if (!name.startsWith('hf:')) return undefined;
  const [, repository, revision = 'main', quantization, file] = REFERENCE.exec(name) ?? [];
  if (repository === undefined || DOTS.test(repository) || DOTS.test(revision)) {
    throw new UserError(
      `"${printable(name)}" does not name a model; write hf:user/repo:QUANT or hf:user/repo/file.gguf, such as hf:${AGENTWORLD.repository}:${AGENTWORLD.quantization}`,
    );
  }
  return { kind: 'model', repository, revision, quantization, file };
}

/** Where a repository's files lie below the folder of all downloads. */
function folderOf({ repository, revision }: RepositoryName, directory: string): string {
  const suffix = revision === 'main' ? '' : `@${revision.replaceAll('/', '--')}`;
  return join(directory, repository.replace('/', '--') + suffix);
}

/** The name of one file of a repository, as a user may write it. */
function nameOf({ repository, revision }: RepositoryName, path: string): string {
  return `hf:${repository}${revision === 'main' ? '' : `@${revision}`}/${path}`;
}

/** The name under which a model is served: `models/My-Model-Q8_0.gguf` -> `My-Model-Q8_0`; other names stand for themselves. */
export function servedName(model: string): string {
  return model.replace(/^.*[/\\]/, '').replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '');
}

/** The further names of a model, `alias` among them. The reference model also answers to its name on the hub, which the model card's own code asks for. */
export function aliasesOf(model: string, alias: readonly string[]): string[] {
  const own = servedName(model);
  const official = own.toLowerCase() === AGENTWORLD.name ? [AGENTWORLD.official] : [];
  return [...new Set([...alias, ...official])].filter((name) => name !== own);
}

export interface ModelOptions extends HubOptions {
  /** Where relative paths begin. */
  readonly cwd: string;
  /** Where downloaded models are kept; made where it is missing. */
  readonly directory: string;
  /** Told what will be downloaded before it is; refuses by throwing. */
  readonly beforeDownload?: (model: Download) => void | Promise<void>;
}

interface Download {
  /** As `--model` takes it. */
  readonly name: string;
  readonly bytes: number;
}

/**
 * The path of a model, of a split one that of its first file, by a path, `hf:user/repo:QUANT`, `hf:user/repo/file.gguf`, either with `@revision` behind the repository,
 * or `qwen-agentworld-35b-a3b`. What was downloaded before is used without asking the hub.
 * Throws a UserError: 66 no such file or repository, 77 access denied, 69 hub out of reach, 73 or 74 cannot write, 65 wrong content,
 * 130 or 143 interrupted.
 */
export async function resolveModel(name: string, options: ModelOptions): Promise<string> {
  const reference = referenceOf(name);
  if (reference === undefined) return localModel(name, options.cwd);
  const folder = folderOf(reference, options.directory);
  const present = await downloadedModel(reference, folder);
  if (present !== undefined) return pathOf(present, folder);
  const repository = new Repository(reference, options);
  const choice = chooseModel(await repository.listFiles(), reference);
  await options.beforeDownload?.({
    name: printable(nameOf(reference, choice.files[0]?.path ?? '')),
    bytes: bytesOf(choice.files),
  });
  await withFolder(repository, folder, async () => {
    const wanted = choice.files.map(async (file) => {
      const target = join(folder, file.path);
      // Only whole files have their final name.
      const size = (await stat(target).catch(() => undefined))?.size;
      return { file, target, isHere: size === file.bytes };
    });
    await bring(repository, await Promise.all(wanted), folder, options.onProgress);
  });
  return pathOf(choice, folder);
}

async function localModel(name: string, cwd: string): Promise<string> {
  const path = resolve(cwd, name);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    const isRepository = /^[\w.-]+\/[\w.-]+(?::[\w.-]+)?$/.test(name) && !/\.gguf$/i.test(name);
    const near = nearest(name.toLowerCase(), [AGENTWORLD.name]);
    const hint = near
      ? `; did you mean ${near}?`
      : isRepository
        ? `; from a hub, write hf:${printable(name)}`
        : '; check --model';
    throw new UserError(`there is no model file ${printable(path)}${hint}`, EXIT.inputMissing);
  }
  if (!found.isFile())
    throw new UserError(`${printable(path)} is not a file; name the GGUF file in it`, EXIT.inputMissing);
  await requireAllParts(path);
  return path;
}

async function requireAllParts(path: string): Promise<void> {
  const [, base, index, count] = SPLIT.exec(path) ?? [];
  if (base === undefined) return;
  if (Number(index) !== 1) {
    throw new UserError(
      `${printable(path)} is part ${Number(index)} of a split model; name its first part`,
      EXIT.usage,
    );
  }
  for (let part = 2; part <= Number(count); part++) {
    const other = `${base}-${String(part).padStart(5, '0')}-of-${count}.gguf`;
    const isThere = await stat(other).then(
      (found) => found.isFile(),
      () => false,
    );
    if (!isThere) {
      throw new UserError(
        `${printable(path)} lacks its part ${printable(basename(other))}; put all ${Number(count)} beside it`,
        EXIT.inputMissing,
      );
    }
  }
}

/** What an earlier run downloaded. A name without a quantisation or file does not say which model is meant, so that the hub is asked. */
async function downloadedModel(reference: ModelReference, folder: string): Promise<ModelChoice | undefined> {
  if (reference.file === undefined && reference.quantization === undefined) return undefined;
  const paths = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const files = paths.map((path) => ({ path: path.replaceAll('\\', '/'), bytes: 0 }));
  return onlyModel(files, reference);
}

function pathOf({ files }: ModelChoice, folder: string): string {
  return join(folder, files[0]?.path ?? '');
}

/** A model among the files of a repository: a GGUF file, or all parts of a split one in their order. */
interface ModelChoice {
  /** Such as Q4_K_M; the file's name where it tells none. */
  readonly quantization: string;
  readonly files: readonly RepositoryFile[];
}

/** The name of a part of a split model: what precedes its number, the number, and the count of all. */
const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;
const QUANTIZATION = /(?:^|[-._/])((?:UD-)?(?:I?Q\d\w*|TQ\d_\d|MXFP4\w*|NVFP4\w*|BF16|F16|F32))$/i;
/** Files beside a model's weights: for pictures, or for quantising it. */
const ACCESSORY = /(?:^|[/._-])(?:mmproj|imatrix)(?=[._-]|$)/i;

/** The one model that is meant. Throws a UserError with the choices where there is none (66) or several (2), and for another file than the pinned one (65). */
function chooseModel(files: readonly RepositoryFile[], reference: ModelReference): ModelChoice {
  const choices = modelsAmong(files);
  const found = matching(choices, reference);
  const [choice] = found;
  if (choice !== undefined && found.length === 1) return requirePinned(choice, reference);
  throw new UserError(refusalText(choices, found, reference), found.length === 0 ? EXIT.inputMissing : EXIT.usage);
}

/** The one model among files on this machine that is meant; undefined where there is none, or no telling. */
function onlyModel(files: readonly RepositoryFile[], reference: ModelReference): ModelChoice | undefined {
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
