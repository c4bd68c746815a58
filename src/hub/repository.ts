// A repository on a hub: what its kind means, which commit a revision is, which files it has, and where their bytes are.

import { join } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { asObject, isInteger, isObject } from '../json.js';
import { type Hub, type HubOptions, type HubResponse, openHub, SHA256, STALL_MS } from './client.js';

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

export interface Repository extends Pick<Hub, 'endpoint' | 'retry' | 'signal'> {
  readonly name: RepositoryName;
  /** The commit that the revision is now, in 40 hex digits. Throws as `listFiles`. */
  findCommit(): Promise<string>;
  /** All files of the revision. Throws a UserError: 66 no such repository, 77 access denied, 69 hub out of reach, 130 or 143 interrupted. */
  listFiles(): Promise<RepositoryFile[]>;
  /** Asks for a file's bytes from one position on, in one try; `retry` makes further ones. */
  open(path: string, from: number, signal: AbortSignal): Promise<HubResponse>;
}

const MOST_PAGES = 50;
/** A commit or a blob in git. */
export const GIT_OID = /^[0-9a-f]{40}$/;

/** Nothing is asked of the hub yet. Throws as `openHub`. */
export function openRepository(name: RepositoryName, options: HubOptions): Repository {
  const { api, files, byHand } = KINDS[name.kind];
  const hub = openHub(options, byHand);
  const revision = encodeURIComponent(name.revision);
  return {
    name,
    endpoint: hub.endpoint,
    retry: hub.retry,
    signal: hub.signal,
    findCommit: () => findCommit(hub, `${hub.endpoint}/${api}${name.repository}/revision/${revision}`),
    listFiles: () => listFiles(hub, `${hub.endpoint}/${api}${name.repository}/tree/${revision}?recursive=true`),
    open(path, from, signal) {
      const range = from === 0 ? {} : { range: `bytes=${from}-` };
      const escaped = path.split('/').map(encodeURIComponent).join('/');
      return hub.get(`${hub.endpoint}/${files}${name.repository}/resolve/${revision}/${escaped}`, range, signal);
    },
  };
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

/** The JSON that the hub answers with, and where it goes on; undefined for an answer that is no JSON. */
function askForJson(hub: Hub, url: string): Promise<{ readonly json: unknown; readonly link: string | null }> {
  return hub.retry(async () => {
    const { response } = await hub.get(url, {}, AbortSignal.any([hub.signal, AbortSignal.timeout(STALL_MS)]));
    return { json: await response.json().catch(() => undefined), link: response.headers.get('link') };
  });
}

function noHub({ host }: Hub): UserError {
  return new UserError(`${host} does not answer as a hub does; check HF_ENDPOINT`, EXIT.unavailable);
}

async function findCommit(hub: Hub, url: string): Promise<string> {
  const { sha } = asObject((await askForJson(hub, url)).json);
  if (typeof sha !== 'string' || !GIT_OID.test(sha)) throw noHub(hub);
  return sha;
}

async function listFiles(hub: Hub, first: string): Promise<RepositoryFile[]> {
  const files: RepositoryFile[] = [];
  let next: string | undefined = first;
  for (let page = 0; next !== undefined && page < MOST_PAGES; page++) {
    const url: string = next;
    const { json: entries, link } = await askForJson(hub, url);
    if (!Array.isArray(entries)) throw noHub(hub);
    files.push(...entries.flatMap((entry) => fileOf(entry) ?? []));
    next = nextPage(link, url);
  }
  return files;
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
