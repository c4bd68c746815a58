// The run's evidence: an append-only JSONL file that survives a kill and knows what is done.

import { isUtf8 } from 'node:buffer';
import { constants, fdatasync, fstatSync, ftruncate, readSync, write } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { EXIT, UserError } from '../errors.js';
import { isObject } from '../json.js';
import { splitLines } from '../lines.js';
import { syncFolder } from './files.js';

/** One finished row. A later record with the same id replaces an earlier one. */
export interface JournalRecord {
  readonly id: string;
  /** What goes into the output row: members that are added to the input row's own. */
  readonly row: Readonly<Record<string, unknown>>;
  /** What it cost: attempts, tokens, times. Never part of the output row. */
  readonly log: Readonly<Record<string, unknown>>;
}

/** What is kept in memory of a record: where it lies, and the caller's summary of it. */
export interface JournalEntry<S> {
  readonly offset: number;
  readonly length: number;
  readonly summary: S;
}

export interface Journal<S> {
  /** The latest record of each id. */
  readonly entries: ReadonlyMap<string, JournalEntry<S>>;
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

const writeAt = promisify(write);
const syncData = promisify(fdatasync);
const truncateTo = promisify(ftruncate);

/** How many damaged lines are named. */
const MOST_NAMED = 10;

/**
 * Opens a journal, creating it where there is none. A torn last line (a kill or a full disk in the middle of a write) is cut off;
 * lines that are damaged (no record, or not the one that was written) are passed over. Both are said in `repaired`.
 * @throws UserError (73) where the file cannot be opened for writing, or is no regular file.
 */
export async function openJournal<S>(path: string, summarise: (record: JournalRecord) => S): Promise<Journal<S>> {
  const handle = await openForAppend(path);
  const entries = new Map<string, JournalEntry<S>>();
  const { end, repaired } = await load(path, handle, entries, summarise);
  const appender = new Appender(handle, path, end);
  return {
    entries,
    ...(repaired === undefined ? {} : { repaired }),
    async append(record) {
      const line = sealed(record);
      const offset = await appender.append(line);
      const summary = summarise(record);
      entries.set(record.id, { offset, length: line.length - 1, summary });
      return summary;
    },
    read(id) {
      const entry = entries.get(id);
      if (entry === undefined) throw new Error(`no journal record for ${id}`);
      const bytes = Buffer.allocUnsafe(entry.length);
      readSync(handle.fd, bytes, 0, entry.length, entry.offset);
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
    // 'a+' alone would ignore the position of writes; 'r+' does not create, and a FIFO would keep it waiting without O_NONBLOCK.
    const handle = await open(path, constants.O_RDWR | (constants.O_NONBLOCK ?? 0)).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return open(path, 'wx+');
      },
    );
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
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UserError(
      `cannot open ${path} for writing (${code}); choose another --output-dir or mend its permissions`,
      EXIT.cannotCreate,
    );
  }
}

async function load<S>(
  path: string,
  handle: FileHandle,
  entries: Map<string, JournalEntry<S>>,
  summarise: (record: JournalRecord) => S,
): Promise<{ end: number; repaired?: string }> {
  const notes: string[] = [];
  const damaged: number[] = [];
  let end = (await handle.stat()).size;
  for await (const line of splitLines(
    handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 1 << 20 }),
  )) {
    if (!line.ended) {
      notes.push(`cut off a torn last line of ${line.bytes.length} bytes (its row is asked again)`);
      end = line.offset;
      await handle.truncate(end);
      break;
    }
    const record = readRecord(line.bytes);
    const summary = record && summaryOf(record, summarise);
    if (record === undefined || summary === undefined) damaged.push(line.number);
    else entries.set(record.id, { offset: line.offset, length: line.bytes.length, summary });
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
function summaryOf<S>(record: JournalRecord, summarise: (record: JournalRecord) => S): S | undefined {
  try {
    return summarise(record);
  } catch {
    return undefined;
  }
}

/** Behind a record's own members: the CRC-32 of the line's bytes before it, in eight hex digits. */
const SEAL = /^,"crc":"([0-9a-f]{8})"\}$/;
const SEAL_BYTES = ',"crc":"00000000"}'.length;
const OWN_MEMBERS = 3;
const SPACE = 0x20;
const TAB = 0x09;
const CARRIAGE_RETURN = 0x0d;

