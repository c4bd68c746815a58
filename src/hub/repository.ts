// A repository on a hub: what its kind means, which files a revision has, and where their bytes are.

import { join } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { isInteger, isObject } from '../json.js';
import { type Hub, type HubOptions, type HubResponse, openHub, SHA256, STALL_MS } from './client.js';

/** What differs between kinds of repositories: paths on the hub, and words. */
const KINDS = {
  model: {
    list: 'api/models/',
    files: '',
    byHand: 'give --model the path of a file downloaded elsewhere',
  },
} as const;

export interface RepositoryName {
  readonly kind: keyof typeof KINDS;
  /** Such as user/repo. */
  readonly repository: string;
  /** A branch, a tag, a commit, or refs/pr/1. */
  readonly revision: string;
}

export interface RepositoryFile {
  /** Below the repository, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256?: string;
}

export interface Repository extends Pick<Hub, 'retry' | 'signal'> {
  readonly name: RepositoryName;
  /** All files of the revision. Throws a UserError: 66 no such repository, 77 access denied, 69 hub out of reach, 130 or 143 interrupted. */
  listFiles(): Promise<RepositoryFile[]>;
  /** Asks for a file's bytes from one position on, in one try; `retry` makes further ones. */
  open(path: string, from: number, signal: AbortSignal): Promise<HubResponse>;
}

const MOST_PAGES = 50;

/** Nothing is asked of the hub yet. Throws as `openHub`. */
export function openRepository(name: RepositoryName, options: HubOptions): Repository {
  const { list, files, byHand } = KINDS[name.kind];
  const hub = openHub(options, byHand);
  const revision = encodeURIComponent(name.revision);
  return {
    name,
    retry: hub.retry,
    signal: hub.signal,
    listFiles: () => listFiles(hub, `${hub.endpoint}/${list}${name.repository}/tree/${revision}?recursive=true`),
    open(path, from, signal) {
      const range = from === 0 ? {} : { range: `bytes=${from}-` };
      const escaped = path.split('/').map(encodeURIComponent).join('/');
      return hub.get(`${hub.endpoint}/${files}${name.repository}/resolve/${revision}/${escaped}`, range, signal);
    },
  };
}

/** Where the files of a repository lie below the folder of all downloads. */
export function folderOf({ repository, revision }: RepositoryName, directory: string): string {
  const suffix = revision === 'main' ? '' : `@${revision.replaceAll('/', '--')}`;
  return join(directory, repository.replace('/', '--') + suffix);
}

/** Whether a path stays below the folder in which it is put, on any system. */
export function isSafe(path: string): boolean {
  return path.split('/').every((part) => /^[^\\:\0]+$/.test(part) && part !== '.' && part !== '..');
}

export function bytesOf(files: readonly RepositoryFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function listFiles(hub: Hub, first: string): Promise<RepositoryFile[]> {
  const files: RepositoryFile[] = [];
  let next: string | undefined = first;
  for (let page = 0; next !== undefined && page < MOST_PAGES; page++) {
    const url: string = next;
    const { entries, link } = await hub.retry(async () => {
      const { response } = await hub.get(url, {}, AbortSignal.any([hub.signal, AbortSignal.timeout(STALL_MS)]));
      return { entries: await response.json().catch(() => undefined), link: response.headers.get('link') };
    });
    if (!Array.isArray(entries)) {
      throw new UserError(`${hub.host} does not answer as a hub does; check HF_ENDPOINT`, EXIT.unavailable);
    }
    files.push(...entries.flatMap((entry) => fileOf(entry) ?? []));
    next = nextPage(link, url);
  }
  return files;
}

function fileOf(entry: unknown): RepositoryFile | undefined {
  if (!isObject(entry)) return undefined;
  const { type, path, size, lfs } = entry;
  if (type !== 'file' || typeof path !== 'string') return undefined;
  const { oid, size: lfsSize }: { oid?: unknown; size?: unknown } = isObject(lfs) ? lfs : {};
  const bytes = lfsSize ?? size;
  if (!isInteger(bytes) || bytes < 0) return undefined;
  return { path, bytes, ...(typeof oid === 'string' && SHA256.test(oid) && { sha256: oid }) };
}

/** From a `Link` header (RFC 8288). */
function nextPage(link: string | null, from: string): string | undefined {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  return target === undefined ? undefined : new URL(target, from).href;
}
