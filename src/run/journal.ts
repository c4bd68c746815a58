// The run's evidence: an append-only JSONL file that survives a kill and knows what is done.

import { constants, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import { codeOf, EXIT, UserError } from '../errors.js';
import { syncFolder } from '../files.js';
import { splitLines } from '../lines.js';
import { Appender } from './group-commit.js';
import { type JournalRecord, readRecord, sealed } from './journal-record.js';

/** What is kept in memory of a record; `before` is that of the id's record before. It throws for what no run writes. */
export type Summarise<S> = (record: JournalRecord, before: S | undefined) => S;

export interface Journal<S> {
  /** How many ids have a record. */
  readonly size: number;
  /** The ids that have a record, in the order of their first ones. */
  ids(): Iterable<string>;
  has(id: string): boolean;
  /** The summary of an id's latest record; undefined where it has none. */
  summaryOf(id: string): S | undefined;
  /** What opening had to repair, as a sentence for the user; absent where nothing was wrong. */
  readonly repaired?: string;
  /**
   * Resolves to the record's summary once the record is on the disk (fdatasync); many waiting records share one write.
   * Rejects with a UserError (74).
   */
  append(record: JournalRecord): Promise<S>;
  /** The latest record of an id. @throws UserError (65) where another text lies in its place by now. */
  read(id: string): JournalRecord;
  close(): Promise<void>;
}

/** How many damaged lines are named. */
const MOST_NAMED = 10;
/** The records of so many bytes are taken in by one turn of the event loop, within some ten milliseconds. */
const READ_BYTES = 1 << 18;

/** The latest record of an id: where it lies, and its summary. */
interface Latest<S> {
  readonly offset: number;
  readonly length: number;
  readonly summary: S;
}

/**
 * Opens a journal, creating it where there is none. A torn last line (a kill or a full disk in the middle of a write) is cut off;
 * lines that are damaged (no record, or not the one that was written) are passed over. Both are said in `repaired`.
 * @throws UserError (73) where the file cannot be opened for writing, or is no regular file.
 */
export async function openJournal<S>(path: string, summarise: Summarise<S>): Promise<Journal<S>> {
  const handle = await openForAppend(path);
  return journalIn(path, handle, summarise, (end) => handle.truncate(end));
}

/**
 * The same for reading alone: nothing is made or cut off, and appending fails. Without a path or a file it is empty. Of a journal that
 * another process writes, it holds what was there.
 * @throws UserError (66) where the file cannot be read, or is no regular file.
 */
export async function viewJournal<S>(path: string | undefined, summarise: Summarise<S>): Promise<Journal<S>> {
  const handle = await (path === undefined ? open(devNull, 'r') : openToView(path));
  return journalIn(path ?? devNull, handle, summarise, async () => {});
}

async function journalIn<S>(
  path: string,
  handle: FileHandle,
  summarise: Summarise<S>,
  cut: (end: number) => Promise<void>,
): Promise<Journal<S>> {
  const latest = new Map<string, Latest<S>>();
  const { end, repaired } = await load(path, handle, latest, summarise, cut);
  const appender = new Appender(handle, path, end);
  return {
    get size() {
      return latest.size;
    },
    ids: () => latest.keys(),
    has: (id) => latest.has(id),
    summaryOf: (id) => latest.get(id)?.summary,
    ...(repaired === undefined ? {} : { repaired }),
    async append(record) {
      const line = sealed(record);
      const offset = await appender.append(line);
      const summary = summarise(record, latest.get(record.id)?.summary);
      latest.set(record.id, { offset, length: line.length - 1, summary });
      return summary;
    },
    read(id) {
      const place = latest.get(id);
      if (place === undefined) throw new Error(`no journal record for ${id}`);
      const bytes = Buffer.allocUnsafe(place.length);
      readSync(handle.fd, bytes, 0, place.length, place.offset);
      const record = readRecord(bytes);
      if (record?.id !== id) throw changed(path, id);
      return record;
    },
    async close() {
      await appender.idle();
      await handle.close();
    },
  };
}

function changed(path: string, id: string): UserError {
  return new UserError(
    `the record of row ${id} in ${path} was changed while the run was using it; run the same command again`,
    EXIT.badData,
  );
}

async function openForAppend(path: string): Promise<FileHandle> {
  try {
    // 'a+' would ignore the position of writes. 'r+' does not create, and without O_NONBLOCK it would wait for a FIFO's other end.
    const handle = await open(path, constants.O_RDWR | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
      return open(path, 'wx+');
    });
    if (!(await handle.stat()).isFile()) {
      await handle.close();
      throw new UserError(
        `${path} is no regular file, and a journal has to be one; move it away, or choose another --output-dir`,
        EXIT.cannotCreate,
      );
    }
    await syncFolder(dirname(path));
    return handle;
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new UserError(
      `cannot open ${path} for writing (${code}); choose another --output-dir or mend its permissions`,
      EXIT.cannotCreate,
    );
  }
}

async function openToView(path: string): Promise<FileHandle> {
  try {
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    throw new UserError(`${path} is no regular file, and a journal has to be one; move it away`, EXIT.inputMissing);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return open(devNull, 'r');
    if (code === undefined) throw error;
    throw new UserError(`cannot read ${path} (${code}); mend its permissions`, EXIT.inputMissing);
  }
}

async function load<S>(
  path: string,
  handle: FileHandle,
  latest: Map<string, Latest<S>>,
  summarise: Summarise<S>,
  cut: (end: number) => Promise<void>,
): Promise<{ end: number; repaired?: string }> {
  const notes: string[] = [];
  const damaged: number[] = [];
  let end = (await handle.stat()).size;
  for await (const line of splitLines(
    handle.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES }),
  )) {
    if (!line.ended) {
      notes.push(`cut off a torn last line of ${line.bytes.length} bytes (its row is asked again)`);
      end = line.offset;
      await cut(end);
      break;
    }
    const record = readRecord(line.bytes);
    const summary = record && summaryOf(record, latest.get(record.id)?.summary, summarise);
    if (record === undefined || summary === undefined) damaged.push(line.number);
    else latest.set(record.id, { offset: line.offset, length: line.bytes.length, summary });
  }
  if (damaged.length > 0) notes.push(passedOver(damaged));
  return notes.length === 0 ? { end } : { end, repaired: `repaired ${path}: ${notes.join('; ')}` };
}

function passedOver(lines: readonly number[]): string {
  const named = [...lines.slice(0, MOST_NAMED), ...(lines.length > MOST_NAMED ? ['...'] : [])].join(', ');
  return lines.length === 1
    ? `passed over line ${named}, which is damaged (its row is asked again)`
    : `passed over ${lines.length} damaged lines (${named}; their rows are asked again)`;
}

/** Undefined where a record holds what no stage writes. */
function summaryOf<S>(record: JournalRecord, before: S | undefined, summarise: Summarise<S>): S | undefined {
  try {
    return summarise(record, before);
  } catch {
    return undefined;
  }
}
