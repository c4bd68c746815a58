// The log of a watch: a JSON line for each thing that happens in watch.jsonl, and the same as a line for people on stderr.

import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../errors.js';
import { oneLine } from '../printable.js';
import type { TextSink } from '../types.js';

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
