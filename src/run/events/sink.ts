// Where the lines of `--events` go: a file that is appended to; whatever becomes of it, the run goes on.

import { appendFileSync, closeSync, fstatSync, ftruncateSync, openSync, readSync, statSync } from 'node:fs';
import { codeOf, EXIT, UserError } from '../../core/errors.js';

const EVENTS_SCHEMA = 'awb.events/1';
/** Every line begins so: what else ends without a newline is not ours to cut off. */
const LINE_START = `{"v":"${EVENTS_SCHEMA}"`;
const TAIL_BYTES = 1 << 20;

/** What every line tells: which run, and when (ISO 8601). */
interface RunEvent {
  readonly type: string;
  readonly at: string;
  readonly run: { readonly kind: string; readonly dir: string; readonly label?: string };
}

/** What a sink tells the user. */
interface SinkWords {
  /** The name that the user gave it. */
  readonly name: string;
  say(text: string): void;
}

/**
 * Opens the file for appending. A line that an earlier process has torn is cut off.
 * @param path absolute
 * @throws UserError (2) for a file of something else, (73) where it cannot be opened
 */
export function openSink(path: string, { name, say }: SinkWords): { write(event: RunEvent): void; close(): void } {
  const fd = openedFile(path, name);
  let isOver = false;
  return {
    write(event) {
      if (isOver) return;
      try {
        appendFileSync(fd, `${JSON.stringify({ v: EVENTS_SCHEMA, ...event })}\n`);
      } catch (error) {
        const code = codeOf(error);
        const why = code === 'ENOSPC' ? 'the disk is full' : (code ?? String(error));
        isOver = true;
        say(`cannot write --events ${name}: ${why}; the run goes on without events`);
      }
    },
    close() {
      isOver = true;
      closeSync(fd);
    },
  };
}

function openedFile(path: string, name: string): number {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFIFO()) {
      throw new UserError(`--events ${name} is a FIFO; name a file, which others can follow with tail -f`);
    }
    cutTornLine(path, name);
    return openSync(path, 'a', 0o666);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new UserError(
      `cannot open --events ${name} for writing (${code}); name a file in a folder that exists and can be written`,
      EXIT.cannotCreate,
    );
  }
}

/**
 * Cuts off a line that a killed process or a full disk has torn, so that the file stays JSON lines.
 * @throws UserError (2) for a file that holds something else: it would be spoilt
 */
function cutTornLine(path: string, name: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size === 0) return;
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
