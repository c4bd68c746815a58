// The benchmark on disk: *_test.jsonl files -> an index of rows, so that memory holds no row before its turn comes.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { type Line, splitLines } from '../lines.js';
import type { Domain, Sample } from '../types.js';
import { decodeLine, readRow } from './sample.js';

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
  /** The row's own text. */
  readText(ref: RowRef): Promise<string>;
  /** The row, decoded. */
  readSample(ref: RowRef): Promise<Sample>;
  close(): Promise<void>;
}

/**
 * Indexes every `*_test.jsonl` in a folder, in name order.
 * @throws UserError (66) where the folder cannot be read or holds no such file.
 */
export async function openDataset(dir: string, domains: readonly Domain[]): Promise<Dataset> {
  const files = (await listFiles(dir)).map((name) => join(dir, name));
  const rows: RowRef[] = [];
  const bad: BadRow[] = [];
  const equals = new EqualRows();
  for (const [file, path] of files.entries()) {
    for await (const line of splitLines(createReadStream(path, { highWaterMark: 1 << 20 }))) {
      const text = decodeLine(line.bytes);
      const reading =
        text === undefined ? { ok: false as const, flaw: { reason: 'not valid UTF-8' } } : readRow(text, domains);
      if (!reading.ok) {
        bad.push({ file: basename(path), line: line.number, ...reading.flaw });
        continue;
      }
      const { sample, id } = reading.row;
      rows.push({
        key: equals.keyOf(sample.key),
        trajectory: sample.trajectory,
        domain: sample.domain,
        id: id.startsWith('"') ? (JSON.parse(id) as string) : id,
        turnIdx: sample.turnIdx,
        position: rows.length,
        file,
        line: line.number,
        ...placeOf(line),
      });
    }
  }
  const handles = await Promise.all(files.map((path) => open(path, 'r')));
  const fingerprint = createHash('sha256')
    .update(rows.map((row) => row.key).join('\n'))
    .digest('hex');
  const readText = async (ref: RowRef): Promise<string> => {
    const text = decodeLine(await readSpan(handles[ref.file] as FileHandle, ref.offset, ref.length));
    if (text === undefined) throw changed(files[ref.file] as string);
    return text;
  };
  return {
    files,
    rows,
    bad,
    fingerprint,
    readText,
    async readSample(ref) {
      const reading = readRow(await readText(ref), domains);
      if (!reading.ok) throw changed(files[ref.file] as string);
      return { ...reading.row.sample, key: ref.key };
    },
    async close() {
      await Promise.all(handles.map((handle) => handle.close()));
    },
  };
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

/** The bytes of a line in its file. */
export function placeOf(line: Line): { readonly offset: number; readonly length: number } {
  return { offset: line.offset, length: line.bytes.length };
}

/** Reads `length` bytes at `offset`; fewer where the file has become shorter. */
export async function readSpan(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  return bytes.subarray(0, bytesRead);
}

async function listFiles(dir: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(
      `cannot read the data folder ${dir} (${code}); --data-dir names the folder that holds the *_test.jsonl files`,
      EXIT.inputMissing,
    );
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
