// Downloads files of a repository to this machine: one process at a time, continued after an interruption, each file checked.

import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { badData, closing, EXIT, UserError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { makeFolders } from '../../disk/files.js';
import { lockFile } from '../../disk/lock.js';
import {
  bytesOf,
  type HubOptions,
  interrupted,
  type Repository,
  type RepositoryFile,
  systemCode,
  type TransferProgress,
} from './client.js';

/**
 * Runs `work` while no other awb downloads into the folder, which is created if missing: two writers would corrupt a part. Throws a
 * UserError (73) if another awb is at work.
 */
export async function withFolder<T>({ name }: Repository, folder: string, work: () => Promise<T>): Promise<T> {
  await onDisk(folder, makeFolders(folder));
  const busy = `another awb is downloading from ${name.repository} to ${printable(folder)}; wait for it`;
  const unlock = await lockFile(join(folder, '.lock'), busy);
  try {
    return await work();
  } finally {
    unlock();
  }
}

/**
 * Downloads files into `folder`, one after another. Resolves to the SHA-256 of each, by its target. The caller must have the folder to
 * itself.
 * Throws a UserError: 73 or 74 cannot write, 65 wrong content, 130 or 143 interrupted (what was downloaded is kept), and like
 * `listFiles`.
 */
export async function bring(
  repository: Repository,
  wanted: readonly { readonly file: RepositoryFile; readonly target: string }[],
  onProgress: HubOptions['onProgress'],
): Promise<ReadonlyMap<string, string>> {
  const totalBytes = bytesOf(wanted.map(({ file }) => file));
  const come = new Map<string, string>();
  let before = 0;
  for (const { file, target } of wanted) {
    const report: Report = (step, bytes) =>
      onProgress?.({ file: printable(file.path), step, bytes: before + bytes, totalBytes });
    come.set(target, await transferFile(repository, file, target, report));
    before += file.bytes;
  }
  return come;
}

/** Parts are named by their content, so that a file that changed on the hub is not continued with bytes of the old one. */
function partPath(target: string, { sha256, gitOid }: RepositoryFile): string {
  const content = sha256 ?? gitOid;
  return `${target}${content === undefined ? '' : `.${content.slice(0, 12)}`}.part`;
}

type Report = (step: TransferProgress['step'], bytes: number) => void;

/** Resolves to the SHA-256 of the downloaded file. */
async function transferFile(repository: Repository, file: RepositoryFile, target: string, report: Report) {
  const path = partPath(target, file);
  /** Removes a part that is not worth continuing. */
  const discard = async (why: string): Promise<never> => {
    await rm(path, { force: true });
    const message = `the download of ${basename(file.path)} ${why}, and was removed; run the same command again, or check HF_ENDPOINT`;
    throw badData(printable(message));
  };
  await onDisk(path, makeFolders(dirname(target)));
  // Like 'a', but does not follow a link that somebody planted there.
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants;
  const opened = await onDisk(path, open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW));
  let digest = new Digest(file.bytes);
  await closing(opened, async (handle) => {
    if ((await handle.stat()).size > file.bytes) await handle.truncate(0);
    await readInto(digest, path, repository.signal, () => report('checking', digest.bytes));
    await repository.retry(async (progressed) => {
      if (digest.bytes === file.bytes) return;
      const response = await repository.open(file.path, digest.bytes);
      const range = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1];
      if (response.status === 206 && Number(range) !== digest.bytes) {
        throw new Error('the server sent a different range than requested');
      }
      if (response.status !== 206 && digest.bytes > 0) {
        // The server does not support ranges, and starts over.
        await onDisk(path, handle.truncate(0));
        digest = new Digest(file.bytes);
      }
      for await (const chunk of response.body ?? []) {
        if (digest.bytes + chunk.length > file.bytes) {
          await discard(`has more than the ${file.bytes} bytes that the hub lists`);
        }
        await onDisk(path, handle.appendFile(chunk));
        digest.update(chunk);
        progressed();
        report('downloading', digest.bytes);
      }
      if (digest.bytes < file.bytes) throw new Error('the connection ended early');
    });
    // Everything is on the disk, not only in its cache.
    await onDisk(path, handle.sync());
  });
  const found = digest.finish();
  if (!isSame(found, file)) {
    const hash = file.sha256 === undefined ? `name ${found.gitOid} in git` : `SHA-256 ${found.sha256}`;
    await discard(`has the ${hash}, which is not what the hub states`);
  }
  await onDisk(path, rename(path, target));
  return found.sha256;
}

/** Feeds a file's content to the digest. Throws a UserError: 130 or 143 if interrupted, 73 or 74 if the file cannot be read. */
export async function readInto(digest: Digest, path: string, signal: AbortSignal, onRead: (bytes: number) => void) {
  const read = async () => {
    const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: 1 << 20 });
    for await (const chunk of chunks) {
      if (signal.aborted) throw interrupted(signal);
      digest.update(chunk);
      onRead(chunk.length);
    }
  };
  await onDisk(path, read());
}

/** The hashes of incoming content of a known length: its SHA-256, and its name in git. */
export class Digest {
  readonly #sha256 = createHash('sha256');
  readonly #gitOid = createHash('sha1');
  /** Received so far. */
  bytes = 0;

  constructor(wholeBytes: number) {
    this.#gitOid.update(`blob ${wholeBytes}\0`);
  }

  update(chunk: Uint8Array): void {
    this.#sha256.update(chunk);
    this.#gitOid.update(chunk);
    this.bytes += chunk.length;
  }

  /** The final digest; nothing may be added afterwards. */
  finish() {
    return { bytes: this.bytes, sha256: this.#sha256.digest('hex'), gitOid: this.#gitOid.digest('hex') };
  }
}

/** Whether the content is what the hub states, even if that is only a length. */
export function isSame(
  found: ReturnType<Digest['finish']>,
  { bytes, sha256, gitOid }: Pick<RepositoryFile, 'bytes' | 'sha256' | 'gitOid'>,
): boolean {
  if (found.bytes !== bytes) return false;
  if (sha256 !== undefined) return found.sha256 === sha256;
  return gitOid === undefined || found.gitOid === gitOid;
}

/** The result of some work on the disk. Throws a UserError (73 or 74) with `path` and the next step if the disk refuses. */
export async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = systemCode(error);
    throw new UserError(
      `cannot write ${printable(path)} (${code || 'unknown cause'}); free some space or change its permissions, and run the same command again: the finished part is kept`,
      ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code) ? EXIT.cannotCreate : EXIT.cannotWrite,
    );
  }
}
