// The benchmark on disk: *_test.jsonl files -> an index of rows, so that memory holds no row before its turn comes.

import { type FileHandle, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { EXIT, UserError } from '../errors.js';
import { parseObject } from '../json.js';
import { present } from '../present.js';
import { SpanReader } from '../spans.js';
import type { Sample } from '../types.js';
import type { BadRow, IndexedData } from './index-format.js';
import { indexRows } from './indexing.js';
import { decoded, openToRead, unreadable } from './line-file.js';
import { roomInTurn } from './loop-turn.js';
import { isMuch } from './pieces.js';
import { RowIndex } from './row-index.js';
import { readSampleAgain } from './sample.js';
import {
  dropIndex,
  type FileStamp,
  loadIndex,
  sameStamps,
  saveIndex,
  stampOf,
  wouldShowChanges,
} from './saved-index.js';

const HINT = '--data-dir names the folder that holds the *_test.jsonl files';

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
  /** Keeps the index where `openDataset` was told, so that the next start need not read the files. Where that fails, there is none. */
  keepIndex(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Indexes every `*_test.jsonl` in a folder, in name order.
 * @param kept the file that an earlier run has kept the index in, or that this one may keep it in
 * @throws UserError: 66 where the folder or a file cannot be read, or the folder holds no such file; 130 or 143 once `stop` is aborted.
 */
export async function openDataset(dir: string, stop?: AbortSignal, kept?: string): Promise<Dataset> {
  const files = (await listFiles(dir)).map((name) => join(dir, name));
  const handles: FileHandle[] = [];
  const close = async () => {
    await Promise.all(handles.map((handle) => handle.close()));
  };
  try {
    for (const path of files) handles.push(await openToRead(path, HINT));
    const open = files.map((path, file) => ({ path, handle: present(handles[file]) }));
    const { data, keepIndex } = await indexOf(dir, open, kept, stop);
    const rows = new RowIndex(data.columns);
    const readers = handles.map((handle) => new SpanReader(handle));
    const changed = async (row: number) => {
      if (kept !== undefined) await dropIndex(kept);
      return changedError(present(files[rows.file(row)]));
    };
    // A row's bytes are checked whenever they are taken: a run may last for days, and files may be replaced under it.
    const readText = async (row: number) => {
      const bytes = await present(readers[rows.file(row)]).read(rows.offset(row), rows.bytes(row));
      await roomInTurn();
      const text = crc32(bytes) === rows.checksum(row) ? decoded(bytes) : undefined;
      if (text === undefined) throw await changed(row);
      return text;
    };
    const readSample = async (row: number) => {
      const keys = { key: rows.key(row), trajectory: rows.trajectory(row) };
      const sample = readSampleAgain(parseObject(await readText(row)), keys);
      if (sample === undefined) throw await changed(row);
      return sample;
    };
    const { bad, fingerprint } = data;
    return { files, rows, bad, fingerprint, readText, readSample, keepIndex, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface DataFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/** The index of open files: the one that was kept of them, or a new one and how to keep it. */
async function indexOf(
  dir: string,
  files: readonly DataFile[],
  kept: string | undefined,
  stop: AbortSignal | undefined,
): Promise<{ readonly data: IndexedData; keepIndex(): Promise<void> }> {
  const openedMs = Date.now();
  const stamps = await stampsOf(files);
  const known = kept === undefined ? undefined : await loadIndex(kept, stamps);
  if (known !== undefined) return { data: known, keepIndex: async () => {} };
  const sized = files.map((file, number) => ({ ...file, bytes: present(stamps[number]).bytes }));
  const { columns, bad: badLines } = await indexRows(sized, HINT, stop);
  const bad = badLines.map((line) => ({ ...line, file: basename(present(files[line.file]).path) }));
  const data = { columns, bad, fingerprint: await new RowIndex(columns).fingerprint() };
  const isUntouched = sameStamps(stamps, await stampsOf(files));
  return {
    data,
    async keepIndex() {
      if (kept === undefined || !isMuch(sized)) return;
      if (isUntouched && wouldShowChanges(stamps, openedMs)) await saveIndex(kept, dir, stamps, data);
    },
  };
}

function stampsOf(files: readonly DataFile[]): Promise<FileStamp[]> {
  return Promise.all(files.map(({ path, handle }) => stampOf(path, handle)));
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

function changedError(file: string): UserError {
  return new UserError(`${file} was changed while the run was reading it; run the same command again`, EXIT.badData);
}
