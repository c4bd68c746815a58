// What a command is given of its process, for tests of what stands below the commands.

import type { Io, TextSink } from '../../src/core/types.js';

/** A process in this folder, of which nobody reads the output. */
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
