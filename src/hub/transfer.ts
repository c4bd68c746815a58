// Files of a repository brought to this machine: one process at a time, continued where it stopped, each checked.

import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { makeFolders } from '../files.js';
import { printable } from '../printable.js';
import { STALL_MS } from './client.js';
import { onDisk } from './disk-errors.js';
import { sizeText, type TransferProgress } from './download-text.js';
import { Part, partPath, type WholeFile } from './part.js';
import { bytesOf, type Repository, type RepositoryFile } from './repository.js';

export interface TransferOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined;
  /**
   * Takes a lock that dies with its process, at once or not at all: two processes that wrote into one part would spoil it. `busy` is the
   * message of the UserError where another process holds it.
   */
  readonly lock: (path: string, busy: string) => Promise<() => void>;
}

type Report = (step: TransferProgress['step'], bytes: number) => void;

/**
 * Puts files into `folder`, below which they have their paths in the repository. Those that are there already stay.
 * Throws a UserError: 73 or 74 cannot write, 65 wrong content, 130 or 143 interrupted (what came is kept), and as `listFiles` does.
 * @param onWhole is told of each file that has come
 */
export async function transfer(
  repository: Repository,
  files: readonly RepositoryFile[],
  folder: string,
  { lock, onProgress }: TransferOptions,
  onWhole: (file: WholeFile) => Promise<void>,
): Promise<void> {
  await withFolder(repository, folder, lock, async () => {
    const wanted = await Promise.all(
      files.map(async (file) => {
        const target = join(folder, file.path);
        return { file, target, isHere: await isComplete(target, file) };
      }),
    );
    await bring(repository, wanted, folder, { onProgress, onWhole });
  });
}

/** What `work` comes to while no other awb downloads into the folder, which is made where it is missing. Throws a UserError (73) where one does. */
export async function withFolder<T>(
  { name }: Repository,
  folder: string,
  lock: TransferOptions['lock'],
  work: () => Promise<T>,
): Promise<T> {
  await onDisk(folder, makeFolders(folder));
  const busy = `another awb downloads from ${name.repository} to ${printable(folder)}; wait for it`;
  const unlock = await lock(join(folder, '.lock'), busy);
  try {
    return await work();
  } finally {
    unlock();
  }
}

/** A file of a repository and its place on this machine. */
interface WantedFile {
  readonly file: RepositoryFile;
  readonly target: string;
  /** It stands there and needs no download. */
  readonly isHere: boolean;
}

/** Brings the wanted files that are not here. For a caller that has the folder to itself. Throws as `transfer`. */
export async function bring(
  repository: Repository,
  wanted: readonly WantedFile[],
  folder: string,
  {
    onProgress,
    onWhole,
  }: Pick<TransferOptions, 'onProgress'> & { readonly onWhole: (file: WholeFile) => Promise<void> },
): Promise<void> {
  await requireSpace(repository, wanted, folder);
  const totalBytes = bytesOf(wanted.map(({ file }) => file));
  let before = 0;
  for (const { file, target, isHere } of wanted) {
    const report: Report = (step, bytes) =>
      onProgress?.({ file: printable(file.path), step, bytes: before + bytes, totalBytes });
    if (!isHere) await onWhole(await transferFile(repository, file, target, report));
    before += file.bytes;
  }
}

/** Only whole files have their final name. */
async function isComplete(target: string, { bytes }: RepositoryFile): Promise<boolean> {
  return stat(target).then(
    (found) => found.size === bytes,
    () => false,
  );
}

async function requireSpace(repository: Repository, wanted: readonly WantedFile[], folder: string): Promise<void> {
  let needed = 0;
  for (const { file, target, isHere } of wanted) {
    if (isHere) continue;
    needed +=
      file.bytes -
      (await stat(partPath(target, file)).then(
        (found) => Math.min(found.size, file.bytes),
        () => 0,
      ));
  }
  const disk = await statfs(folder).catch(() => undefined);
  if (disk === undefined || disk.bavail * disk.bsize >= needed) return;
  throw new UserError(
    `${printable(folder)} has ${sizeText(disk.bavail * disk.bsize)} free and the ${repository.name.kind} needs ${sizeText(needed)} more; free some, or keep downloads elsewhere`,
    EXIT.cannotWrite,
  );
}

async function transferFile(
  repository: Repository,
  file: RepositoryFile,
  target: string,
  report: Report,
): Promise<WholeFile> {
  const part = await Part.open(target, file);
  try {
    await part.readBack(repository.signal, (bytes) => report('checking', bytes));
    await repository.retry(async (progressed) => {
      while (!part.isWhole) {
        await pull(repository, file.path, part, (bytes) => {
          progressed();
          report('downloading', bytes);
        });
      }
    });
    await part.sync();
  } finally {
    await part.close();
  }
  return part.finish();
}

/** One request for what is missing. Throws where it ended early; what came is kept. */
async function pull(repository: Repository, path: string, part: Part, report: (bytes: number) => void): Promise<void> {
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), STALL_MS);
  try {
    const ends = AbortSignal.any([repository.signal, stall.signal]);
    const { response, sha256 } = await repository.open(path, part.bytes, ends);
    part.expect(sha256);
    if (startOf(response) !== part.bytes) {
      if (response.status === 206) throw new Error('the server sent another range than asked for');
      await part.restart();
    }
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      await part.append(chunk);
      report(part.bytes);
    }
    if (!part.isWhole) throw new Error('the connection ended early');
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
