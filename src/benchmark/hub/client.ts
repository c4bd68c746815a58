// A repository on a hub, over HTTP: address, token, redirects, retries, and the meaning of refusals; its commits, files and bytes; where
// they are kept, and the record of what was downloaded.

import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { codeOf, EXIT, inputMissing, interruption, messageOf, UserError, unavailable } from '../../core/errors.js';
import { asObject, isInteger, isObject, parseJson } from '../../core/json.js';
import { bytesText, printable } from '../../core/printable.js';
import { proxiedDownloads } from '../../model/http/wire.js';

export interface HubOptions {
  /** HF_ENDPOINT names another hub; HF_TOKEN is sent only to the hub's own host. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends what is under way; its reason determines the exit code. */
  readonly signal?: AbortSignal;
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** Wait before the first retry, doubled with each further one. Default 1 s. */
  readonly retryDelayMs?: number;
}

const HUB = 'https://huggingface.co';
/** Consecutive tries without progress. */
const MOST_TRIES = 5;
const MOST_WAIT_MS = 30_000;
/** No connection: an immediate retry would hardly help, and the user is waiting. */
const UNREACHABLE = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH'];

/** The path prefix of each kind of repository on the hub. */
const KINDS = { model: '', dataset: 'datasets/' } as const;

export interface RepositoryName {
  readonly kind: keyof typeof KINDS;
  /** Such as user/repo. */
  readonly repository: string;
  /** A branch, a tag, a commit, or refs/pr/1. */
  readonly revision: string;
}

/** `path` is relative to the repository, with slashes. */
export type RepositoryFile = Omit<SourceFile, 'name'>;

export type Repository = ReturnType<typeof openRepository>;

