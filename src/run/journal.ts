// The run's evidence: an append-only JSONL file that survives a kill and records what is done. Each line has a checksum to reveal damage.

import { constants, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { badData, closing, EXIT, refusedBy, UserError } from '../core/errors.js';
import { isObject, parseObject } from '../core/json.js';
import { counted } from '../core/printable.js';
import { syncFolder, unlessMissing } from '../disk/files.js';
import { Appender } from '../disk/group-commit.js';
import { type Line, splitLines } from '../disk/lines.js';

/** One finished row. A later record with the same id replaces the earlier one. */
export interface JournalRecord {
  readonly id: string;
  /** Members added to the input row's own to make the output row. */
  readonly row: Readonly<Record<string, unknown>>;
  /** What it cost: attempts, tokens, times. Never part of the output row. */
  readonly log: Readonly<Record<string, unknown>>;
}

/** A record as its line: JSON whose last member is the CRC-32 of everything before it, in eight hex digits. */
export function sealed({ id, row, log }: JournalRecord): Buffer {
  const members = JSON.stringify({ id, row, log }).slice(0, -1);
  return Buffer.from(`${members}${sealOf(members)}\n`);
}

function sealOf(members: string): string {
  return `,"crc":"${crc32(members).toString(16).padStart(8, '0')}"}`;
}

const SEAL_LENGTH = ',"crc":"00000000"}'.length;

/** The record of a line; undefined for anything that `sealed` did not write. */
export function readRecord(bytes: Uint8Array): JournalRecord | undefined {
  const line = textOf(bytes);
  const members = line.slice(0, -SEAL_LENGTH);
  return line === `${members}${sealOf(members)}` ? recordIn(`${members}}`) : undefined;
}

/** The record may follow a torn line of spaces. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().trimStart();
}

function recordIn(json: string): JournalRecord | undefined {
  const { id, row, log, ...others } = parseObject(json) ?? {};
  if (typeof id !== 'string' || !isObject(row) || !isObject(log) || Object.keys(others).length > 0) return undefined;
  return { id, row, log };
}

/**
 * Makes the summary of a record that is kept in memory; `before` is the summary of the id's previous record. Throws for records that no run
 * writes.
 */
type Summarise<S> = (record: JournalRecord, before: S | undefined) => S;

export type Journal<S> = Awaited<ReturnType<typeof openJournal<S>>>;

/** The records in this many bytes are processed in one turn of the event loop, in about ten milliseconds. */
const READ_BYTES = 1 << 18;

/**
 * Opens a journal, creating it if missing. A torn last line (from a kill or a full disk during a write) is cut off; damaged lines (not a
 * record, or not the record that was written) are skipped. `repaired` reports both.
 * @throws UserError: 73 if the file cannot be opened for writing, or is not a regular file.
 */
export async function openJournal<S>(path: string, summarise: Summarise<S>) {
  const handle = await openRegular(path, 'writes');
  await syncFolder(dirname(path));
  return journalIn(path, handle, summarise, 'cuts');
}

/**
 * The same, but read-only: nothing is created or cut off, and appending fails. Without a path or a file it is empty. If another process is
 * writing the journal, it contains what was there when it was opened.
 * @throws UserError as `scanJournal`.
 */
export async function viewJournal<S>(path: string = devNull, summarise: Summarise<S>): Promise<Journal<S>> {
  return journalIn(path, await (path === devNull ? open(devNull, 'r') : openRegular(path)), summarise);
}

/**
 * Passes every intact record of a journal to `take`, with its line; none if there is no file. Nothing is changed.
 * @param take throws for records that no run writes
 * @param start offset where a line begins; line numbers and offsets count from there
 * @returns where the last complete line ends, from which reading can continue, and what is damaged, worded as in `repaired`
 * @throws UserError: 66 if the file cannot be read, or is not a regular file
 */
export async function scanJournal(path: string, take: TakeRecord, start = 0) {
  return closing(await openRegular(path), (handle) => scan(path, handle, take, start));
}

async function journalIn<S>(path: string, handle: FileHandle, summarise: Summarise<S>, torn?: 'cuts') {
  /** The latest record of each id: its place in the file, and its summary. */
  const latest = new Map<string, { readonly offset: number; readonly length: number; readonly summary: S }>();
  const take = (record: JournalRecord, { offset, bytes: { length } }: Line) =>
    latest.set(record.id, { offset, length, summary: summarise(record, latest.get(record.id)?.summary) });
  const { end, isTorn, repaired } = await scan(path, handle, take).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  if (isTorn && torn === 'cuts') await handle.truncate(end);
  const appender = new Appender(handle, path, end);
  return {
    /** The number of ids that have a record. */
    get size() {
      return latest.size;
    },
    /** The ids that have a record, in the order of their first records. */
    ids: (): Iterable<string> => latest.keys(),
    has: (id: string) => latest.has(id),
    /** The summary of an id's latest record; undefined if it has none. */
    summaryOf: (id: string) => latest.get(id)?.summary,
    /** What opening had to repair, as a sentence for the user; undefined if nothing was wrong. */
    repaired,
    /**
     * Resolves to the record's summary once the record is on the disk (fdatasync); waiting records share one write. Rejects with a
     * UserError (74).
     */
    async append(record: JournalRecord): Promise<S> {
      const line = sealed(record);
      const offset = await appender.append(line);
      const summary = summarise(record, latest.get(record.id)?.summary);
      latest.set(record.id, { offset, length: line.length - 1, summary });
      return summary;
    },
    /** The latest record of an id. @throws UserError (65) if the file has other text in its place by now. */
    read(id: string): JournalRecord {
      const place = latest.get(id);
      if (place === undefined) throw new Error(`no journal record for ${id}`);
      const bytes = Buffer.allocUnsafe(place.length);
      readSync(handle.fd, bytes, 0, place.length, place.offset);
      const record = readRecord(bytes);
      if (record?.id === id) return record;
      throw badData(
        `the record of row ${id} in ${path} was changed while the run was using it; run the same command again`,
      );
    },
    async close(): Promise<void> {
      await appender.idle();
      await handle.close();
    },
  };
}

/** Opens a journal. If there is none, it is created for writing, and is empty for reading. */
async function openRegular(path: string, use?: 'writes'): Promise<FileHandle> {
  const exitCode = use === undefined ? EXIT.inputMissing : EXIT.cannotCreate;
  const remedy = use === undefined ? '' : ', or choose another --output-dir';
  try {
    // 'a+' would ignore the position of writes. Without O_NONBLOCK (missing on Windows), opening a FIFO would wait for its other end.
    const flags = (use === undefined ? constants.O_RDONLY : constants.O_RDWR) | (constants.O_NONBLOCK ?? 0);
    const handle = await unlessMissing(open(path, flags));
    if (!handle) return await (use === undefined ? open(devNull, 'r') : open(path, 'wx+'));
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (error) {
    const told = (code: string) => `cannot open the journal ${path} (${code}); fix its permissions${remedy}`;
    throw refusedBy(error, (code) => new UserError(told(code), exitCode));
  }
  throw new UserError(`${path} is not a regular file, but a journal must be one; move it away${remedy}`, exitCode);
}

/** How many damaged lines are listed. */
const MOST_NAMED = 10;

type TakeRecord = (record: JournalRecord, line: Line) => unknown;

/** Reads all lines. `end` is where the last complete line ends, and `isTorn` whether a torn line follows it. */
async function scan(path: string, handle: FileHandle, take: TakeRecord, start = 0) {
  const notes: string[] = [];
  const damaged: number[] = [];
  const { size } = await handle.stat();
  let end = size;
  // Reads no further than `end`, since another process may be appending. The `end` of a stream is its last byte.
  const last = Math.max(start, size - 1);
  const chunks = handle.createReadStream({ start, end: last, autoClose: false, highWaterMark: READ_BYTES });
  for await (const line of splitLines(chunks)) {
    if (!line.ended) {
      notes.push(`cut off a torn last line of ${line.bytes.length} bytes (its row will be asked again)`);
      end = start + line.offset;
    } else if (!taken(line, take)) damaged.push(line.number);
  }
  const named = [...damaged.slice(0, MOST_NAMED), ...(damaged.length > MOST_NAMED ? ['...'] : [])].join(', ');
  if (damaged.length > 0)
    notes.push(`skipped ${counted(damaged.length, 'damaged line')}: ${named} (their rows will be asked again)`);
  const repaired = notes.length === 0 ? undefined : `repaired ${path}: ${notes.join('; ')}`;
  return { end, isTorn: end < size, repaired };
}

/** Whether a line holds a valid record that a run would write. */
function taken(line: Line, take: TakeRecord): boolean {
  const record = readRecord(line.bytes);
  try {
    if (record !== undefined) take(record, line);
    return record !== undefined;
  } catch {
    return false;
  }
}
