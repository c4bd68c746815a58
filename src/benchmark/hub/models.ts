// A model by its name: which file of which repository is meant, and where it is on this machine, downloaded if necessary.

import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { badData, EXIT, inputMissing, UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { bytesText, printable } from '../../core/printable.js';
import {
  bytesOf,
  type HubOptions,
  isSafe,
  openRepository,
  type RepositoryFile,
  type RepositoryName,
} from './client.js';
import { bring, withFolder } from './download.js';

/** What the name `qwen-agentworld-35b-a3b` stands for: a fixed file, since scores depend on it. */
export const AGENTWORLD = {
  name: 'qwen-agentworld-35b-a3b',
  /** The hub repository with the unquantised weights. */
  official: 'Qwen/Qwen-AgentWorld-35B-A3B',
  repository: 'unsloth/Qwen-AgentWorld-35B-A3B-GGUF',
  revision: '3a305abf5cfd119ee999dfe929c433746edd8d63',
  file: 'Qwen-AgentWorld-35B-A3B-UD-Q4_K_M.gguf',
  quantization: 'UD-Q4_K_M',
  sha256: 'e7a8eafdd8013443b6bcc4b6fb47b2d2025f772d359650b9ceb7d75971e22cad',
} as const;

/** A model of a hub as a user names it. */
interface ModelReference extends RepositoryName {
  readonly quantization?: string | undefined;
  readonly file?: string | undefined;
  /** The required hash of the file, whatever the hub says. */
  readonly sha256?: string;
}

/** A revision with slashes is one of the hub's own, such as refs/pr/1: otherwise a slash begins the file's path. */
const REFERENCE = /^hf:([\w.-]+\/[\w.-]+)(?:@(refs\/[\w.-]+\/[\w.-]+|[\w.-]+))?(?::([\w.-]+)|\/(.+\.gguf))?$/i;
/** Parts of a path that lead out of it. */
const DOTS = /(?:^|\/)\.+(?:\/|$)/;

/** Undefined for a path. Throws a UserError (2) for an invalid hub name. */
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

/** The name under which a model is served: `models/My-Model-Q8_0.gguf` -> `My-Model-Q8_0`; other names are unchanged. */
export function servedName(model: string): string {
  return model.replace(/^.*[/\\]/, '').replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '');
}

/**
 * The further names of a model, including `alias`. The reference model also answers to its name on the hub, which the model card's own
 * code uses.
 */
export function aliasesOf(model: string, alias: readonly string[]): string[] {
  const own = servedName(model);
  const official = own.toLowerCase() === AGENTWORLD.name ? [AGENTWORLD.official] : [];
  return [...new Set([...alias, ...official])].filter((name) => name !== own);
}

export interface ModelOptions extends HubOptions {
  /** The base of relative paths. */
  readonly cwd: string;
  /** The folder of downloaded models; created if missing. */
  readonly directory: string;
  /** Called before a download with its size and the model's name as `--model` takes it; may refuse by throwing. */
  readonly beforeDownload?: (model: { readonly name: string; readonly bytes: number }) => void;
}

/**
 * The path of a model (the first file of a split one), given by a path, `hf:user/repo:QUANT` or `hf:user/repo/file.gguf`, both
 * optionally with `@revision` after the repository, or `qwen-agentworld-35b-a3b`. An earlier download is used without asking the hub.
 * Throws a UserError: 66 no such file or repository, 77 access denied, 69 hub out of reach, 73 or 74 cannot write, 65 wrong content,
 * 130 or 143 interrupted.
 */
export async function resolveModel(name: string, options: ModelOptions): Promise<string> {
  const reference = referenceOf(name);
  if (reference === undefined) return localModel(name, options.cwd);
  const { repository, revision } = reference;
  const suffix = revision === 'main' ? '' : `@${revision}`;
  const folder = join(options.directory, (repository + suffix).replaceAll('/', '--'));
  const present = await downloadedModel(reference, folder);
  if (present !== undefined) return join(folder, present);
  const hub = openRepository(reference, options);
  const files = chooseModel(await hub.listFiles(), reference);
  const path = pathOf(files);
  options.beforeDownload?.({ name: printable(`hf:${repository}${suffix}/${path}`), bytes: bytesOf(files) });
  await withFolder(hub, folder, async () => {
    const wanted = files.map((file) => ({ file, target: join(folder, file.path) }));
    const sizes = await Promise.all(wanted.map(({ target }) => stat(target).catch(() => undefined)));
    // Only complete files have their final name.
    const missing = wanted.filter(({ file }, index) => sizes[index]?.size !== file.bytes);
    await bring(hub, missing, options.onProgress);
  });
  return join(folder, path);
}

