// A repository on a hub, over HTTP: the address, the token, redirects, further tries, what refusals mean; its commits, files and bytes.

import { setTimeout as wait } from 'node:timers/promises';
import { codeOf, EXIT, interruption, UserError } from '../../core/errors.js';
import { asObject, isInteger, isObject } from '../../core/json.js';
import { proxiedDownloads } from '../../model/http/wire.js';
import type { TransferProgress } from './download-text.js';
import { GIT_OID, hashesIn, SHA256, type Stated } from './source-record.js';

export interface HubOptions {
  /** HF_ENDPOINT names another hub; HF_TOKEN is sent to the hub's own host and nowhere else. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends what is under way; its reason decides the exit code. */
  readonly signal?: AbortSignal;
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  /** Wait before the first of several further tries, doubled with each. Default 1 s. */
  readonly retryDelayMs?: number;
}

interface HubResponse {
  readonly response: Response;
  /** Of the file that a redirect leads to, as the hub's own host states it. */
  readonly sha256: string | undefined;
}

/** Silence after which a connection is taken for dead. */
export const STALL_MS = 60_000;

const HUB = 'https://huggingface.co';
const MOST_REDIRECTS = 5;
/** Tries in a row that bring nothing. */
const MOST_TRIES = 5;
const MOST_WAIT_MS = 30_000;

/** What differs between kinds of repositories: paths on the hub, and words. */
const KINDS = {
  model: { api: 'api/models/', files: '', byHand: 'give --model the path of a file downloaded elsewhere' },
  dataset: { api: 'api/datasets/', files: 'datasets/', byHand: 'put files downloaded elsewhere into the folder' },
} as const;

export interface RepositoryName {
  readonly kind: keyof typeof KINDS;
  /** Such as user/repo. */
  readonly repository: string;
  /** A branch, a tag, a commit, or refs/pr/1. */
  readonly revision: string;
}

export interface RepositoryFile extends Stated {
  /** Below the repository, with slashes. */
  readonly path: string;
}

const MOST_PAGES = 50;

export class Repository {
  /** Without a slash at the end. */
  readonly endpoint: string;
  readonly host: string;
  readonly signal: AbortSignal;
  readonly #origin: string;
  /** Empty where there is none. */
  readonly #token: string;
  readonly #downloads: ReturnType<typeof proxiedDownloads>;
  readonly #firstDelayMs: number;

  /** Nothing is asked of the hub yet. Throws a UserError (2) where HF_ENDPOINT or HF_TOKEN cannot be used. */
  constructor(
    readonly name: RepositoryName,
    { env, signal, retryDelayMs = 1_000 }: HubOptions,
  ) {
    const url = addressIn('HF_ENDPOINT', env.HF_ENDPOINT, HUB);
    this.endpoint = baseOf(url);
    this.host = url.host;
    this.#origin = url.origin;
    this.#token = tokenOf(env.HF_TOKEN);
    this.signal = signal ?? new AbortController().signal;
    this.#downloads = proxiedDownloads(env);
    this.#firstDelayMs = retryDelayMs;
  }

