// The benchmark on disk: *_test.jsonl files -> an index of rows, so that memory holds no row before its turn comes.

import { createHash } from 'node:crypto';
import { type FileHandle, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { present } from '../present.js';
import type { Domain, Sample } from '../types.js';
import { decoded, openToRead, placeOf, readLines, readSpan, textOf, unreadable } from './line-file.js';
import { readRow } from './sample.js';

const HINT = '--data-dir names the folder that holds the *_test.jsonl files';

/** Where a row lies, and what choosing and ordering need to know of it. */
export interface RowRef {
  readonly key: string;
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row's `id`: a string's text, or a number's digits. */
  readonly id: string;
  readonly turnIdx: number;
  /** Position in input order over all files, 0-based. */
  readonly position: number;
  readonly file: number;
  readonly line: number;
  readonly offset: number;
  readonly length: number;
}

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
  readonly rows: readonly RowRef[];
  readonly bad: readonly BadRow[];
  /** SHA-256 hex over the keys of all rows in order. */
  readonly fingerprint: string;
  /** The row's own text. @throws UserError (65) where another text lies in its place by now. */
  readText(ref: RowRef): Promise<string>;
  /** The row, decoded. @throws UserError (65) where another text lies in its place by now. */
  readSample(ref: RowRef): Promise<Sample>;
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
    // A row's text is checked whenever it is read: a run may last for days, and files may be replaced under it.
    const read = async (ref: RowRef) => {
      const text = decoded(await readSpan(present(handles[ref.file]), ref.offset, ref.length));
      const reading = text === undefined ? undefined : readRow(text);
      if (text === undefined || !reading?.ok || !isKeyOf(ref.key, reading.row.sample.key)) {
        throw changed(present(files[ref.file]));
      }
      return { text, sample: { ...reading.row.sample, key: ref.key } };
    };
    return {
      files,
      rows,
      bad,
      fingerprint: createHash('sha256')
        .update(rows.map((row) => row.key).join('\n'))
        .digest('hex'),
      readText: async (ref) => (await read(ref)).text,
      readSample: async (ref) => (await read(ref)).sample,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function indexRows(
  files: readonly string[],
  handles: readonly FileHandle[],
  stop: AbortSignal | undefined,
): Promise<{ rows: RowRef[]; bad: BadRow[] }> {
  const rows: RowRef[] = [];
  const bad: BadRow[] = [];
  const equals = new EqualRows();
  for (const [file, path] of files.entries()) {
    for await (const line of readLines(present(handles[file]), path, HINT, stop)) {
      const found = textOf(line);
      const reading = 'flaw' in found ? { ok: false as const, flaw: { reason: found.flaw } } : readRow(found.text);
      if (!reading.ok) {
        bad.push({ file: basename(path), line: line.number, ...reading.flaw });
        continue;
      }
      const { sample, id } = reading.row;
      rows.push({
        key: equals.keyOf(sample.key),
        trajectory: sample.trajectory,
        domain: sample.domain,
        id: id.startsWith('"') ? String(JSON.parse(id)) : id,
        turnIdx: sample.turnIdx,
        position: rows.length,
        file,
        line: line.number,
        ...placeOf(line),
      });
    }
  }
  return { rows, bad };
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
