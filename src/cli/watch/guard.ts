// A process between the watch and a command: it ends the command, and all that this has started, once the watch is gone.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** Its only argument. */
export interface GuardTask {
  readonly words: readonly string[];
  /** Milliseconds between asking the command to end and ending it. */
  readonly graceMs: number;
  /** The file that is its standard input; empty where absent. */
  readonly input?: string;
  /** The file that what the command prints is written to; the log where absent. */
  readonly output?: string;
  /** The file that everything else it writes is appended to. */
  readonly log: string;
}

/** Printed once, when the command has ended. */
export interface GuardReport {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the command could not be started. */
  readonly fault?: string;
}

/** A log that is longer takes the place of the one before it (`LOG.1`), so that both together stay below twice this. */
const MOST_LOG_BYTES = 5_000_000;
const LAST_WORDS_MS = 1_000;
/** A command that starts processes faster than they can be ended is given up. */
const MOST_ROUNDS = 50;
/** Stands in the environment of all that the command starts, in its group or not. */
const MARK = { AWB_GUARDED: randomUUID() };

// The watch has written it.
const { words, graceMs, input, output, log } = JSON.parse(process.argv[2] ?? '{}') as GuardTask;
const [file = '', ...args] = words;
let logFile = openSync(log, 'a');
let logged = fstatSync(logFile).size;
// In a group of its own: a Ctrl-C at the terminal reaches the watch alone, and the whole group can be ended.
const child = spawn(file, args, {
  detached: true,
  stdio: [
    input === undefined ? 'ignore' : openSync(input, 'r'),
    output === undefined ? 'pipe' : openSync(output, 'w'),
    'pipe',
  ],
  env: { ...process.env, ...MARK },
});
for (const stream of [child.stdout, child.stderr]) stream?.on('data', writeLog);
child.once('error', ({ message }) => report({ code: null, signal: null, fault: message }));
child.once('exit', (code, signal) => {
  // What it has left running belongs to it. Its last words are still on their way, and what got away may hold the pipes for ever.
  kill();
  Promise.race([once(child, 'close'), wait(LAST_WORDS_MS)]).then(() => report({ code, signal }));
});
process.stdout.on('error', () => {});
// The end of the stream is the end of the watch, or its wish.
process.stdin.resume().once('end', () => {
  send('SIGTERM');
  setTimeout(kill, graceMs).unref();
});

function report(said: GuardReport): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
  // Nothing else keeps this process.
  for (const stream of [process.stdin, child.stdout, child.stderr]) stream?.destroy();
}

/** A full disk costs the log, and not the command. */
function writeLog(piece: Uint8Array): void {
  try {
    logged += writeSync(logFile, piece);
    if (logged < MOST_LOG_BYTES) return;
    renameSync(log, `${log}.1`);
    const before = logFile;
    logFile = openSync(log, 'a');
    logged = 0;
    closeSync(before);
  } catch {
    // The next piece may fit.
  }
}

function kill(): void {
  for (let round = 0; round < MOST_ROUNDS && (round === 0 || strays().length > 0); round++) send('SIGKILL');
}

/** To the command's group, and to what has left it. */
function send(signal: NodeJS.Signals): void {
  for (const pid of [...(child.pid === undefined ? [] : [-child.pid]), ...strays()]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It is gone, or the group is empty.
    }
  }
}

/** All that carries the mark (on Linux, where /proc tells) and is in another group: a second signal would cut short what ends in order. */
function strays(): number[] {
  const ids = existsSync('/proc') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  const textOf = (path: string) => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return '';
    }
  };
  return ids
    .filter((id) => textOf(`/proc/${id}/environ`).includes(MARK.AWB_GUARDED))
    .filter((id) => /^.*\) \S \d+ (\d+) /s.exec(textOf(`/proc/${id}/stat`))?.[1] !== String(child.pid))
    .map(Number);
}