async function localModel(name: string, cwd: string): Promise<string> {
  const path = resolve(cwd, name);
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return path;
  throw inputMissing(
    `there is no model file ${printable(path)}; name a GGUF file, hf:user/repo:QUANT or ${AGENTWORLD.name}`,
  );
}

/** What an earlier run downloaded. A name without a quantisation or file is ambiguous, so the hub is asked. */
async function downloadedModel(reference: ModelReference, folder: string): Promise<string | undefined> {
  if (reference.file === undefined && reference.quantization === undefined) return undefined;
  const paths = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const files = paths.map((path) => ({ path: path.replaceAll('\\', '/'), bytes: 0 }));
  const [model, other] = matching(modelsAmong(files), reference);
  return model === undefined || other !== undefined ? undefined : pathOf(model);
}

/** A GGUF file of a repository, or all parts of a split one in order; never empty. */
type Model = readonly RepositoryFile[];

function pathOf([first]: Model): string {
  return first?.path ?? '';
}

/** The name of a part of a split model: what precedes its number, the number, and the number of parts. */
const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;
const QUANTIZATION = /(?:^|[-._/])((?:UD-)?(?:I?Q\d\w*|TQ\d_\d|MXFP4\w*|NVFP4\w*|BF16|F16|F32))$/i;
/** Files next to a model's weights: for pictures, or for quantising it. */
const ACCESSORY = /(?:^|[/._-])(?:mmproj|imatrix)(?=[._-]|$)/i;

/** The models among the files; split ones only if all parts are there. */
function modelsAmong(files: readonly RepositoryFile[]): Model[] {
  const weights = files.filter(({ path }) => /\.gguf$/i.test(path) && isSafe(path) && !ACCESSORY.test(path));
  return [...groupBy(weights, ({ path }) => path.replace(SPLIT, '$1-of-$3$4')).values()]
    .map((parts) => parts.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
    .filter((parts) => parts.length === Number(SPLIT.exec(pathOf(parts))?.[3] ?? 1));
}

function matching(models: readonly Model[], { file, quantization }: ModelReference): readonly Model[] {
  if (file !== undefined) return models.filter((model) => pathOf(model) === file);
  if (quantization === undefined) return models;
  return models.filter((model) => {
    const base = pathOf(model)
      .replace(SPLIT, '$1$4')
      .replace(/\.gguf$/i, '');
    const own = QUANTIZATION.exec(base)?.[1] ?? basename(base);
    return own.toLowerCase() === quantization.toLowerCase();
  });
}

/**
 * The model that is meant. Throws a UserError with the choices if there is none (66) or there are several (2), and for a file other
 * than the pinned one (65).
 */
function chooseModel(files: readonly RepositoryFile[], reference: ModelReference): Model {
  const { repository, file, quantization, sha256 } = reference;
  const models = modelsAmong(files);
  const found = matching(models, reference);
  const [model, other] = found;
  if (model === undefined || other !== undefined) {
    const named = file ?? quantization ?? '';
    const what = `${repository} has ${found.length === 0 ? 'no GGUF model' : 'several GGUF models'} ${named}`.trim();
    const list = (found.length === 0 ? models : found)
      .toSorted((a, b) => bytesOf(a) - bytesOf(b))
      .map((one) => `${pathOf(one)} (${bytesText(bytesOf(one))})`);
    const how = `name a file as hf:${repository}/FILE: ${list.join(', ') || 'it has none'}`;
    throw new UserError(printable(`${what}; ${how}`), found.length === 0 ? EXIT.inputMissing : EXIT.usage);
  }
  if (sha256 === undefined) return model;
  // The hub must have the file that scores were made with; checked before the download.
  if ((model[0]?.sha256 ?? sha256) === sha256) return model.map((one) => ({ ...one, sha256 }));
  const message = `${file} of ${repository} is no longer the file that ${AGENTWORLD.name} stands for; to use it anyway, name it as hf:${repository}/${file}`;
  throw badData(printable(message));
}
