// A process between the watch and a command: it ends the command, and everything that started, once the watch is gone.

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
  /** File for its standard input; empty if absent. */
  readonly input?: string;
  /** File for its standard output; the log if absent. */
  readonly output?: string;
  /** File that everything else is appended to. */
  readonly log: string;
}

/** Printed once, when the command has ended. */
export interface GuardReport {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the command could not be started. */
  readonly fault?: string;
}

/** A longer log is renamed to `LOG.1`, replacing the one before, so that both together stay below twice this. */
const MOST_LOG_BYTES = 5_000_000;
const LAST_WORDS_MS = 1_000;
/** After so many rounds of killing, gives up on a command that starts processes faster than they can be killed. */
const MOST_ROUNDS = 50;
/** In the environment of everything that the command starts, in its process group or not. */
const MARK = { AWB_GUARDED: randomUUID() };

// Written by the watch.
const { words, graceMs, input, output, log } = JSON.parse(process.argv[2] ?? '{}') as GuardTask;
const [file = '', ...args] = words;
let logFile = openSync(log, 'a');
let logged = fstatSync(logFile).size;
// In its own process group: a Ctrl-C at the terminal only reaches the watch, and the group can be killed as one.
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
  // Processes that it left running are killed with it. Its last output may still arrive, but a process that escaped may keep the pipes open.
  kill();
  Promise.race([once(child, 'close'), wait(LAST_WORDS_MS)]).then(() => report({ code, signal }));
});
process.stdout.on('error', () => {});
// The stream ends when the watch is gone, or wants the command to end.
process.stdin.resume().once('end', () => {
  send('SIGTERM');
  setTimeout(kill, graceMs).unref();
});

function report(said: GuardReport): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
  // Nothing else keeps this process alive.
  for (const stream of [process.stdin, child.stdout, child.stderr]) stream?.destroy();
}

/** A full disk stops the log, but not the command. */
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
    // A later piece may fit again.
  }
}

function kill(): void {
  for (let round = 0; round < MOST_ROUNDS && (round === 0 || strays().length > 0); round++) send('SIGKILL');
}

/** Signals the command's group, and processes that have left it. */
function send(signal: NodeJS.Signals): void {
  for (const pid of [...(child.pid === undefined ? [] : [-child.pid]), ...strays()]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended, or the group is empty.
    }
  }
}

/** Marked processes in other groups (on Linux, by /proc). Those in the group are left out: a second signal would cut off an orderly end. */
function strays(): number[] {
  return (existsSync('/proc') ? readdirSync('/proc') : []).flatMap((id) => {
    try {
      if (!readFileSync(`/proc/${id}/environ`, 'latin1').includes(MARK.AWB_GUARDED)) return [];
      const group = /^.*\) \S \d+ (\d+) /s.exec(readFileSync(`/proc/${id}/stat`, 'latin1'))?.[1];
      return group === String(child.pid) ? [] : Number(id);
    } catch {
      // Not a process, gone, or another user's.
      return [];
    }
  });
}
