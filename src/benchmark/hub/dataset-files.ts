// The files of a dataset in a folder: which are fetched, and how each place for one is found: free, right, or taken.

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import type { RepositoryFile } from './client.js';
import { Digest, isSame, onDisk, readInto } from './download.js';
import { holdsRows, isSafe, readSourceRecord, type SourceFile } from './source-record.js';

/** What tells of a dataset and of its licence. */
const PAPERS = /^(?:README\.md|LICENSE(?:\.\w+)?)$/;

/** What became of a file, or will: `unchanged` stood there already, `removed` is no longer of the dataset, `left` was never ours. */
export type FileState = 'fetched' | 'unchanged' | 'updated' | 'repaired' | 'replaced' | 'removed' | 'left';

/** A file and what stands in its place; `sha256` of that, where something does. */
export interface Placed {
  readonly file: SourceFile;
  readonly state: FileState;
  readonly sha256?: string | undefined;
}

/**
 * The files to fetch: rows from wherever they lie, side by side, and what tells of them.
 * Throws a UserError: 66 where there are no rows, 65 where two files would have one name.
 */
export function chooseFiles(listed: readonly RepositoryFile[], repository: string): SourceFile[] {
  const safe = listed.filter(({ path }) => isSafe(path));
  const rows = safe.filter(({ path }) => holdsRows({ name: path }));
  const papers = safe.filter(({ path }) => PAPERS.test(path));
  if (rows.length === 0) {
    const hint = 'check --revision and HF_ENDPOINT';
    throw new UserError(`${repository} holds no *_test.jsonl file there; ${hint}`, EXIT.inputMissing);
  }
  const byName = new Map<string, SourceFile>();
  for (const file of [...rows, ...papers]) {
    const name = basename(file.path);
    // Some file systems know no difference between small letters and capitals.
    const other = byName.get(name.toLowerCase());
    if (other !== undefined) {
      const both = `${other.path} and ${file.path}`;
      const message = `${repository} holds two files that would have one name in the folder: ${both}; name another --revision`;
      throw new UserError(printable(message), EXIT.badData);
    }
    byName.set(name.toLowerCase(), { name, ...file });
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * How a file's place is found.
 * @param earlier what was fetched into the folder before
 * @param replace whether a file that is not ours gives way
 */
export async function placeOf(
  file: SourceFile,
  folder: string,
  earlier: readonly SourceFile[],
  { replace, signal, onRead }: Reading & { readonly replace: boolean },
): Promise<Placed> {
  const ours = earlier.filter(({ name }) => name === file.name);
  const needsGit = [file, ...ours].some(({ sha256, gitOid }) => sha256 === undefined && gitOid !== undefined);
  const found = await digestOf(join(folder, file.name), needsGit, { signal, onRead });
  if (found === undefined) return { file, state: 'fetched' };
  const { sha256 } = found;
  if (isSame(found, file)) return { file, state: 'unchanged', sha256 };
  if (ours.some((one) => isSame(found, one))) return { file, state: 'updated', sha256 };
  if (ours.length > 0) return { file, state: 'repaired', sha256 };
  return { file, state: holdsRows(file) && replace ? 'replaced' : 'left', sha256 };
}

interface Reading {
  readonly signal: AbortSignal;
  readonly onRead: (bytes: number) => void;
}

/** What a file holds; undefined where there is none. */
async function digestOf(
  path: string,
  needsGit: boolean,
  { signal, onRead }: Reading,
): Promise<ReturnType<Digest['finish']> | undefined> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : Number.NaN),
    (error: unknown) => (codeOf(error) === 'ENOENT' ? undefined : Number.NaN),
  );
  if (size === undefined) return undefined;
  if (Number.isNaN(size)) {
    throw new UserError(`${printable(path)} is not a file that can be read; move it away`, EXIT.cannotCreate);
  }
  const digest = new Digest(needsGit ? size : undefined);
  await onDisk(path, readInto(digest, path, signal, onRead));
  return digest.finish();
}

/**
 * Moves files of a folder into a new one below it, whose name comes back; undefined where there are none to move.
 * Throws a UserError (73 or 74) where the disk refuses.
 */
export async function setAside(folder: string, names: readonly string[], now: Date): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  const aside = `before-${now.toISOString().replace(/[:.]/g, '-')}`;
  await onDisk(join(folder, aside), mkdir(join(folder, aside)));
  for (const name of names) await onDisk(join(folder, name), rename(join(folder, name), join(folder, aside, name)));
  return aside;
}

/** Takes away what downloads of other contents of these files began and never ended. */
export async function clearParts(folder: string, files: readonly SourceFile[]): Promise<void> {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const [, whole] = /^(.+?)(?:\.[0-9a-f]{12})?\.part$/.exec(name) ?? [];
    if (files.some((file) => file.name === whole)) await rm(join(folder, name), { force: true });
  }
}

/** Files of rows that are not of the dataset and will be read with it. */
export async function strangersIn(folder: string, files: readonly SourceFile[]): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.filter((name) => holdsRows({ name }) && !files.some((file) => file.name === name)).sort();
}

/** What the record of a fetch says of a folder. */
export type SourceCheck =
  | { readonly status: 'none' }
  | { readonly status: 'damaged' }
  | {
      readonly status: 'as-fetched' | 'differs';
      readonly repository: string;
      readonly revision: string;
      readonly commit: string;
      readonly files: readonly { readonly name: string; readonly state: 'same' | 'differs' | 'missing' }[];
      /** Files of rows that were not fetched. */
      readonly strangers: readonly string[];
    };

/**
 * Reads every file of rows in the record. Throws a UserError (130 or 143) when interrupted.
 * @param onRead is told of bytes that were read
 */
export async function checkSource(
  folder: string,
  signal: AbortSignal,
  onRead: (bytes: number) => void,
): Promise<SourceCheck> {
  const record = await readSourceRecord(folder);
  if (record === undefined) return { status: 'none' };
  if (record === 'damaged') return { status: 'damaged' };
  const { repository, revision, commit } = record;
  const files: { name: string; state: 'same' | 'differs' | 'missing' }[] = [];
  for (const file of record.files.filter(holdsRows)) {
    const { state } = await placeOf(file, folder, [], { replace: false, signal, onRead });
    files.push({
      name: file.name,
      state: state === 'unchanged' ? 'same' : state === 'fetched' ? 'missing' : 'differs',
    });
  }
  const strangers = await strangersIn(folder, record.files);
  const isSame = strangers.length === 0 && files.every(({ state }) => state === 'same');
  return { status: isSame ? 'as-fetched' : 'differs', repository, revision, commit, files, strangers };
}
