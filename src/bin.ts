#!/usr/bin/env node
// The process: Node's version, argv, environment, signals and exit code. Nothing else ends the process.

import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { outlivesHangUp } from './cli/hang-up.js';
import { EXIT, exitCodeOf } from './core/errors.js';
import type { Io, TextSink } from './core/types.js';

// The imports above are types and what an old Node can parse, so that it reaches the message below.
const OLDEST = [20, 20];
/** `npm` and `npx` forward a Ctrl-C that the terminal has already delivered; two within this time count as one. */
const SAME_SIGNAL_MS = 100;

const version = process.versions.node.split('.').map(Number);
const isOld =
  version[0] === OLDEST[0] ? Number(version[1]) < Number(OLDEST[1]) : Number(version[0]) < Number(OLDEST[0]);
if (isOld) {
  process.stderr.write(
    `awb: Node.js ${OLDEST.join('.')} or later is required, but this is ${process.version}; ` +
      'install a current version from https://nodejs.org and try again\n',
  );
  process.exitCode = EXIT.unexpected;
} else {
  run();
}

function run(): void {
  let lastWords = 'stopped immediately';
  const io: Io = {
    stdout: sink(process.stdout),
    // Output redrawn in place would be garbled on a terminal whose cursor cannot move.
    stderr: sink(process.stderr, process.env.TERM !== 'dumb'),
    env: process.env,
    cwd: process.cwd(),
    stop: stopSignal(() => lastWords),
    setLastWords(words) {
      lastWords = words;
    },
    stdinClosed: () =>
      new Promise((done) => {
        // Waiting for the end must not keep the process alive. Contrary to its type, stdin from a file has no `unref`.
        (process.stdin as { unref?: () => void }).unref?.();
        process.stdin
          .once('end', () => done(undefined))
          .once('error', () => done(undefined))
          .resume();
      }),
    input: () => process.stdin,
  };
  // A reader that closed the pipe (awb score | head) does not matter. A full disk spoils the result.
  let outputFault: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') outputFault = error;
  });
  process.stderr.on('error', () => {});
  process.on('exit', () => {
    if (outputFault === undefined) return;
    process.stderr.write(`awb: cannot write the output: ${outputFault.message}\n`);
    if (!process.exitCode) process.exitCode = EXIT.cannotWrite;
  });
  // Hundreds of megabytes of rows pass through and little is kept, but V8 lets the heap grow while memory is free.
  // This keeps peak memory independent of the amount of data, for about a fifth more CPU time (bench/README.md).
  setFlagsFromString('--heap-growing-percent=40');
  import('./cli.js')
    .then(({ main }) => main(process.argv.slice(2), io))
    .then((exitCode) => {
      process.exitCode = exitCode;
    });
}

function sink(stream: NodeJS.WriteStream, isScreen = true): TextSink & { readonly rows: number } {
  return {
    write: (text) => {
      stream.write(text);
    },
    isTTY: Boolean(stream.isTTY) && isScreen,
    // Read each time, since a terminal may be resized. Some pseudo-terminals report 0.
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

/**
 * Aborted by the first signal, with the signal's name as its reason. The second prints the last words and ends the process.
 * SIGHUP counts as SIGTERM, and is ignored under nohup.
 */
function stopSignal(lastWords: () => string): AbortSignal {
  const controller = new AbortController();
  let firstAt = 0;
  const outlives = outlivesHangUp(process.env);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && outlives) return;
      if (!controller.signal.aborted) {
        firstAt = performance.now();
        controller.abort(signal === 'SIGHUP' ? 'SIGTERM' : signal);
      } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
        sayAtOnce(`awb: ${lastWords()}\n`);
        process.exit(exitCodeOf(signal));
      }
    });
  }
  return controller.signal;
}

/** Bypasses the stream's buffer, which would be lost with the process. Writes nothing if the pipe is full or the terminal closed. */
function sayAtOnce(text: string): void {
  try {
    writeSync(process.stderr.fd, text);
  } catch {
    // The exit code is enough.
  }
}
