// Models by name: a file at hand, or one of a Hugging Face hub, downloaded with resume and checked.

import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EXIT, nearest, UserError } from '../errors.js';
import { printable } from '../printable.js';

export interface ModelOptions {
  /** Where downloaded models are kept; made where it is missing. */
  readonly directory: string;
  /** HF_ENDPOINT names another hub, HF_TOKEN is sent to the hub's own host and nowhere else. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onProgress?: (progress: DownloadProgress) => void;
  /** Told what will be downloaded before it is; refuses by throwing. */
  readonly beforeDownload?: (model: HubModel) => void | Promise<void>;
  /**
   * Takes a lock that dies with its process, at once or not at all: two processes that wrote into one part would spoil it. `busy` is the
   * message of the UserError where another process holds it.
   */
  readonly lock: (path: string, busy: string) => Promise<() => void>;
  /** Ends a download; the part that is there is kept. A reason of `SIGTERM` decides the exit code. */
  readonly signal?: AbortSignal;
  readonly fetch?: typeof fetch;
  /** Wait before the first new try in a row, doubled with each. Default 1 s. */
  readonly retryDelayMs?: number;
}

export interface DownloadProgress {
  readonly file: string;
  /** `checking`: the part from an earlier run is read again. */
  readonly step: 'checking' | 'downloading';
  /** Of the whole model, all of its files. */
  readonly bytes: number;
  readonly totalBytes: number;
}

export interface ResolvedModel {
  /** Of a split model, its first file. */
  readonly path: string;
  /** Of a model in one file, where it was downloaded and checked; otherwise nothing is known. */
  readonly sha256?: string;
  /** The path as given, or `hf:user/repo/file.gguf`. */
  readonly source: string;
}

/** A model on a hub: a GGUF file, or all parts of a split one. */
export interface HubModel {
  /** As `--model` takes it. */
  readonly name: string;
  /** Such as Q4_K_M; the file's name where it tells none. */
  readonly quantization: string;
  readonly bytes: number;
}

/**
 * What the name `qwen-agentworld-35b-a3b` stands for: one file, since scores depend on it. Sizes of the repository's others are
 * rounded; `listModels` has them exactly.
 */
export const AGENTWORLD = {
  name: 'qwen-agentworld-35b-a3b',
  /** On the hub, where its weights are not quantised. */
  official: 'Qwen/Qwen-AgentWorld-35B-A3B',
  repository: 'unsloth/Qwen-AgentWorld-35B-A3B-GGUF',
  revision: '3a305abf5cfd119ee999dfe929c433746edd8d63',
  file: 'Qwen-AgentWorld-35B-A3B-UD-Q4_K_M.gguf',
  quantization: 'UD-Q4_K_M',
  bytes: 22_134_529_280,
  sha256: 'e7a8eafdd8013443b6bcc4b6fb47b2d2025f772d359650b9ceb7d75971e22cad',
  others: [
    { quantization: 'UD-IQ4_XS', bytes: 17.9e9 },
    { quantization: 'UD-Q6_K', bytes: 29.3e9 },
    { quantization: 'Q8_0', bytes: 36.9e9 },
    { quantization: 'BF16', bytes: 69.4e9 },
  ],
} as const;

const HUB = 'https://huggingface.co';
const MOST_REDIRECTS = 5;
const MOST_PAGES = 50;
/** Tries in a row that bring nothing. */
const MOST_TRIES = 5;
const MOST_WAIT_MS = 30_000;
/** Silence after which a connection is taken for dead. */
const STALL_MS = 60_000;
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Finds a model: a path, `hf:user/repo:QUANT`, `hf:user/repo/file.gguf`, either with `@revision` behind the repository,
 * or `qwen-agentworld-35b-a3b`. What was downloaded before is used without asking the hub.
 * Throws a UserError: 66 no such file or repository, 77 access denied, 69 hub out of reach, 73 or 74 cannot write, 65 wrong content,
 * 130 or 143 interrupted.
 */
export async function resolveModel(name: string, options: ModelOptions): Promise<ResolvedModel> {
  const reference = referenceOf(name);
  if (reference === undefined) return localModel(name);
  const folder = folderOf(reference, options.directory);
  const present = await downloadedModel(reference, folder);
  if (present !== undefined) return present;
  const hub = openHub(options);
  const choice = choose(await listFiles(hub, reference), reference);
  await options.beforeDownload?.(described(choice, reference));
  await download(hub, choice, reference, folder, options);
  return resolved(choice.files, reference, folder);
}

