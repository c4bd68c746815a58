// The benchmark on disk: *_test.jsonl files -> a reference to each row, so that no row's text is in memory before its turn comes.

import { createHash } from 'node:crypto';
import { type FileHandle, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { closingOnFailure, inputMissing, present } from '../core/errors.js';
import { parseObject } from '../core/json.js';
import type { Domain } from '../core/types.js';
import { openToRead, readAgain, readLines, type Span, spanOf, textOf, unreadable } from './line-file.js';
import { openRowKeys, readRow, readSampleAgain } from './sample.js';

const HINT = '--data-dir takes the folder with the *_test.jsonl files';

/** A row without its text: its place, and what is needed to choose and order it. */
export interface RowRef extends Span {
  /** In input order over all files, from 0. */
  readonly position: number;
  /** The hash of the row's fields, followed by `-N` for the Nth further row that is equal. */
  readonly key: string;
  readonly trajectory: string;
  /** Numbers the trajectories in the order of their first rows, from 0. */
  readonly trajectoryNumber: number;
  readonly domain: Domain;
  /** The row's `id`: a string's text, or a number's digits; empty if there is none. */
  readonly id: string;
  /** 1-based. */
  readonly turnIdx: number;
  /** An index of `Dataset.files`. */
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
  /** Absent if not even that could be read. */
  readonly domain?: Domain;
}

export type Dataset = Awaited<ReturnType<typeof openDataset>>;

/**
 * Reads every `*_test.jsonl` in a folder once, in name order.
 * @throws UserError: 66 if the folder or a file cannot be read, or the folder has no such file; 130 or 143 once `stop` is aborted.
 */
export async function openDataset(dir: string, stop?: AbortSignal) {
  const files = (await listFiles(dir)).map((name) => join(dir, name));
  const handles: FileHandle[] = [];
  const close = async () => {
    await Promise.all(handles.map((handle) => handle.close()));
  };
  return closingOnFailure({ close }, async () => {
    for (const path of files) handles.push(await openToRead(path, HINT));
    const read: Readonly<{ rows: readonly RowRef[]; bad: readonly BadRow[] }> = await readRows(files, handles, stop);
    const { rows, bad } = read;
    const byKey = new Map(rows.map((row) => [row.key, row]));
    /** The row's text. @throws UserError (65) if its place in the file now has other text. */
    const readText = (row: RowRef) => readAgain(present(handles[row.file]), row, present(files[row.file]));
    /** The row, decoded. @throws UserError (65) if its place in the file now has other text. */
    const readSample = async (row: RowRef) =>
      // The same bytes are the same row.
      present(readSampleAgain(parseObject(await readText(row)), row));
    const fingerprint = createHash('sha256')
      .update(rows.map(({ key }) => key).join('\n'))
      .digest('hex');
    return {
      files,
      /** In input order. */
      rows,
      bad,
      /** SHA-256 in hex over the keys of all rows in order, one per line. */
      fingerprint,
      /** The row with this key; undefined if there is none. */
      find: (key: string) => byKey.get(key),
      readText,
      readSample,
      close,
    };
  });
}

/** Reads the rows of all files, one file after another. */
async function readRows(files: readonly string[], handles: readonly FileHandle[], stop: AbortSignal | undefined) {
  const rows: RowRef[] = [];
  const bad: BadRow[] = [];
  const keyOf = openRowKeys();
  const trajectories = new Map<string, number>();
  for (const [file, path] of files.entries()) {
    for await (const line of readLines(present(handles[file]), path, HINT, stop)) {
      const found = textOf(line);
      const reading = 'flaw' in found ? { ok: false as const, flaw: { reason: found.flaw } } : readRow(found.text);
      if (!reading.ok) {
        bad.push({ file: basename(path), line: line.number, ...reading.flaw });
        continue;
      }
      const { sample, id } = reading.row;
      const { trajectory, domain, turnIdx } = sample;
      const trajectoryNumber = trajectories.get(trajectory) ?? trajectories.size;
      trajectories.set(trajectory, trajectoryNumber);
      rows.push({
        position: rows.length,
        key: keyOf(sample.key),
        trajectory,
        trajectoryNumber,
        domain,
        id: id.startsWith('"') ? String(JSON.parse(id)) : id,
        turnIdx,
        file,
        line: line.number,
        ...spanOf(line),
      });
    }
  }
  return { rows, bad };
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
    throw inputMissing(`no *_test.jsonl file in ${dir}; --data-dir takes the folder with the benchmark's files`);
  }
  return files;
}
