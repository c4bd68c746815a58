// Downloads a dataset from a hub into a folder: one commit of it, with every file checked and no file of the user's overwritten.

import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { badData, cannotCreate, codeOf, inputMissing, type UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { printable } from '../../core/printable.js';
import { replaceFile } from '../../disk/files.js';
import {
  bytesOf,
  GIT_OID,
  type HubOptions,
  holdsRows,
  isSafe,
  openRepository,
  type RepositoryFile,
  readSourceRecord,
  SOURCE_RECORD,
  type SourceFile,
  sourceRecordText,
} from './client.js';
import { bring, Digest, isSame, onDisk, readInto, withFolder } from './download.js';

export interface DatasetOptions extends HubOptions {
  /** Such as user/name. */
  readonly repository: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** Absolute; created if missing. */
  readonly folder: string;
  /** Existing row files that the commit lacks are moved aside and kept. Without it, conflicting files are an error. */
  readonly replace: boolean;
  /** Called before a download with its size, and where conflicting files were moved. */
  readonly beforeDownload?: (what: { files: number; bytes: number; aside: string | undefined }) => void;
  /** For the name of the folder of files moved aside. */
  readonly now: () => Date;
}

/** What became of a file: an `unchanged` one was already there, and a `replaced` one had other content, which is kept aside. */
export type FileState = 'fetched' | 'unchanged' | 'replaced';

/**
 * Downloads one commit of a dataset. Correct files that are already there are kept, so that a second call downloads nothing; if the
 * commit is named and everything is there, the hub is not even asked. Throws a UserError: 66 no such repository or revision, 77 access
 * denied, 69 hub out of reach, 73 files in the way or another awb at work there, 73 or 74 cannot write, 65 wrong content, 130 or 143
 * interrupted (what was downloaded is kept).
 */
export async function fetchDataset(options: DatasetOptions) {
  const { repository, revision, folder, replace, beforeDownload, onProgress, now } = options;
  const named = openRepository({ kind: 'dataset', repository, revision }, options);
  return withFolder(named, folder, async () => {
    const before = await readSourceRecord(folder);
    const commit = GIT_OID.test(revision) ? revision : await named.findCommit();
    const hub = openRepository({ ...named.name, revision: commit }, options);
    const isKnown = before?.complete && before.repository === repository && before.commit === commit;
    const listed = isKnown ? before.files : chooseFiles(await hub.listFiles(), repository);
    const totalBytes = bytesOf(listed);
    let bytes = 0;
    const places: { file: SourceFile; state: FileState; sha256: string | undefined }[] = [];
    for (const file of listed) {
      const found = await digestAt(join(folder, file.name), hub.signal, (read) => {
        bytes += read;
        onProgress?.({ file: printable(file.name), step: 'checking', bytes, totalBytes });
      });
      const state = found === undefined ? 'fetched' : isSame(found, file) ? 'unchanged' : 'replaced';
      places.push({ file, state, sha256: found?.sha256 });
    }
    const inTheWay = places.filter(({ state }) => state === 'replaced').map(({ file }) => file.name);
    if (inTheWay.length > 0 && !replace) throw refusedFor(inTheWay, folder);
    const record = { hub: hub.endpoint, repository, revision, commit };
    const keep = (complete: boolean, files: readonly SourceFile[]) =>
      replaceFile(join(folder, SOURCE_RECORD), [sourceRecordText({ ...record, complete, files })], {
        remedy: 'fix that and run the same command again',
      });
    const missing = places.filter(({ state }) => state !== 'unchanged').map(({ file }) => file);
    // Written before anything else, so that partial rows are not mistaken for all of them.
    if (missing.length > 0) await keep(false, listed);
    // Rows of another commit would be read with the others.
    const giveWay = replace ? [...inTheWay, ...(await strangersIn(folder, listed))] : [];
    const aside = giveWay.length === 0 ? undefined : `before-${now().toISOString().replace(/[:.]/g, '-')}`;
    if (aside !== undefined) {
      await onDisk(join(folder, aside), mkdir(join(folder, aside)));
      for (const name of giveWay) {
        await onDisk(join(folder, name), rename(join(folder, name), join(folder, aside, name)));
      }
    }
    if (missing.length > 0) beforeDownload?.({ files: missing.length, bytes: bytesOf(missing), aside });
    const wanted = missing.map((file) => ({ file, target: join(folder, file.name) }));
    const come = await bring(hub, wanted, onProgress);
    const files = places.map((place) => ({
      ...place,
      sha256: come.get(join(folder, place.file.name)) ?? place.sha256,
    }));
    const whole = files.map(({ file, sha256 }) => ({ ...file, sha256 }));
    await keep(true, whole);
    return {
      source: record,
      files,
      /** Bytes of the files downloaded in this call. */
      fetchedBytes: bytesOf(missing),
      /** The subfolder of the dataset's folder into which files were moved aside. */
      aside,
      /** Files of rows that are not part of the dataset but will be read with it. */
      strangers: await strangersIn(folder, whole),
    };
  });
}

function refusedFor(names: readonly string[], folder: string): UserError {
  const list = names.map((name) => `  ${printable(name)}`);
  const what = `${printable(folder)} has files with the dataset's names but other content:`;
  const next =
    'Nothing was written. Choose another --output-dir, or add --replace (the existing files are then moved aside).';
  return cannotCreate([what, ...list, next].join('\n'));
}

/**
 * The files to download: rows from any folder, put into one.
 * Throws a UserError: 66 if there are no rows, 65 if two files would have the same name.
 */
function chooseFiles(listed: readonly RepositoryFile[], repository: string): SourceFile[] {
  const files = listed
    .map((file) => ({ name: basename(file.path), ...file }))
    .filter((file) => isSafe(file.path) && holdsRows(file))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  if (files.length === 0) {
    throw inputMissing(`${repository} has no *_test.jsonl file; check --revision and HF_ENDPOINT`);
  }
  // Some file systems ignore case.
  for (const [one, other] of groupBy(files, ({ name }) => name.toLowerCase()).values()) {
    if (other === undefined) continue;
    const message = `${repository} has two files that would have the same name in the folder: ${one.path} and ${other.path}; choose another --revision`;
    throw badData(printable(message));
  }
  return files;
}

/** The digest of a file; undefined if there is none. */
async function digestAt(path: string, signal: AbortSignal, onRead: (bytes: number) => void) {
  const there = await stat(path).catch((error: unknown) => (codeOf(error) === 'ENOENT' ? undefined : null));
  if (there === undefined) return undefined;
  if (!there?.isFile()) throw cannotCreate(`${printable(path)} is not a readable file; move it away`);
  const digest = new Digest(there.size);
  await readInto(digest, path, signal, onRead);
  return digest.finish();
}

async function strangersIn(folder: string, files: readonly SourceFile[]): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.filter((name) => holdsRows({ name }) && !files.some((file) => file.name === name)).sort();
}

/** How a folder compares with the record of its download. */
export type SourceCheck = Awaited<ReturnType<typeof checkSource>>;

/**
 * Reads every file of rows in the record. Throws a UserError (130 or 143) if interrupted.
 * @param onRead receives the number of bytes read
 */
export async function checkSource(folder: string, signal: AbortSignal, onRead: (bytes: number) => void) {
  const record = await readSourceRecord(folder);
  if (record === undefined) return { status: 'none' } as const;
  const { repository, revision, commit } = record;
  const files: { name: string; state: 'same' | 'differs' | 'missing' }[] = [];
  for (const file of record.files) {
    const found = await digestAt(join(folder, file.name), signal, onRead);
    files.push({ name: file.name, state: found === undefined ? 'missing' : isSame(found, file) ? 'same' : 'differs' });
  }
  /** Files of rows that were not downloaded. */
  const strangers = await strangersIn(folder, record.files);
  const isWhole = strangers.length === 0 && files.every(({ state }) => state === 'same');
  const status = isWhole ? ('as-fetched' as const) : ('differs' as const);
  return { status, repository, revision, commit, files, strangers };
}