/** The models of a repository, smallest first. Throws as `resolveModel`, and for a name that is no hub's (2). */
export async function listModels(name: string, options: Omit<ModelOptions, 'directory'>): Promise<HubModel[]> {
  const reference = referenceOf(name);
  if (reference === undefined) throw new UserError(`"${printable(name)}" names no repository; write hf:user/repo`);
  const files = await listFiles(openHub(options), reference);
  return groups(files)
    .map((choice) => described(choice, reference))
    .sort((a, b) => a.bytes - b.bytes);
}

// --- names ---

interface Reference {
  readonly repository: string;
  readonly revision: string;
  readonly quantization?: string;
  readonly file?: string;
  /** What the file must be, whatever the hub says. */
  readonly sha256?: string;
}

/** A revision with slashes is one of the hub's own, such as refs/pr/1: elsewhere a slash begins the file's path. */
const REFERENCE = /^hf:([\w.-]+\/[\w.-]+)(?:@(refs\/[\w.-]+\/[\w.-]+|[\w.-]+))?(?::([\w.-]+)|\/(.+\.gguf))?$/i;
/** A part of a path that leads elsewhere than into it. */
const DOTS = /(?:^|\/)\.+(?:\/|$)/;

function referenceOf(name: string): Reference | undefined {
  if (name.toLowerCase() === AGENTWORLD.name) {
    const { repository, revision, file, sha256 } = AGENTWORLD;
    return { repository, revision, file, sha256 };
  }
  if (!name.startsWith('hf:')) return undefined;
  const [, repository, revision = 'main', quantization, file] = REFERENCE.exec(name) ?? [];
  if (repository === undefined || DOTS.test(repository) || DOTS.test(revision)) {
    throw new UserError(
      `"${printable(name)}" is no model's name; write hf:user/repo:QUANT or hf:user/repo/file.gguf, such as hf:${AGENTWORLD.repository}:${AGENTWORLD.quantization}`,
    );
  }
  return { repository, revision, ...(quantization && { quantization }), ...(file && { file }) };
}

/** A path that stays below the folder it is put in, on any system. */
function isSafe(path: string): boolean {
  return path.split('/').every((part) => /^[^\\:\0]+$/.test(part) && part !== '.' && part !== '..');
}

function nameOf({ repository, revision }: Reference, path: string): string {
  return `hf:${repository}${revision === 'main' ? '' : `@${revision}`}/${path}`;
}

function folderOf({ repository, revision }: Reference, directory: string): string {
  return join(
    directory,
    repository.replace('/', '--') + (revision === 'main' ? '' : `@${revision.replaceAll('/', '--')}`),
  );
}

// --- which file ---

