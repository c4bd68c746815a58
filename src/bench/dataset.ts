// The benchmark on disk: *_test.jsonl files -> an index of rows, so that memory holds no row before its turn comes.

import { type FileHandle, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { EXIT, UserError } from '../errors.js';
import { present } from '../present.js';
import type { Domain, Sample } from '../types.js';
import { decoded, openToRead, readSpan, unreadable } from './line-file.js';
import { readPiece } from './piece.js';
import { ColumnsBuilder } from './row-columns.js';
import { RowIndex } from './row-index.js';
import { readSampleAgain } from './sample.js';

const HINT = '--data-dir names the folder that holds the *_test.jsonl files';

/** A line that is not a usable row. */
export interface BadRow {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
  /** Where at least that could be read. */
  readonly domain?: Domain;
}

export interface Dataset {
  readonly files: readonly string[];
  readonly rows: RowIndex;
  readonly bad: readonly BadRow[];
  /** SHA-256 hex over the keys of all rows in order. */
  readonly fingerprint: string;
  /** The text of the row with this number. @throws UserError (65) where another text lies in its place by now. */
  readText(row: number): Promise<string>;
  /** The row with this number, decoded. @throws UserError (65) where another text lies in its place by now. */
  readSample(row: number): Promise<Sample>;
  close(): Promise<void>;
}

/**
 * Indexes every `*_test.jsonl` in a folder, in name order.
 * @throws UserError: 66 where the folder or a file cannot be read, or the folder holds no such file; 130 or 143 once `stop` is aborted.
 */
export async function openDataset(dir: string, stop?: AbortSignal): Promise<Dataset> {
  const files = (await listFiles(dir)).map((name) => join(dir, name));
  const handles: FileHandle[] = [];
  const close = async () => {
    await Promise.all(handles.map((handle) => handle.close()));
  };
  try {
    for (const path of files) handles.push(await openToRead(path, HINT));
    const { rows, bad } = await indexRows(files, handles, stop);
    // A row's bytes are checked whenever they are read: a run may last for days, and files may be replaced under it.
    const readText = async (row: number) => {
      const file = rows.file(row);
      const bytes = await readSpan(present(handles[file]), rows.offset(row), rows.bytes(row));
      const text = crc32(bytes) === rows.checksum(row) ? decoded(bytes) : undefined;
      if (text === undefined) throw changed(present(files[file]));
      return text;
    };
    const readSample = async (row: number) => {
      const keys = { key: rows.key(row), trajectory: rows.trajectory(row) };
      const sample = readSampleAgain(await readText(row), keys);
      if (sample === undefined) throw changed(present(files[rows.file(row)]));
      return sample;
    };
    return { files, rows, bad, fingerprint: rows.fingerprint(), readText, readSample, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function indexRows(
  files: readonly string[],
  handles: readonly FileHandle[],
  stop: AbortSignal | undefined,
): Promise<{ rows: RowIndex; bad: BadRow[] }> {
  const columns = new ColumnsBuilder();
  const bad: BadRow[] = [];
  for (const [file, path] of files.entries()) {
    const piece = await readPiece(present(handles[file]), { start: 0 }, stop).catch((error: unknown) => {
      throw unreadable(path, error, HINT);
    });
    columns.addPiece(piece.columns, 0);
    columns.endFile();
    bad.push(...piece.bad.map((line) => ({ file: basename(path), ...line })));
  }
  return { rows: new RowIndex(columns.columns()), bad };
}

/** Gives equal rows keys of their own: the first keeps the bare hash, each further one gets `-1`, `-2` ... behind it. */
export class EqualRows {
  readonly #seen = new Map<string, number>();

  keyOf(hash: string): string {
    const before = this.#seen.get(hash) ?? 0;
    this.#seen.set(hash, before + 1);
    return before === 0 ? hash : `${hash}-${before}`;
  }
}

/** Whether a key is that of a row with this hash, be it the first of several equal ones or a further one. */
export function isKeyOf(key: string, hash: string): boolean {
  return key === hash || key.startsWith(`${hash}-`);
}

async function listFiles(dir: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    throw unreadable(`the data folder ${dir}`, error, HINT);
  }
  const files = names.filter((name) => name.endsWith('_test.jsonl')).sort();
  if (files.length === 0) {
    throw new UserError(
      `no *_test.jsonl file in ${dir}; --data-dir names the folder that holds the benchmark's files`,
      EXIT.inputMissing,
    );
  }
  return files;
}

function changed(file: string): UserError {
  return new UserError(`${file} was changed while the run was reading it; run the same command again`, EXIT.badData);
}
