// A repository on a hub: what its kind means, which commit a revision is, which files it has, and where their bytes are.

import { join } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { asObject, isInteger, isObject } from '../json.js';
import { Hub, type HubOptions, type HubResponse, SHA256, STALL_MS } from './client.js';

/** What differs between kinds of repositories: paths on the hub, and words. */
const KINDS = {
  model: {
    api: 'api/models/',
    files: '',
    folder: '',
    byHand: 'give --model the path of a file downloaded elsewhere',
  },
  dataset: {
    api: 'api/datasets/',
    files: 'datasets/',
    folder: 'datasets--',
    byHand: 'put files downloaded elsewhere into the folder',
  },
} as const;

export interface RepositoryName {
  readonly kind: keyof typeof KINDS;
  /** Such as user/repo. */
  readonly repository: string;
  /** A branch, a tag, a commit, or refs/pr/1. */
  readonly revision: string;
}

/** What is stated of a content. Where it has a SHA-256, its name in git says nothing more. */
export interface Stated {
  readonly bytes: number;
  readonly sha256?: string;
  /** SHA-1 of `blob`, the length and the content, as git names it. */
  readonly gitOid?: string;
}

export interface RepositoryFile extends Stated {
  /** Below the repository, with slashes. */
  readonly path: string;
}

const MOST_PAGES = 50;
/** A commit or a blob in git. */
export const GIT_OID = /^[0-9a-f]{40}$/;

export class Repository extends Hub {
  readonly #api: string;
  readonly #files: string;

  /** Nothing is asked of the hub yet. Throws a UserError (2) where its address or the token cannot be used. */
  constructor(
    readonly name: RepositoryName,
    options: HubOptions,
  ) {
    const { api, files, byHand } = KINDS[name.kind];
    super(options, byHand);
    this.#api = `${this.endpoint}/${api}${name.repository}`;
    this.#files = `${this.endpoint}/${files}${name.repository}`;
  }

  get #revision(): string {
    return encodeURIComponent(this.name.revision);
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
    const escaped = path.split('/').map(encodeURIComponent).join('/');
    return this.get(`${this.#files}/resolve/${this.#revision}/${escaped}`, range, signal);
  }

  /** The JSON that the hub answers with, and where it goes on; undefined for an answer that is no JSON. */
  #json(url: string): Promise<{ readonly json: unknown; readonly link: string | null }> {
    return this.retry(async () => {
      const { response } = await this.get(url, {}, AbortSignal.any([this.signal, AbortSignal.timeout(STALL_MS)]));
      return { json: await response.json().catch(() => undefined), link: response.headers.get('link') };
    });
  }

  #noHub(): UserError {
    return new UserError(`${this.host} does not answer as a hub does; check HF_ENDPOINT`, EXIT.unavailable);
  }
}

/** Where the files of a repository lie below the folder of all downloads. */
export function folderOf({ kind, repository, revision }: RepositoryName, directory: string): string {
  const suffix = revision === 'main' ? '' : `@${revision.replaceAll('/', '--')}`;
  return join(directory, KINDS[kind].folder + repository.replace('/', '--') + suffix);
}

/** Whether a path stays below the folder in which it is put, on any system. */
export function isSafe(path: string): boolean {
  return path.split('/').every((part) => /^[^\\:\0]+$/.test(part) && part !== '.' && part !== '..');
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
  const sha256 = large?.oid;
  return {
    path,
    bytes,
    ...(typeof sha256 === 'string' && SHA256.test(sha256) && { sha256 }),
    ...(large === undefined && typeof oid === 'string' && GIT_OID.test(oid) && { gitOid: oid }),
  };
}

/** From a `Link` header (RFC 8288). */
function nextPage(link: string | null, from: string): string | undefined {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  return target === undefined ? undefined : new URL(target, from).href;
}