interface ModelFile {
  /** Below the repository, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256?: string;
}

interface Choice {
  readonly quantization: string;
  readonly files: readonly ModelFile[];
}

const SPLIT = /^(.*)-(\d{5})-of-(\d{5})(\.gguf)$/i;
const QUANTIZATION = /(?:^|[-._/])((?:UD-)?(?:I?Q\d\w*|TQ\d_\d|MXFP4\w*|NVFP4\w*|BF16|F16|F32))$/i;
/** Parts that a model of pictures or of speculative decoding has beside itself. */
const ACCESSORY = /(?:^|[/._-])(?:mmproj|imatrix)(?=[._-]|$)/i;

/** The models among files; split ones only where all of their parts are there. */
function groups(files: readonly ModelFile[]): Choice[] {
  const byBase = new Map<string, ModelFile[]>();
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

function matching(choices: readonly Choice[], { file, quantization }: Reference): readonly Choice[] {
  if (file !== undefined) return choices.filter(({ files }) => files[0]?.path === file);
  const wanted = quantization?.toLowerCase();
  return wanted === undefined ? choices : choices.filter((choice) => choice.quantization.toLowerCase() === wanted);
}

function choose(files: readonly ModelFile[], reference: Reference): Choice {
  const choices = groups(files);
  const found = matching(choices, reference);
  const [choice] = found;
  if (choice !== undefined && found.length === 1) return requirePinned(choice, reference);
  throw new UserError(choiceRefusal(choices, found, reference), found.length === 0 ? EXIT.inputMissing : EXIT.usage);
}

function choiceRefusal(choices: readonly Choice[], found: readonly Choice[], reference: Reference): string {
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
function requirePinned(choice: Choice, { repository, sha256 }: Reference): Choice {
  const [file] = choice.files;
  if (sha256 === undefined || file === undefined) return choice;
  if (file.sha256 === undefined || file.sha256 === sha256) return { ...choice, files: [{ ...file, sha256 }] };
  const message = `${file.path} of ${repository} is no longer the file that ${AGENTWORLD.name} stands for; to use it nevertheless, name it as hf:${repository}/${file.path}`;
  throw new UserError(printable(message), EXIT.badData);
}

function described(choice: Choice, reference: Reference): HubModel {
  const name = nameOf(reference, choice.files[0]?.path ?? '');
  return { name: printable(name), quantization: printable(choice.quantization), bytes: bytesOf(choice.files) };
}

function bytesOf(files: readonly ModelFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

// --- files at hand ---

async function localModel(path: string): Promise<ResolvedModel> {
  const shown = printable(path);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    const isRepository = /^[\w.-]+\/[\w.-]+(?::[\w.-]+)?$/.test(path) && !/\.gguf$/i.test(path);
    const near = nearest(path.toLowerCase(), [AGENTWORLD.name]);
    const hint = near
      ? `; did you mean ${near}?`
      : isRepository
        ? `; from a hub, write hf:${shown}`
        : '; check --model';
    throw new UserError(`there is no model file ${shown}${hint}`, EXIT.inputMissing);
  }
  if (!found.isFile()) throw new UserError(`${shown} is no file; name the GGUF file in it`, EXIT.inputMissing);
  await requireAllParts(path);
  return { path, source: path };
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

/** What an earlier run downloaded. Without a quantisation or file there is no telling whether it is the only one. */
async function downloadedModel(reference: Reference, folder: string): Promise<ResolvedModel | undefined> {
  if (reference.file === undefined && reference.quantization === undefined) return undefined;
  const paths = await readdir(folder, { recursive: true }).catch(() => [] as string[]);
  const files = paths.map((path) => ({ path: path.replaceAll('\\', '/'), bytes: 0 }));
  const [choice, other] = matching(groups(files), reference);
  return choice === undefined || other !== undefined ? undefined : resolved(choice.files, reference, folder);
}

async function resolved(files: readonly ModelFile[], reference: Reference, folder: string): Promise<ResolvedModel> {
  const first = files[0]?.path ?? '';
  const path = join(folder, first);
  const sha256 = files.length === 1 ? await notedHash(path) : undefined;
  return { path, ...(sha256 !== undefined && { sha256 }), source: nameOf(reference, first) };
}

/** The hash that a download noted beside its file, unless the file changed since. */
async function notedHash(path: string): Promise<string | undefined> {
  try {
    const [file, note, text] = await Promise.all([
      stat(path),
      stat(`${path}.sha256`),
      readFile(`${path}.sha256`, 'utf8'),
    ]);
    const [hash = ''] = text.split(' ', 1);
    // A copy may bring an old time of its own along; when it came is what the system says.
    return note.mtimeMs >= Math.max(file.mtimeMs, file.ctimeMs) && SHA256.test(hash) ? hash : undefined;
  } catch {
    return undefined;
  }
}

// --- the hub ---

interface HubResponse {
  readonly response: Response;
  /** Of the file that a redirect leads to, as the hub's own host states it. */
  readonly sha256?: string;
}

interface Hub {
  /** Without a slash at the end. */
  readonly endpoint: string;
  /** Follows redirects. Throws a UserError where no further try would help, any other error where one might. */
  get(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HubResponse>;
  /** Tries again, with growing waits, as long as `act` throws anything but a UserError; `act` says so where it made progress. */
  retry<T>(act: (progressed: () => void) => Promise<T>): Promise<T>;
  readonly signal: AbortSignal;
}

function openHub(options: Omit<ModelOptions, 'directory'>): Hub {
  const endpoint = endpointOf(options.env.HF_ENDPOINT);
  const token = tokenOf(options.env.HF_TOKEN);
  const signal = options.signal ?? new AbortController().signal;
  const send = options.fetch ?? fetch;
  const { host, origin } = new URL(endpoint);

  async function get(from: string, headers: Readonly<Record<string, string>>, ends: AbortSignal): Promise<HubResponse> {
    let url = new URL(from);
    let sha256: string | undefined;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      // Where a redirect leads elsewhere, the token stays behind.
      const isHub = url.origin === origin;
      const authorization = token !== '' && isHub ? { authorization: `Bearer ${token}` } : {};
      const response = await send(url, {
        headers: { 'accept-encoding': 'identity', ...headers, ...authorization },
        redirect: 'manual',
        signal: ends,
      });
      const linked = response.headers.get('x-linked-etag')?.replaceAll('"', '') ?? '';
      if (isHub && SHA256.test(linked)) sha256 = linked;
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) {
        if (response.ok) return { response, ...(sha256 !== undefined && { sha256 }) };
        await response.body?.cancel();
        throw refusal(response.status);
      }
      await response.body?.cancel();
      url = new URL(location, url);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') break;
    }
    throw new UserError(`${host} redirects without end; check HF_ENDPOINT`, EXIT.unavailable);
  }

  function refusal(status: number): Error {
    if (status === 401) {
      const hint =
        token === ''
          ? 'it is private or does not exist; set HF_TOKEN if you may read it'
          : 'check HF_TOKEN and the name';
      return new UserError(`${host} asks for access to the repository: ${hint}`, EXIT.authRefused);
    }
    if (status === 403) {
      const hint = 'accept its conditions on its page, and give a token that may read it in HF_TOKEN';
      return new UserError(`${host} denies access to the repository: ${hint}`, EXIT.authRefused);
    }
    if (status === 404)
      return new UserError(`${host} has no such repository, revision or file; check the name`, EXIT.inputMissing);
    if (status === 408 || status === 425 || status === 429 || status >= 500) return new Error(`status ${status}`);
    return new UserError(`${host} answers with status ${status}; check HF_ENDPOINT and the name`, EXIT.unavailable);
  }

  async function retry<T>(act: (progressed: () => void) => Promise<T>): Promise<T> {
    let failures = 0;
    for (;;) {
      try {
        return await act(() => {
          failures = 0;
        });
      } catch (error) {
        if (signal.aborted) throw interrupted(signal);
        if (error instanceof UserError) throw error;
        failures += 1;
        if (failures >= MOST_TRIES || isUnreachable(error)) throw outOfReach(host, error);
      }
      const delayMs = Math.min(MOST_WAIT_MS, (options.retryDelayMs ?? 1_000) * 2 ** (failures - 1));
      await wait(delayMs, undefined, { signal }).catch(() => {
        throw interrupted(signal);
      });
    }
  }

  return { endpoint, get, retry, signal };
}

function endpointOf(given = ''): string {
  if (given.trim() === '') return HUB;
  const url = URL.canParse(given.trim()) ? new URL(given.trim()) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new UserError(`HF_ENDPOINT must be an http or https URL without user name and password, such as ${HUB}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function tokenOf(given = ''): string {
  const token = given.trim();
  // What no header can carry would be shown by the error that fetch throws.
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  throw new UserError('HF_TOKEN holds characters that no token has; set it anew');
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  const found = cause?.code ?? code;
  return typeof found === 'string' ? found : '';
}

/** No connection at all: a further try would not change it soon, and the user waits. */
function isUnreachable(error: unknown): boolean {
  return ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH'].includes(codeOf(error));
}

function outOfReach(host: string, error: unknown): UserError {
  const why =
    codeOf(error) || (error instanceof Error && /^status \d+$/.test(error.message) ? error.message : 'connection lost');
  return new UserError(
    `${host} cannot be reached (${why}); run the same command again to continue, name a mirror in HF_ENDPOINT, or give --model the path of a file downloaded elsewhere`,
    EXIT.unavailable,
  );
}

function interrupted({ reason }: AbortSignal): UserError {
  const exitCode = reason === 'SIGTERM' ? EXIT.terminated : EXIT.interrupted;
  return new UserError('download interrupted; the same command continues it', exitCode);
}

function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

async function listFiles(hub: Hub, { repository, revision }: Reference): Promise<ModelFile[]> {
  const files: ModelFile[] = [];
  let next: string | undefined =
    `${hub.endpoint}/api/models/${repository}/tree/${encodeURIComponent(revision)}?recursive=true`;
  for (let page = 0; next !== undefined && page < MOST_PAGES; page++) {
    const url: string = next;
    const { entries, link } = await hub.retry(async () => {
      const { response } = await hub.get(url, {}, AbortSignal.any([hub.signal, AbortSignal.timeout(STALL_MS)]));
      return { entries: await response.json().catch(() => undefined), link: response.headers.get('link') };
    });
    if (!Array.isArray(entries)) {
      throw new UserError(
        `${new URL(hub.endpoint).host} does not answer as a hub does; check HF_ENDPOINT`,
        EXIT.unavailable,
      );
    }
    files.push(...entries.flatMap((entry) => fileOf(entry) ?? []));
    next = nextPage(link, url);
  }
  return files;
}

function fileOf(entry: unknown): ModelFile | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  const { type, path, size, lfs } = entry as Readonly<Record<string, unknown>>;
  if (type !== 'file' || typeof path !== 'string') return undefined;
  const { oid, size: lfsSize } = (lfs ?? {}) as Readonly<Record<string, unknown>>;
  const bytes = lfsSize ?? size;
  if (!Number.isSafeInteger(bytes) || (bytes as number) < 0) return undefined;
  return { path, bytes: bytes as number, ...(typeof oid === 'string' && SHA256.test(oid) && { sha256: oid }) };
}

/** From a `Link` header (RFC 8288). */
function nextPage(link: string | null, from: string): string | undefined {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  return target === undefined ? undefined : new URL(target, from).href;
}

// --- downloading ---

async function download(
  hub: Hub,
  { files }: Choice,
  reference: Reference,
  folder: string,
  options: ModelOptions,
): Promise<void> {
  await onDisk(folder, mkdir(folder, { recursive: true }));
  const busy = `another awb downloads from ${reference.repository} to ${printable(folder)}; wait for it`;
  const unlock = await options.lock(join(folder, '.lock'), busy);
  try {
    await requireSpace(folder, files);
    await downloadFiles(hub, files, reference, folder, options.onProgress);
  } finally {
    unlock();
  }
}

async function downloadFiles(
  hub: Hub,
  files: readonly ModelFile[],
  { repository, revision }: Reference,
  folder: string,
  onProgress: ModelOptions['onProgress'],
): Promise<void> {
  const totalBytes = bytesOf(files);
  let before = 0;
  for (const file of files) {
    const target = join(folder, file.path);
    const report = (step: DownloadProgress['step'], bytes: number) =>
      onProgress?.({ file: printable(file.path), step, bytes: before + bytes, totalBytes });
    const url = `${hub.endpoint}/${repository}/resolve/${encodeURIComponent(revision)}/${escaped(file.path)}`;
    if (!(await isComplete(target, file))) await downloadFile(hub, url, file, target, report);
    before += file.bytes;
  }
}

/** Only whole files have their final name. */
async function isComplete(target: string, { bytes }: ModelFile): Promise<boolean> {
  return stat(target).then(
    (found) => found.size === bytes,
    () => false,
  );
}

/** Parts are named by their content, so that a file that changed on the hub is not continued with another's bytes. */
function partOf(target: string, { sha256 }: ModelFile): string {
  return `${target}${sha256 === undefined ? '' : `.${sha256.slice(0, 12)}`}.part`;
}

async function requireSpace(folder: string, files: readonly ModelFile[]): Promise<void> {
  let needed = 0;
  for (const file of files) {
    const target = join(folder, file.path);
    if (await isComplete(target, file)) continue;
    needed +=
      file.bytes -
      (await stat(partOf(target, file)).then(
        (found) => Math.min(found.size, file.bytes),
        () => 0,
      ));
  }
  const disk = await statfs(folder).catch(() => undefined);
  if (disk === undefined || disk.bavail * disk.bsize >= needed) return;
  throw new UserError(
    `${printable(folder)} has ${sizeText(disk.bavail * disk.bsize)} free and the model needs ${sizeText(needed)} more; free some, or keep models elsewhere`,
    EXIT.cannotWrite,
  );
}

function diskError(path: string, error: unknown): UserError {
  const code = codeOf(error);
  const shown = printable(path);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new UserError(
      `no space is left for ${shown}; what came is kept: free some and run the same command again`,
      EXIT.cannotWrite,
    );
  }
  const exitCode = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code)
    ? EXIT.cannotCreate
    : EXIT.cannotWrite;
  return new UserError(
    `cannot write ${shown} (${code || 'unknown cause'}); keep models elsewhere, or mend its rights`,
    exitCode,
  );
}

/** A file under way. */
interface Part {
  readonly path: string;
  readonly target: string;
  readonly handle: FileHandle;
  bytes: number;
  hash: Hash;
  /** What the whole must be, where the hub says. */
  sha256: string | undefined;
}

async function downloadFile(
  hub: Hub,
  url: string,
  file: ModelFile,
  target: string,
  report: (step: DownloadProgress['step'], bytes: number) => void,
): Promise<void> {
  const path = partOf(target, file);
  await onDisk(path, mkdir(dirname(target), { recursive: true }));
  const handle = await onDisk(path, open(path, 'a'));
  const part: Part = { path, target, handle, bytes: 0, hash: createHash('sha256'), sha256: file.sha256 };
  try {
    await onDisk(
      path,
      readBack(part, file.bytes, hub.signal, (bytes) => report('checking', bytes)),
    );
    await hub.retry(async (progressed) => {
      while (part.bytes < file.bytes) {
        await pull(hub, url, part, file.bytes, (bytes) => {
          progressed();
          report('downloading', bytes);
        });
      }
    });
    await onDisk(path, handle.sync());
  } finally {
    await handle.close();
  }
  const digest = part.hash.digest('hex');
  if (part.sha256 !== undefined && digest !== part.sha256) {
    await discard(part, `has the SHA-256 ${digest}, which is not what the hub states`);
  }
  await onDisk(path, rename(path, target));
  if (part.sha256 !== undefined) await onDisk(path, writeFile(`${target}.sha256`, `${digest}  ${basename(target)}\n`));
}

/** For content that is not what the hub announced: nothing of it is worth continuing. */
async function discard({ path, target }: Part, why: string): Promise<never> {
  await rm(path, { force: true });
  const message = `what came as ${basename(target)} ${why}, and was removed; run the same command again, or check HF_ENDPOINT`;
  throw new UserError(printable(message), EXIT.badData);
}

/** Errors of the disk in a user's words; others as they are. */
async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof UserError ? error : diskError(path, error);
  }
}

/** Takes up what an earlier run left. */
async function readBack(part: Part, most: number, signal: AbortSignal, report: (bytes: number) => void): Promise<void> {
  const { size } = await part.handle.stat();
  if (size > most) await part.handle.truncate(0);
  if (size === 0 || size > most) return;
  for await (const chunk of createReadStream(part.path) as AsyncIterable<Buffer>) {
    if (signal.aborted) throw interrupted(signal);
    part.hash.update(chunk);
    part.bytes += chunk.length;
    report(part.bytes);
  }
}

/** One request for what is missing. Throws where it ended early; what came is kept. */
async function pull(hub: Hub, url: string, part: Part, most: number, report: (bytes: number) => void): Promise<void> {
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), STALL_MS);
  try {
    const range = part.bytes === 0 ? {} : { range: `bytes=${part.bytes}-` };
    const { response, sha256 } = await hub.get(url, range, AbortSignal.any([hub.signal, stall.signal]));
    part.sha256 ??= sha256;
    const startsAt =
      response.status === 206 ? /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] : '0';
    if (Number(startsAt) !== part.bytes) {
      if (response.status === 206) throw new Error('the server sent another range than asked for');
      await onDisk(part.path, part.handle.truncate(0));
      Object.assign(part, { bytes: 0, hash: createHash('sha256') });
    }
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      timer.refresh();
      if (part.bytes + chunk.length > most) await discard(part, `holds more than the ${most} bytes that the hub lists`);
      await onDisk(part.path, part.handle.appendFile(chunk));
      part.hash.update(chunk);
      part.bytes += chunk.length;
      report(part.bytes);
    }
    if (part.bytes < most) throw new Error('the connection ended early');
  } finally {
    clearTimeout(timer);
    stall.abort();
  }
}