/** A record as its line: JSON with a checksum as its last member, which is written over a placeholder: records can be long. */
function sealed({ id, row, log }: JournalRecord): Buffer {
  const line = Buffer.from(`${JSON.stringify({ id, row, log, crc: '00000000' })}\n`);
  const checksum = crc32(line.subarray(0, -1 - SEAL_BYTES))
    .toString(16)
    .padStart(8, '0');
  line.write(checksum, line.length - '00000000"}\n'.length, 'latin1');
  return line;
}

/** The record of a line; undefined where it is none, or not what was written. Lines of earlier versions have no checksum. */
function readRecord(bytes: Uint8Array): JournalRecord | undefined {
  // A torn line of spaces may stand before it.
  const start = bytes.findIndex((byte) => byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN);
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(Math.max(0, start));
  const seal = SEAL.exec(line.toString('latin1', Math.max(0, line.length - SEAL_BYTES)));
  if (seal !== null && crc32(line.subarray(0, -SEAL_BYTES)) !== Number.parseInt(seal[1] as string, 16))
    return undefined;
  if (!isUtf8(line)) return undefined;
  try {
    const value = JSON.parse(line.toString('utf8'));
    const usable = typeof value.id === 'string' && isObject(value.row) && isObject(value.log);
    // With more members than its own, it had a checksum that is damaged itself.
    if (!usable || (seal === null && Object.keys(value).length !== OWN_MEMBERS)) return undefined;
    return { id: value.id, row: value.row, log: value.log };
  } catch {
    return undefined;
  }
}

interface Waiting {
  readonly line: Buffer;
  readonly done: (offset: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Group commit: whatever waits while one write is synced goes out together with the next. */
class Appender {
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #broken: UserError | undefined;
  readonly #links: number;

  constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
    private end: number,
  ) {
    this.#links = fstatSync(handle.fd).nlink;
  }

  append(line: Buffer): Promise<number> {
    return new Promise((done, failed) => {
      this.#waiting.push({ line, done, failed });
      this.#flushing ??= this.#flush();
    });
  }

  async idle(): Promise<void> {
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    // One turn of the event loop lets calls that end together share a write.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const start = this.end;
      try {
        if (this.#broken !== undefined) throw this.#broken;
        await this.#write(Buffer.concat(batch.map((waiting) => waiting.line)));
      } catch (error) {
        const failure = await this.#fail(error, start);
        for (const waiting of batch) waiting.failed(failure);
        continue;
      }
      let offset = start;
      for (const waiting of batch) {
        waiting.done(offset);
        offset += waiting.line.length;
      }
    }
    // In the same breath as the last look at what waits, or a record could come in between and wait for ever.
    this.#flushing = undefined;
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#requireUntouched();
    let written = 0;
    while (written < bytes.length) {
      const result = await writeAt(this.handle.fd, bytes, written, bytes.length - written, this.end + written);
      written += result.bytesWritten;
    }
    await syncData(this.handle.fd);
    this.end += bytes.length;
  }

  /** Whoever deletes or empties the journal under a run would have it go on paying for rows that nobody keeps. */
  #requireUntouched(): void {
    const { nlink, size } = fstatSync(this.handle.fd);
    if (size >= this.end && (nlink > 0 || this.#links === 0)) return;
    throw new UserError(
      `${this.path} was deleted or cut while the run was writing it; the rows in it are lost, so leave the output folder alone and run the same command again`,
      EXIT.cannotWrite,
    );
  }

  /** Takes a half-written batch off the file again: the disk may be full, but a shorter file always fits. */
  async #fail(error: unknown, start: number): Promise<UserError> {
    if (error instanceof UserError) this.#broken = error;
    if (this.#broken === undefined) {
      const { code } = error as NodeJS.ErrnoException;
      const cause = code === 'ENOSPC' ? 'the disk is full' : (code ?? String(error));
      await truncateTo(this.handle.fd, start).catch(() => undefined);
      this.#broken = new UserError(
        `cannot write ${this.path}: ${cause}; every row finished before is safe, so make room and run the same command again`,
        EXIT.cannotWrite,
      );
    }
    return this.#broken;
  }
}

/** The id of a row's repeat and, where its prediction was judged more than once, of the judgement; both are 0-based. */
export function recordId(key: string, repeat: number, index = 0): string {
  return index === 0 ? `${key}#${repeat}` : `${key}#${repeat}#${index}`;
}