  get #revision(): string {
    return encodeURIComponent(this.name.revision);
  }

  get #api(): string {
    return `${this.endpoint}/${KINDS[this.name.kind].api}${this.name.repository}`;
  }

  /** The commit that the revision is now, in 40 hex digits. Throws as `listFiles`. */
  async findCommit(): Promise<string> {
    const { sha } = asObject((await this.#json(`${this.#api}/revision/${this.#revision}`)).json);
    if (typeof sha !== 'string' || !GIT_OID.test(sha)) throw this.#noHub();
    return sha;
  }

  /** All files of the revision. Throws a UserError: 66 no such repository, 77 access denied, 69 hub out of reach, 130 or 143 interrupted. */
  async listFiles(): Promise<RepositoryFile[]> {
    const files: RepositoryFile[] = [];
    let next: string | undefined = `${this.#api}/tree/${this.#revision}?recursive=true`;
    for (let page = 0; next !== undefined && page < MOST_PAGES; page++) {
      const url: string = next;
      const { json: entries, link } = await this.#json(url);
      if (!Array.isArray(entries)) throw this.#noHub();
      files.push(...entries.flatMap((entry) => fileOf(entry) ?? []));
      next = nextPage(link, url);
    }
    return files;
  }

  /** Asks for a file's bytes from one position on, in one try; `retry` makes further ones. */
  open(path: string, from: number, signal: AbortSignal): Promise<HubResponse> {
    const range = from === 0 ? {} : { range: `bytes=${from}-` };
    const files = `${this.endpoint}/${KINDS[this.name.kind].files}${this.name.repository}`;
    const escaped = path.split('/').map(encodeURIComponent).join('/');
    return this.#get(`${files}/resolve/${this.#revision}/${escaped}`, range, signal);
  }

  /** The JSON that the hub answers with, and where it goes on; undefined for an answer that is no JSON. */
  #json(url: string): Promise<{ readonly json: unknown; readonly link: string | null }> {
    return this.retry(async () => {
      const { response } = await this.#get(url, {}, AbortSignal.any([this.signal, AbortSignal.timeout(STALL_MS)]));
      return { json: await response.json().catch(() => undefined), link: response.headers.get('link') };
    });
  }

  #noHub(): UserError {
    return new UserError(`${this.host} does not answer as a hub does; check HF_ENDPOINT`, EXIT.unavailable);
  }

  /** Tries again, with growing waits, as long as `act` throws anything but a UserError; `act` says so where it made progress. */
  async retry<T>(act: (progressed: () => void) => Promise<T>): Promise<T> {
    const { signal } = this;
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
        if (failures >= MOST_TRIES || isUnreachable(error)) throw this.#outOfReach(error);
      }
      const waitMs = Math.min(MOST_WAIT_MS, this.#firstDelayMs * 2 ** (failures - 1));
      await wait(waitMs, undefined, { signal }).catch(() => {
        throw interrupted(signal);
      });
    }
  }

  /** Follows redirects. Throws a UserError where no further try would help, any other error where one might. */
  async #get(from: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HubResponse> {
    const token = this.#token;
    let url = new URL(from);
    let sha256: string | undefined;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      // The token goes to the hub's own host alone, wherever a redirect leads.
      const isHub = url.origin === this.#origin;
      const authorization = token !== '' && isHub ? { authorization: `Bearer ${token}` } : {};
      const response = await this.#downloads.fetch(url, {
        headers: { 'accept-encoding': 'identity', ...headers, ...authorization },
        redirect: 'manual',
        signal,
      });
      const linked = response.headers.get('x-linked-etag')?.replaceAll('"', '') ?? '';
      if (isHub && SHA256.test(linked)) sha256 = linked;
      const location = response.headers.get('location');
      if (response.ok) return { response, sha256 };
      await response.body?.cancel();
      if (response.status < 300 || response.status > 399 || location === null) {
        throw refusal(response.status, this.host, token !== '');
      }
      url = new URL(location, url);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') break;
    }
    throw new UserError(`${this.host} redirects without end; check HF_ENDPOINT`, EXIT.unavailable);
  }

  #outOfReach(error: unknown): UserError {
    const proxy = this.#downloads.proxyOf(new URL(this.endpoint));
    const way = proxy === undefined ? this.host : `${this.host} (through the proxy of ${proxy})`;
    const isStatus = error instanceof Error && /^status \d+$/.test(error.message);
    const why = systemCode(error) || (isStatus ? error.message : 'connection lost');
    return new UserError(
      `${way} cannot be reached (${why}); run the same command again to continue, name a mirror in HF_ENDPOINT, or ${KINDS[this.name.kind].byHand}`,
      EXIT.unavailable,
    );
  }
}

export function bytesOf(files: readonly RepositoryFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

function fileOf(entry: unknown): RepositoryFile | undefined {
  if (!isObject(entry)) return undefined;
  const { type, path, size, oid, lfs } = entry;
  if (type !== 'file' || typeof path !== 'string') return undefined;
  // Of a file in large storage, git holds a pointer: the entry's own `oid` is that of the pointer.
  const large = isObject(lfs) ? lfs : undefined;
  const bytes = large?.size ?? size;
  if (!isInteger(bytes) || bytes < 0) return undefined;
  return { path, bytes, ...hashesIn(large?.oid, large === undefined ? oid : undefined) };
}

/** From a `Link` header (RFC 8288). */
function nextPage(link: string | null, from: string): string | undefined {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  return target === undefined ? undefined : new URL(target, from).href;
}

/** A download that the user has interrupted. */
export function interrupted(signal: AbortSignal): UserError {
  return new UserError('download interrupted; the same command continues it', interruption(signal));
}

/** The address in a variable. @throws UserError (2) for what is not an address, or holds a password */
export function addressIn(variable: string, given = '', otherwise: string): URL {
  const text = given.trim() || otherwise;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new UserError(
      `${variable} must be an http or https URL without user name and password, such as ${otherwise}`,
    );
  }
  return url;
}

/** An address without query and without a slash at the end. */
export function baseOf({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

function tokenOf(given = ''): string {
  const token = given.trim();
  // fetch would show such a token in its error.
  if (/^[\x21-\x7e]*$/.test(token)) return token;
  throw new UserError('HF_TOKEN holds characters that no token has; set it anew');
}

function refusal(status: number, host: string, hasToken: boolean): Error {
  if (status === 401) {
    const hint = hasToken
      ? 'check HF_TOKEN and the name'
      : 'it is private or does not exist; set HF_TOKEN if you may read it';
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

/** No connection at all: a further try would not change it soon, and the user waits. */
function isUnreachable(error: unknown): boolean {
  return ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH'].includes(systemCode(error));
}

/** The system's name for what is behind an error, such as ENOSPC; empty where there is none. */
export function systemCode(error: unknown): string {
  return (error instanceof Error ? codeOf(error.cause) : undefined) ?? codeOf(error) ?? '';
}
