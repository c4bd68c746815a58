// A process between the watch and a command: it ends the command, and the process group of it, once the watch is gone.

import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';

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

// The watch has written it.
const { words, graceMs, input, output, log } = JSON.parse(process.argv[2] ?? '{}') as GuardTask;
const [file = '', ...args] = words;
const logFile = openSync(log, 'a');
// In a group of its own: a Ctrl-C at the terminal reaches the watch alone, and the whole group can be ended.
const child = spawn(file, args, {
  detached: true,
  stdio: [
    input === undefined ? 'ignore' : openSync(input, 'r'),
    output === undefined ? logFile : openSync(output, 'w'),
    logFile,
  ],
});
child.once('error', ({ message }) => report({ code: null, signal: null, fault: message }));
child.once('exit', (code, signal) => {
  // What it has left running belongs to it.
  send('SIGKILL');
  report({ code, signal });
});
process.stdout.on('error', () => {});
// The end of the stream is the end of the watch, or its wish.
process.stdin.resume().once('end', () => {
  send('SIGTERM');
  setTimeout(() => send('SIGKILL'), graceMs).unref();
});

function report(said: GuardReport): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
  // Nothing else keeps this process.
  process.stdin.destroy();
}

/** To the command's group. */
function send(signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // The group is empty.
  }
}
