// Where the lines of `--events` go: a file, a FIFO or a device, written so that nothing there can hold up the run.

import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, statSync, write } from 'node:fs';
import { codeOf, EXIT, UserError } from '../../errors.js';

const EVENTS_SCHEMA = 'awb.events/1';
/** Every line begins so: what else ends without a newline is not ours to cut off. */
const LINE_START = `{"v":"${EVENTS_SCHEMA}"`;
/** What waits for a slow reader. Beyond it lines are left out, and counted. */
const MOST_WAITING_CHARS = 4_000_000;
const MOST_AT_ONCE = 1_000;
const TAIL_BYTES = 1 << 20;
const RETRY_MS = 50;
/** How long the end of a run waits for whoever reads. */
const LAST_WAIT_MS = 1_000;

/** What every line tells: which run, and when (ISO 8601). */
interface RunEvent {
  readonly type: string;
  readonly at: string;
  readonly run: { readonly kind: string; readonly dir: string; readonly label?: string };
}

export interface EventSink {
  write(event: RunEvent): void;
  /** Resolves once everything is written, or cannot be soon. */
  close(): Promise<void>;
}

/** What a sink tells the user, once each. */
interface SinkWords {
  /** The name that the user gave it. */
  readonly name: string;
  say(text: string): void;
}

/**
 * Opens the file for appending; a FIFO is opened once somebody reads it. A line that an earlier process has torn is cut off.
 * @param path absolute
 * @throws UserError (2) for a file of something else, (73) where it cannot be opened
 */
export function openSink(path: string, words: SinkWords): EventSink {
  return new Sink(path, words);
}

class Sink implements EventSink {
  #fd: number | undefined;
  #lines: string[] = [];
  #chars = 0;
  #lost = 0;
  /** What of a line a FIFO has not taken yet. */
  #rest: Buffer | undefined;
  #pumping: Promise<void> | undefined;
  #isOver = false;
  #isClosing = false;
  readonly #said = new Set<string>();

  constructor(
    private readonly path: string,
    private readonly words: SinkWords,
  ) {
    this.#fd = this.#opened(true);
  }

  write(event: RunEvent): void {
    if (this.#isOver) return;
    if (this.#chars > MOST_WAITING_CHARS) {
      this.#lost++;
      return;
    }
    const { at, run } = event;
    if (this.#lost > 0) this.#put({ type: 'lost', at, run, lines: this.#lost });
    this.#lost = 0;
    this.#put(event);
    this.#pumping ??= this.#pump();
  }

  #put(event: object): void {
    const line = `${JSON.stringify({ v: EVENTS_SCHEMA, ...event })}\n`;
    this.#lines.push(line);
    this.#chars += line.length;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((done) => {
      timer = setTimeout(done, LAST_WAIT_MS);
    });
    await Promise.race([this.#pumping, late]);
    clearTimeout(timer);
    const isBusy = this.#pumping !== undefined;
    this.#isOver = true;
    // A write that hangs in the system keeps its file.
    if (this.#fd !== undefined && !isBusy) closeSync(this.#fd);
  }

  async #pump(): Promise<void> {
    // What one turn of the event loop brings goes out together.
    await new Promise(setImmediate);
    while (!this.#isOver && (this.#rest !== undefined || this.#lines.length > 0)) {
      try {
        this.#fd ??= this.#opened(false);
        if (this.#fd === undefined) await this.#patience('nobody reads it yet; the run does not wait for a reader');
        else await this.#writeSome(this.#fd);
      } catch (error) {
        await this.#bear(error);
      }
    }
    this.#pumping = undefined;
  }

  async #writeSome(fd: number): Promise<void> {
    if (this.#rest === undefined) {
      const lines = this.#lines.splice(0, MOST_AT_ONCE);
      this.#rest = Buffer.from(lines.join(''));
      for (const { length } of lines) this.#chars -= length;
    }
    const bytes = this.#rest;
    const written = await new Promise<number>((done, failed) => {
      write(fd, bytes, 0, bytes.length, null, (error, count) => (error === null ? done(count) : failed(error)));
    });
    this.#rest = written < bytes.length ? bytes.subarray(written) : undefined;
  }

  /** A FIFO that is full, or that nobody reads any more, is tried again; anything else ends the events. */
  async #bear(error: unknown): Promise<void> {
    const code = codeOf(error);
    if (code === 'EAGAIN') return this.#patience();
    if (code === 'EPIPE') {
      if (this.#fd !== undefined) closeSync(this.#fd);
      this.#fd = undefined;
      // Its next reader begins with a whole line.
      this.#rest = undefined;
      return this.#patience('nobody reads it any more; the run goes on');
    }
    this.#isOver = true;
    this.#say(`${code === 'ENOSPC' ? 'the disk is full' : (code ?? String(error))}; the run goes on without events`);
  }

  async #patience(why?: string): Promise<void> {
    if (why !== undefined && !this.#isClosing) this.#say(why);
    await new Promise<void>((done) => {
      // The run's end does not wait for it.
      setTimeout(done, RETRY_MS).unref();
    });
  }

  #say(why: string): void {
    if (this.#said.has(why)) return;
    this.#said.add(why);
    this.words.say(`cannot write --events ${this.words.name}: ${why}`);
  }

  /** Undefined for a FIFO without a reader. */
  #opened(isFirst: boolean): number | undefined {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0 } = constants;
    try {
      if (isFirst) mendTail(this.path, this.words.name);
      return openSync(this.path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o666);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENXIO') return undefined;
      if (!isFirst || code === undefined) throw error;
      throw new UserError(
        `cannot open --events ${this.words.name} for writing (${code}); name a file in a folder that exists and can be written`,
        EXIT.cannotCreate,
      );
    }
  }
}

/**
 * Cuts off a line that a killed process or a full disk has torn, so that the file stays JSON lines.
 * @throws UserError (2) for a file that holds something else: it would be spoilt
 */
function mendTail(path: string, name: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.size === 0) return;
  const fd = openSync(path, 'r+');
  try {
    const { size } = fstatSync(fd);
    const head = read(fd, 0, LINE_START.length);
    if (!LINE_START.startsWith(head)) {
      throw new UserError(`--events ${name} holds something else than events, and is left as it is; name another file`);
    }
    const from = Math.max(0, size - TAIL_BYTES);
    const tail = read(fd, from, size - from);
    const end = tail.lastIndexOf('\n') + 1;
    const torn = tail.slice(end);
    const isOurs = LINE_START.startsWith(torn.slice(0, LINE_START.length));
    // Another run that appends to the same file may have written on.
    if (torn !== '' && isOurs && fstatSync(fd).size === size) ftruncateSync(fd, from + end);
  } finally {
    closeSync(fd);
  }
}

/** A character a byte, so that lengths are places in the file. */
function read(fd: number, from: number, length: number): string {
  const bytes = Buffer.alloc(length);
  return bytes.toString('latin1', 0, readSync(fd, bytes, 0, length, from));
}
