// Files of a repository brought to this machine: one process at a time, continued where it stopped, each checked.

import { createHash, type Hash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { lockFile } from '../../disk/lock.js';
import { makeFolders } from '../../disk/make-folder.js';
import {
  bytesOf,
  type HubOptions,
  interrupted,
  type Repository,
  type RepositoryFile,
  STALL_MS,
  systemCode,
} from './client.js';
import { sizeText, type TransferProgress } from './download-text.js';
import type { Stated } from './source-record.js';

/** A file of a repository and its place on this machine. */
interface WantedFile {
  readonly file: RepositoryFile;
  readonly target: string;
  /** It stands there and needs no download. */
  readonly isHere: boolean;
}

/**
 * What `work` comes to while no other awb downloads into the folder, which is made where it is missing: two that wrote into one part would
 * spoil it. Throws a UserError (73) where one does.
 */
export async function withFolder<T>({ name }: Repository, folder: string, work: () => Promise<T>): Promise<T> {
  await onDisk(folder, makeFolders(folder));
  const busy = `another awb downloads from ${name.repository} to ${printable(folder)}; wait for it`;
  const unlock = await lockFile(join(folder, '.lock'), busy);
  try {
    return await work();
  } finally {
    unlock();
  }
}

/**
 * Brings the wanted files that are not here into `folder`, one after the other. Resolves with the SHA-256 of each that has come, by its
 * target. For a caller that has the folder to itself.
 * Throws a UserError: 73 or 74 cannot write, 65 wrong content, 130 or 143 interrupted (what came is kept), and as `listFiles` does.
 */
export async function bring(
  repository: Repository,
  wanted: readonly WantedFile[],
  folder: string,
  onProgress: HubOptions['onProgress'],
): Promise<ReadonlyMap<string, string>> {
  await requireSpace(repository, wanted, folder);
  const totalBytes = bytesOf(wanted.map(({ file }) => file));
  const come = new Map<string, string>();
  let before = 0;
  for (const { file, target, isHere } of wanted) {
    const report: Report = (step, bytes) =>
      onProgress?.({ file: printable(file.path), step, bytes: before + bytes, totalBytes });
    if (!isHere) come.set(target, await transferFile(repository, file, target, report));
    before += file.bytes;
  }
  return come;
}

async function requireSpace(repository: Repository, wanted: readonly WantedFile[], folder: string): Promise<void> {
  let needed = 0;
  for (const { file, target, isHere } of wanted) {
    if (isHere) continue;
    const part = await stat(partPath(target, file)).catch(() => undefined);
    needed += file.bytes - Math.min(part?.size ?? 0, file.bytes);
  }
  const disk = await statfs(folder).catch(() => undefined);
  if (disk === undefined || disk.bavail * disk.bsize >= needed) return;
  throw new UserError(
    `${printable(folder)} has ${sizeText(disk.bavail * disk.bsize)} free and the ${repository.name.kind} needs ${sizeText(needed)} more; free some, or keep downloads elsewhere`,
    EXIT.cannotWrite,
  );
}

/** Parts are named by their content, so that a file that changed on the hub is not continued with another's bytes. */
function partPath(target: string, { sha256, gitOid }: RepositoryFile): string {
  const content = sha256 ?? gitOid;
  return `${target}${content === undefined ? '' : `.${content.slice(0, 12)}`}.part`;
}

type Report = (step: TransferProgress['step'], bytes: number) => void;

/** A file under way: what came of it so far on disk, and the hash of that. */
interface Part {
  readonly path: string;
  readonly handle: FileHandle;
  /** The whole file, as the hub states it. */
  stated: RepositoryFile;
  digest: Digest;
}

/** Resolves with the SHA-256 of the file that has come. */
async function transferFile(
  repository: Repository,
  file: RepositoryFile,
  target: string,
  report: Report,
): Promise<string> {
  const path = partPath(target, file);
  await onDisk(path, makeFolders(dirname(target)));
  const part: Part = { path, handle: await onDisk(path, openToAppend(path)), stated: file, digest: Digest.of(file) };
  try {
    await onDisk(path, readBack(part, repository.signal, report));
    await repository.retry(async (progressed) => {
      while (part.digest.bytes < file.bytes) {
        await pull(repository, part, (bytes) => {
          progressed();
          report('downloading', bytes);
        });
      }
    });
    // Everything is on the disk, not only on its way there.
    await onDisk(path, part.handle.sync());
  } finally {
    await part.handle.close();
  }
  const found = part.digest.finish();
  if (!isSame(found, part.stated)) {
    const { sha256, gitOid } = part.stated;
    const isByGit = sha256 === undefined && gitOid !== undefined;
    const digest = isByGit ? `name ${found.gitOid} in git` : `SHA-256 ${found.sha256}`;
    await discard(part, `has the ${digest}, which is not what the hub states`);
  }
  await onDisk(path, rename(path, target));
  return found.sha256;
}

/** Like 'a', but follows no link that somebody has laid there. */
function openToAppend(path: string): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants;
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW);
}

