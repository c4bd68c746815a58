// The run's evidence: an append-only JSONL file that survives a kill and knows what is done.

import { isUtf8 } from 'node:buffer';
import { createReadStream, fdatasync, fstatSync, ftruncate, readSync, write } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { EXIT, UserError } from '../errors.js';
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
  /** Resolves once the record is on the disk (fdatasync); many waiting records share one write. Rejects with a UserError (74). */
  append(record: JournalRecord): Promise<void>;
  /** The latest record of an id. */
  read(id: string): JournalRecord;
  close(): Promise<void>;
}

const writeAt = promisify(write);
const syncData = promisify(fdatasync);
const truncateTo = promisify(ftruncate);

/**
 * Opens a journal, creating it where there is none. A torn last line (a kill or a full disk in the middle of a write) is cut off;
 * lines that are not records are passed over. Both are said in `repaired`.
 * @throws UserError (73) where the file cannot be opened for writing.
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
      const line = Buffer.from(`${JSON.stringify(record)}\n`);
      const offset = await appender.append(line);
      entries.set(record.id, { offset, length: line.length - 1, summary: summarise(record) });
    },
    read(id) {
      const entry = entries.get(id);
      if (entry === undefined) throw new Error(`no journal record for ${id}`);
      const bytes = Buffer.allocUnsafe(entry.length);
      readSync(handle.fd, bytes, 0, entry.length, entry.offset);
      return JSON.parse(bytes.toString('utf8')) as JournalRecord;
    },
    async close() {
      await appender.idle();
      await handle.close();
    },
  };
}

async function openForAppend(path: string): Promise<FileHandle> {
  try {
    // 'a+' alone would ignore the position of writes; 'r+' does not create.
    const handle = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return open(path, 'wx+');
    });
    await syncFolder(dirname(path));
    return handle;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
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
  let strange = 0;
  let end = (await handle.stat()).size;
  for await (const line of splitLines(createReadStream(path, { highWaterMark: 1 << 20 }))) {
    if (!line.ended) {
      notes.push(`cut off a torn last line of ${line.bytes.length} bytes (its row is asked again)`);
      end = line.offset;
      await handle.truncate(end);
      break;
    }
    const read = readRecord(line.bytes, summarise);
    if (read === undefined) strange++;
    else entries.set(read.id, { offset: line.offset, length: line.bytes.length, summary: read.summary });
  }
  if (strange > 0) notes.push(`passed over ${strange} line${strange === 1 ? '' : 's'} that cannot be read`);
  return notes.length === 0 ? { end } : { end, repaired: `repaired ${path}: ${notes.join('; ')}` };
}

/** Undefined where the line is no record, which includes one that cannot be summarised. */
function readRecord<S>(
  bytes: Uint8Array,
  summarise: (record: JournalRecord) => S,
): { id: string; summary: S } | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
    const usable = typeof value.id === 'string' && typeof value.row === 'object' && typeof value.log === 'object';
    return usable ? { id: value.id, summary: summarise(value) } : undefined;
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

/** The id of a row asked for the given (0-based) time. */
export function recordId(key: string, repeat: number): string {
  return `${key}#${repeat}`;
}
