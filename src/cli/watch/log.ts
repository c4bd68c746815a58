// The logs of a watch: a JSON line for each thing that happens in watch.jsonl, the same as a line for people on stderr, and what commands write.

import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../core/errors.js';
import { oneLine } from '../../core/printable.js';
import type { TextSink } from '../../core/types.js';

const SCHEMA = 'awb.watch/1';
const LONGEST_COLUMNS = 400;

type WatchEvent = 'started' | 'serving' | 'step' | 'awaiting' | 'result' | 'failed' | 'command' | 'stopped';

export interface WatchLog {
  /** Members beside the text are for programs. */
  say(type: WatchEvent, text: string, members?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** A log that cannot be written is told once, and stops nothing. */
export function openLog(outputDir: string, stderr: TextSink, quiet: boolean): WatchLog {
  const path = join(outputDir, 'watch.jsonl');
  let isBroken = false;
  return {
    async say(type, text, members = {}) {
      const at = new Date().toISOString();
      const line = oneLine(text, LONGEST_COLUMNS);
      if (!quiet) stderr.write(`${at.slice(0, 19)}Z ${line}\n`);
      try {
        await appendFile(path, `${JSON.stringify({ v: SCHEMA, type, at, text: line, ...members })}\n`);
      } catch (error) {
        if (!isBroken) stderr.write(`note: cannot write ${path} (${codeOf(error)}); the watch goes on without it\n`);
        isBroken = true;
      }
    },
  };
}

/** What a log keeps of its beginning, and of its end at least: at most twice that. */
const HEAD_BYTES = 1_000_000;
const TAIL_BYTES = 4_000_000;
const CUT = '\n[awb: the log was too long, and what stood here was cut out]\n';
const LINE_FEED = 0x0a;

/** A file that a command may write to without end: its first megabyte stays, and the latest lines. */
export class BoundedLog {
  readonly #fd: number;
  #size: number;

  /** @param fd open for reading and appending */
  constructor(fd: number) {
    this.#fd = fd;
    this.#size = fstatSync(fd).size;
  }

  /** A full disk costs the log, and not the command. */
  write(piece: Uint8Array): void {
    try {
      this.#append(piece);
      if (this.#size > HEAD_BYTES + 2 * TAIL_BYTES) this.#cut();
    } catch {
      // The next piece may fit.
    }
  }

  #append(piece: Uint8Array): void {
    for (let from = 0; from < piece.length; ) {
      const written = writeSync(this.#fd, piece, from);
      from += written;
      this.#size += written;
    }
  }

  #cut(): void {
    const tail = Buffer.alloc(TAIL_BYTES);
    const bytes = readSync(this.#fd, tail, 0, TAIL_BYTES, this.#size - TAIL_BYTES);
    ftruncateSync(this.#fd, HEAD_BYTES);
    this.#size = HEAD_BYTES;
    this.#append(Buffer.from(CUT));
    this.#append(tail.subarray(tail.indexOf(LINE_FEED) + 1, bytes));
  }
}
