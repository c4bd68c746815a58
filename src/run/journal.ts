// The run's evidence: an append-only JSONL file that survives a kill and knows what is done. A line's checksum shows damage.

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

/** One finished row. A later record with the same id replaces an earlier one. */
export interface JournalRecord {
  readonly id: string;
  /** What goes into the output row: members that are added to the input row's own. */
  readonly row: Readonly<Record<string, unknown>>;
  /** What it cost: attempts, tokens, times. Never part of the output row. */
  readonly log: Readonly<Record<string, unknown>>;
}

/** A record as its line: JSON with the CRC-32 of what stands before it as its last member, in eight hex digits. */
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

/** A torn line of spaces may stand before the record. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().trimStart();
}

function recordIn(json: string): JournalRecord | undefined {
  const { id, row, log, ...others } = parseObject(json) ?? {};
  if (typeof id !== 'string' || !isObject(row) || !isObject(log) || Object.keys(others).length > 0) return undefined;
  return { id, row, log };
}

/** What is kept in memory of a record; `before` is that of the id's record before. It throws for what no run writes. */
type Summarise<S> = (record: JournalRecord, before: S | undefined) => S;

export type Journal<S> = Awaited<ReturnType<typeof openJournal<S>>>;

/** The records of so many bytes are taken in by one turn of the event loop, within some ten milliseconds. */
const READ_BYTES = 1 << 18;

/**
 * Opens a journal, creating it where there is none. A torn last line (a kill or a full disk in the middle of a write) is cut off;
 * lines that are damaged (no record, or not the one that was written) are passed over. Both are said in `repaired`.
 * @throws UserError: 73 where the file cannot be opened for writing, or is not a regular file.
 */
export async function openJournal<S>(path: string, summarise: Summarise<S>) {
  const handle = await openRegular(path, 'writes');
  await syncFolder(dirname(path));
  return journalIn(path, handle, summarise, 'cuts');
}

/**
 * The same for reading alone: nothing is made or cut off, and appending fails. Without a path or a file it is empty. Of a journal that
 * another process writes, it holds what was there.
 * @throws UserError as `scanJournal`.
 */
export async function viewJournal<S>(path: string = devNull, summarise: Summarise<S>): Promise<Journal<S>> {
  return journalIn(path, await (path === devNull ? open(devNull, 'r') : openRegular(path)), summarise);
}

/**
 * Gives every sound record of a journal, with the line that it stands on; none where there is no file. Nothing is changed.
 * @param take throws for what no run writes
 * @param start where a line begins; numbers and offsets of lines count from there
 * @returns where the last whole line ends, from which it can be read on, and what is damaged, as `repaired` says it
 * @throws UserError: 66 where the file cannot be read, or is not a regular file
 */
export async function scanJournal(path: string, take: TakeRecord, start = 0) {
  return closing(await openRegular(path), (handle) => scan(path, handle, take, start));
}

async function journalIn<S>(path: string, handle: FileHandle, summarise: Summarise<S>, torn?: 'cuts') {
  /** The latest record of each id: where it lies, and its summary. */
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
    /** How many ids have a record. */
    get size() {
      return latest.size;
    },
    /** The ids that have a record, in the order of their first ones. */
    ids: (): Iterable<string> => latest.keys(),
    has: (id: string) => latest.has(id),
    /** The summary of an id's latest record; undefined where it has none. */
    summaryOf: (id: string) => latest.get(id)?.summary,
    /** What opening had to repair, as a sentence for the user; undefined where nothing was wrong. */
    repaired,
    /**
     * Resolves to the record's summary once the record is on the disk (fdatasync); many waiting records share one write.
     * Rejects with a UserError (74).
     */
    async append(record: JournalRecord): Promise<S> {
      const line = sealed(record);
      const offset = await appender.append(line);
      const summary = summarise(record, latest.get(record.id)?.summary);
      latest.set(record.id, { offset, length: line.length - 1, summary });
      return summary;
    },
    /** The latest record of an id. @throws UserError (65) where another text lies in its place by now. */
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

/** Opens a journal; where there is none, one is made that is to be written, and nothing is read of one that is not. */
async function openRegular(path: string, use?: 'writes'): Promise<FileHandle> {
  const exitCode = use === undefined ? EXIT.inputMissing : EXIT.cannotCreate;
  const remedy = use === undefined ? '' : ', or choose another --output-dir';
  try {
    // 'a+' would ignore the position of writes. Without O_NONBLOCK (which Windows lacks) it would wait for a FIFO's other end.
    const flags = (use === undefined ? constants.O_RDONLY : constants.O_RDWR) | (constants.O_NONBLOCK ?? 0);
    const handle = await unlessMissing(open(path, flags));
    if (!handle) return await (use === undefined ? open(devNull, 'r') : open(path, 'wx+'));
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  } catch (error) {
    const told = (code: string) => `cannot open the journal ${path} (${code}); mend its permissions${remedy}`;
    throw refusedBy(error, (code) => new UserError(told(code), exitCode));
  }
  throw new UserError(`${path} is not a regular file, and a journal has to be one; move it away${remedy}`, exitCode);
}

/** How many damaged lines are named. */
const MOST_NAMED = 10;

type TakeRecord = (record: JournalRecord, line: Line) => unknown;

/** Reads all lines. `end` is where the last whole one ends, and `isTorn` whether a torn one stands behind it. */
async function scan(path: string, handle: FileHandle, take: TakeRecord, start = 0) {
  const notes: string[] = [];
  const damaged: number[] = [];
  const { size } = await handle.stat();
  let end = size;
  // No further than `end`, since another process may append meanwhile. The end of a stream is its last byte.
  const last = Math.max(start, size - 1);
  const chunks = handle.createReadStream({ start, end: last, autoClose: false, highWaterMark: READ_BYTES });
  for await (const line of splitLines(chunks)) {
    if (!line.ended) {
      notes.push(`cut off a torn last line of ${line.bytes.length} bytes (its row is asked again)`);
      end = start + line.offset;
    } else if (!taken(line, take)) damaged.push(line.number);
  }
  const named = [...damaged.slice(0, MOST_NAMED), ...(damaged.length > MOST_NAMED ? ['...'] : [])].join(', ');
  if (damaged.length > 0)
    notes.push(`passed over ${counted(damaged.length, 'damaged line')}: ${named} (what stood there is asked again)`);
  const repaired = notes.length === 0 ? undefined : `repaired ${path}: ${notes.join('; ')}`;
  return { end, isTorn: end < size, repaired };
}

/** Whether a line holds a record, and one that a run writes. */
function taken(line: Line, take: TakeRecord): boolean {
  const record = readRecord(line.bytes);
  try {
    if (record !== undefined) take(record, line);
    return record !== undefined;
  } catch {
    return false;
  }
}