/** Takes up what an earlier run left, unless it is longer than the file. Throws a UserError (130 or 143) when interrupted. */
async function readBack({ path, handle, stated, digest }: Part, signal: AbortSignal, report: Report): Promise<void> {
  const { size } = await handle.stat();
  if (size > stated.bytes) await handle.truncate(0);
  if (size === 0 || size > stated.bytes) return;
  await readInto(digest, path, signal, () => report('checking', digest.bytes));
}

/** Takes a file's content. Throws a UserError (130 or 143) when interrupted. */
export async function readInto(
  digest: Digest,
  path: string,
  signal: AbortSignal,
  onRead: (bytes: number) => void,
): Promise<void> {
  const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: 1 << 20 });
  for await (const chunk of chunks) {
    if (signal.aborted) throw interrupted(signal);
    digest.update(chunk);
    onRead(chunk.length);
  }
}

/** One request for what is missing. Throws where it ended early; what came is kept. */
async function pull(repository: Repository, part: Part, report: (bytes: number) => void): Promise<void> {
  const { path, handle } = part;
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), STALL_MS);
  try {
    const ends = AbortSignal.any([repository.signal, stall.signal]);
    const { response, sha256 } = await repository.open(part.stated.path, part.digest.bytes, ends);
    part.stated = { ...part.stated, sha256: part.stated.sha256 ?? sha256 };
    if (startOf(response) !== part.digest.bytes) {
      if (response.status === 206) throw new Error('the server sent another range than asked for');
      await onDisk(path, handle.truncate(0));
      part.digest = Digest.of(part.stated);
    }
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      if (part.digest.bytes + chunk.length > part.stated.bytes) {
        await discard(part, `holds more than the ${part.stated.bytes} bytes that the hub lists`);
      }
      await onDisk(path, handle.appendFile(chunk));
      part.digest.update(chunk);
      report(part.digest.bytes);
    }
    if (part.digest.bytes < part.stated.bytes) throw new Error('the connection ended early');
  } finally {
    clearTimeout(timer);
    stall.abort();
  }
}

/** The position in the file at which a response begins; NaN where it does not say. */
function startOf({ status, headers }: Response): number {
  if (status !== 206) return 0;
  return Number(/^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1]);
}

/** Nothing of a part is worth continuing. */
async function discard({ path, stated }: Part, why: string): Promise<never> {
  await rm(path, { force: true });
  const message = `what came as ${basename(stated.path)} ${why}, and was removed; run the same command again, or check HF_ENDPOINT`;
  throw new UserError(printable(message), EXIT.badData);
}

/** What a content was found to be. */
interface Found {
  readonly bytes: number;
  readonly sha256: string;
  readonly gitOid: string | undefined;
}

/** The hashes of a content as it comes; git's needs the length beforehand. */
export class Digest {
  readonly #sha256 = createHash('sha256');
  readonly #gitOid: Hash | undefined;
  #bytes = 0;

  /** @param wholeBytes length of the content, where its name in git is to be found too */
  constructor(wholeBytes: number | undefined) {
    this.#gitOid = wholeBytes === undefined ? undefined : createHash('sha1').update(`blob ${wholeBytes}\0`);
  }

  /** For a content of which this is stated. */
  static of({ bytes, sha256, gitOid }: Stated): Digest {
    return new Digest(sha256 === undefined && gitOid !== undefined ? bytes : undefined);
  }

  /** That have come so far. */
  get bytes(): number {
    return this.#bytes;
  }

  update(chunk: Uint8Array): void {
    this.#sha256.update(chunk);
    this.#gitOid?.update(chunk);
    this.#bytes += chunk.length;
  }

  /** What came; the last call. */
  finish(): Found {
    return { bytes: this.#bytes, sha256: this.#sha256.digest('hex'), gitOid: this.#gitOid?.digest('hex') };
  }
}

/** Whether a content is what is stated, be it a length alone. */
export function isSame(found: Found, { bytes, sha256, gitOid }: Stated): boolean {
  if (found.bytes !== bytes) return false;
  if (sha256 !== undefined) return found.sha256 === sha256;
  return gitOid === undefined || found.gitOid === gitOid;
}

/** The result of some work on the disk. Throws a UserError (73 or 74) that names `path` and the next step where the disk refuses. */
export async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof UserError ? error : diskError(path, systemCode(error));
  }
}

function diskError(path: string, code: string): UserError {
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
    `cannot write ${shown} (${code || 'unknown cause'}); keep downloads elsewhere, or mend its rights`,
    exitCode,
  );
}