/** Sends nothing to the hub yet. Throws a UserError (2) if HF_ENDPOINT or HF_TOKEN cannot be used. */
export function openRepository(
  name: RepositoryName,
  { env, signal = new AbortController().signal, retryDelayMs = 1_000 }: HubOptions,
) {
  const { kind, repository, revision } = name;
  const hub = addressIn('HF_ENDPOINT', env.HF_ENDPOINT, HUB);
  const endpoint = baseOf(hub);
  const token = (env.HF_TOKEN ?? '').trim();
  // fetch would show such a token in its error.
  if (/[^\x21-\x7e]/.test(token)) throw new UserError('HF_TOKEN contains invalid characters; set it again');
  const downloads = proxiedDownloads(env);
  const noHub = () => unavailable(`${hub.host} does not respond like a Hugging Face hub; check HF_ENDPOINT`);
  const api = (what: 'revision' | 'tree') =>
    `${endpoint}/api/${kind}s/${repository}/${what}/${encodeURIComponent(revision)}`;

  /** Retries, with growing waits, as long as `act` throws anything but a UserError; `act` reports progress through its argument. */
  async function retry<T>(act: (progressed: () => void) => Promise<T>): Promise<T> {
    for (let failures = 0; ; ) {
      try {
        return await act(() => {
          failures = 0;
        });
      } catch (error) {
        if (signal.aborted) throw interrupted(signal);
        if (error instanceof UserError) throw error;
        failures += 1;
        if (failures >= MOST_TRIES || UNREACHABLE.includes(systemCode(error))) throw outOfReach(error);
      }
      const waitMs = Math.min(MOST_WAIT_MS, retryDelayMs * 2 ** (failures - 1));
      // The next try notices an interruption.
      await wait(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  function outOfReach(error: unknown): UserError {
    const proxy = downloads.proxyOf(hub);
    const way = `${hub.host}${proxy === undefined ? '' : ` (through the proxy of ${proxy})`}`;
    const why = systemCode(error) || messageOf((error instanceof Error && error.cause) || error);
    return unavailable(
      `${way} cannot be reached (${why}); run the same command again to continue, set HF_ENDPOINT to a mirror, or get the files another way`,
    );
  }

  /** Throws a UserError if no retry would help, any other error if one might. */
  async function get(url: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const address = new URL(url);
    // Only to the hub's own host: fetch does not pass it to another host, wherever a redirect leads.
    const isHub = address.origin === hub.origin;
    const authorization = token !== '' && isHub ? { authorization: `Bearer ${token}` } : {};
    const response = await downloads.fetch(address, {
      headers: { 'accept-encoding': 'identity', ...headers, ...authorization },
      signal,
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw refusal(response.status, hub.host, name);
  }

  /** The JSON of the hub's answer, undefined if it is not JSON. */
  function json(url: string): Promise<unknown> {
    return retry(async () => (await get(url, {})).json().catch(() => undefined));
  }

  return {
    name,
    /** Without a trailing slash. */
    endpoint,
    signal,
    retry,

    /** The commit that the revision currently names, in 40 hex digits. Throws like `listFiles`. */
    async findCommit(): Promise<string> {
      const { sha } = asObject(await json(api('revision')));
      if (typeof sha !== 'string' || !GIT_OID.test(sha)) throw noHub();
      return sha;
    },

    /**
     * The files of the revision, as many as the hub lists at once. Throws a UserError: 66 no such repository, 77 access denied, 69 hub
     * out of reach, 130 or 143 interrupted.
     */
    async listFiles(): Promise<RepositoryFile[]> {
      const entries = await json(`${api('tree')}?recursive=true`);
      if (!Array.isArray(entries)) throw noHub();
      return entries.flatMap((entry) => fileOf(entry) ?? []);
    },

    /** Asks for a file's bytes from a position on, in one try; `retry` makes further ones. */
    open(path: string, from: number): Promise<Response> {
      const range = from === 0 ? {} : { range: `bytes=${from}-` };
      const escaped = [revision, ...path.split('/')].map(encodeURIComponent).join('/');
      return get(`${endpoint}/${KINDS[kind]}${repository}/resolve/${escaped}`, range);
    },
  };
}

export function bytesOf(files: readonly RepositoryFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function fileOf(entry: unknown): RepositoryFile | undefined {
  const { type, path, size, oid, lfs } = asObject(entry);
  // For a file in large storage, git has only a pointer: the entry's own `oid` is the pointer's.
  const [bytes, sha256, gitOid] = isObject(lfs) ? [lfs.size ?? size, lfs.oid, undefined] : [size, undefined, oid];
  if (type !== 'file' || typeof path !== 'string' || !isInteger(bytes) || bytes < 0) return undefined;
  const hash = (value: unknown, form: RegExp) => (typeof value === 'string' && form.test(value) ? value : undefined);
  return { path, bytes, sha256: hash(sha256, SHA256), gitOid: hash(gitOid, GIT_OID) };
}

/** The error for a download that the user interrupted. */
export function interrupted(signal: AbortSignal): UserError {
  return new UserError('download interrupted; run the same command again to resume it', interruption(signal));
}

/** The address in a variable. @throws UserError (2) for what is not an address, or contains a password */
export function addressIn(variable: string, given = '', otherwise: string): URL {
  const text = given.trim() || otherwise;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new UserError(
      `${variable} must be an http or https URL without a user name or password, such as ${otherwise}`,
    );
  }
  return url;
}

/** An address without query and trailing slash. */
export function baseOf({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** A UserError if no retry would help. */
function refusal(status: number, host: string, { repository, revision }: RepositoryName): Error {
  if (status === 408 || status === 425 || status === 429 || status >= 500) return new Error(`status ${status}`);
  if (status === 401 || status === 403) {
    return new UserError(
      `${host} denies access to the repository (status ${status}): check its name, accept the conditions on its page, and set HF_TOKEN to a token that may read it`,
      EXIT.authRefused,
    );
  }
  return status === 404
    ? inputMissing(`${host} has no such repository, revision or file: ${repository}, ${revision}`)
    : unavailable(`${host} returned status ${status}; check HF_ENDPOINT and the name`);
}

/** The system's code behind an error, such as ENOSPC; empty if there is none. */
export function systemCode(error: unknown): string {
  return (error instanceof Error ? codeOf(error.cause) : undefined) ?? codeOf(error) ?? '';
}

/**
 * The default folder of downloads: an absolute path below XDG_CACHE_HOME if that is absolute, else below ~/.cache, else, for a service
 * without a home, below the folder of temporary files.
 */
export function cacheFolder({ HOME, XDG_CACHE_HOME = '' }: HubOptions['env']): string {
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(HOME || tmpdir(), '.cache');
  return join(caches, 'agentworldbench');
}

// Messages about a download: what it will be, how far it is, and sizes.

/** The progress of a file transfer. */
export interface TransferProgress {
  readonly file: string;
  /** `checking`: the part from an earlier run is read again. */
  readonly step: 'checking' | 'downloading';
  /** Of all files together. */
  readonly bytes: number;
  readonly totalBytes: number;
}

/** `downloading hf:user/repo/model.gguf: 22.13 GB to /home/you/.cache/agentworldbench`. */
export function downloadText(download: { readonly name: string; readonly bytes: number }, directory: string): string {
  const { name, bytes } = download;
  return `downloading ${printable(name)}: ${bytesText(bytes)} to ${printable(directory)}`;
}

/** `downloading model.gguf: 1.20 GB of 22.13 GB`. */
export function progressText({ step, file, bytes, totalBytes }: TransferProgress): string {
  return `${step} ${printable(file)}: ${bytesText(bytes, totalBytes)} of ${bytesText(totalBytes)}`;
}

// What was downloaded into a folder: recorded next to the files, so that they can be checked without the hub.

const SHA256 = /^[0-9a-f]{64}$/;
/** A commit or a blob in git. */
export const GIT_OID = /^[0-9a-f]{40}$/;

/** Whether a path stays below the folder that it is put into, on any system. */
export function isSafe(path: string): boolean {
  return path.split('/').every((part) => /^[^\\:\0]+$/.test(part) && part !== '.' && part !== '..');
}

/** Whether a file's rows are part of the benchmark; other files only describe it. */
export function holdsRows({ name }: Pick<SourceFile, 'name'>): boolean {
  return /_test\.jsonl$/.test(name);
}

/** The name of the record in its folder. */
export const SOURCE_RECORD = 'awb-source.json';
const SCHEMA = 'awb.data-source/1';

/** A file of a dataset. Its names become parts of paths and addresses, and the record may have been edited. */
const FILE = z.object({
  /** In the folder. */
  name: z.string().refine((name) => isSafe(name) && !name.includes('/')),
  /** In the repository. */
  path: z.string().refine(isSafe),
  bytes: z.int().min(0),
  sha256: z.string().regex(SHA256).optional(),
  /** SHA-1 of `blob`, the length and the content, as git names it. Redundant if there is a SHA-256. */
  gitOid: z.string().regex(GIT_OID).optional(),
});
export type SourceFile = Readonly<z.output<typeof FILE>>;

const RECORD = z.object({
  schema: z.literal(SCHEMA),
  /** The hub's address. */
  hub: z.string(),
  repository: z.string(),
  /** As it was named, such as main. */
  revision: z.string(),
  commit: z.string().regex(GIT_OID),
  /** False while files are being downloaded. */
  complete: z.boolean(),
  files: z.array(FILE).readonly(),
});
export type SourceRecord = Readonly<z.output<typeof RECORD>>;

/** The record in a folder; undefined if there is no readable one, since the next download writes it again. */
export async function readSourceRecord(folder: string): Promise<SourceRecord | undefined> {
  const text = await readFile(join(folder, SOURCE_RECORD), 'utf8').catch(() => '');
  return RECORD.safeParse(parseJson(text)).data;
}

/** The record as written to the file. */
export function sourceRecordText(record: Omit<SourceRecord, 'schema'>): string {
  return `${JSON.stringify({ schema: SCHEMA, ...record }, null, 2)}\n`;
}
