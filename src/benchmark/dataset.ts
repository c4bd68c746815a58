// The benchmark on disk: *_test.jsonl files -> a reference to each row, so that memory holds no row's text before its turn comes.

import { createHash } from 'node:crypto';
import { type FileHandle, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { inputMissing, present } from '../core/errors.js';
import { parseObject } from '../core/json.js';
import type { Domain, Sample } from '../core/types.js';
import { openToRead, readAgain, readLines, type Span, spanOf, textOf, unreadable } from './line-file.js';
import { EqualRows, readRow, readSampleAgain } from './sample.js';

const HINT = '--data-dir names the folder that holds the *_test.jsonl files';

/** A row without its text: where it lies, and what choosing and ordering need to know of it. */
export interface RowRef extends Span {
  /** In input order over all files, from 0. */
  readonly position: number;
  /** The hash of the row's fields, with `-N` behind it for the Nth further row that is equal. */
  readonly key: string;
  readonly trajectory: string;
  /** Counts the trajectories in the order of their first rows, from 0. */
  readonly trajectoryNumber: number;
  readonly domain: Domain;
  /** The row's `id`: a string's text, or a number's digits; empty where there is none. */
  readonly id: string;
  /** 1-based. */
  readonly turnIdx: number;
  /** A number of `Dataset.files`. */
  readonly file: number;
  /** 1-based. */
  readonly line: number;
}

/** A line that is not a usable row. */
export interface BadRow {
  /** The name of its file. */
  readonly file: string;
  readonly line: number;
  readonly reason: string;
  /** Where at least that could be read. */
  readonly domain?: Domain;
}

export interface Dataset {
  readonly files: readonly string[];
  /** In input order. */
  readonly rows: readonly RowRef[];
  readonly bad: readonly BadRow[];
  /** SHA-256 hex over the keys of all rows in order, a line each. */
  readonly fingerprint: string;
  /** The row with this key; undefined where there is none. */
  find(key: string): RowRef | undefined;
  /** The text of the row. @throws UserError (65) where another text lies in its place by now. */
  readText(row: RowRef): Promise<string>;
  /** The row, decoded. @throws UserError (65) where another text lies in its place by now. */
  readSample(row: RowRef): Promise<Sample>;
  close(): Promise<void>;
}

/**
 * Goes once through every `*_test.jsonl` in a folder, in name order.
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
    const reader = new RowReader();
    for (const [file, path] of files.entries()) await reader.read(file, path, present(handles[file]), stop);
    const { rows, bad } = reader;
    const byKey = new Map(rows.map((row) => [row.key, row]));
    const readText = (row: RowRef) => readAgain(present(handles[row.file]), row, present(files[row.file]));
    const readSample = async (row: RowRef) =>
      // The same bytes are the same row.
      present(readSampleAgain(parseObject(await readText(row)), row));
    const fingerprint = createHash('sha256')
      .update(rows.map(({ key }) => key).join('\n'))
      .digest('hex');
    return { files, rows, bad, fingerprint, find: (key) => byKey.get(key), readText, readSample, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Takes in the rows of files, one behind the other. */
class RowReader {
  readonly rows: RowRef[] = [];
  readonly bad: BadRow[] = [];
  readonly #equals = new EqualRows();
  readonly #trajectories = new Map<string, number>();

  async read(file: number, path: string, handle: FileHandle, stop: AbortSignal | undefined): Promise<void> {
    for await (const line of readLines(handle, path, HINT, stop)) {
      const found = textOf(line);
      const reading = 'flaw' in found ? { ok: false as const, flaw: { reason: found.flaw } } : readRow(found.text);
      if (!reading.ok) {
        this.bad.push({ file: basename(path), line: line.number, ...reading.flaw });
        continue;
      }
      const { sample, id } = reading.row;
      const { trajectory, domain, turnIdx } = sample;
      const trajectoryNumber = this.#trajectories.get(trajectory) ?? this.#trajectories.size;
      this.#trajectories.set(trajectory, trajectoryNumber);
      this.rows.push({
        position: this.rows.length,
        key: this.#equals.keyOf(sample.key),
        ...{ trajectory, trajectoryNumber, domain, turnIdx },
        id: id.startsWith('"') ? String(JSON.parse(id)) : id,
        ...{ file, line: line.number },
        ...spanOf(line),
      });
    }
  }
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
    throw inputMissing(`no *_test.jsonl file in ${dir}; --data-dir names the folder that holds the benchmark's files`);
  }
  return files;
}
