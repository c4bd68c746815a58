// The process that a command sees, for tests of code below the commands.

import type { Io, TextSink } from '../../src/core/types.js';

/** A process in this folder whose output is discarded. */
export function ioIn(cwd: string): Io {
  const nowhere: TextSink = { isTTY: false, columns: 80, write() {} };
  return {
    stdout: nowhere,
    stderr: nowhere,
    env: {},
    cwd,
    stop: new AbortController().signal,
    setLastWords() {},
    stdinClosed: () => new Promise(() => {}),
  };
}
