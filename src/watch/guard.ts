// A process between the watch and a command: it ends the command, and all that this has started, once the watch is gone.

import { type ChildProcess, spawn } from 'node:child_process';

/** What it is told as its only argument. Its fourth and fifth descriptors take what the command writes. */
export interface GuardTask {
  readonly words: readonly string[];
  /** Milliseconds between asking the command to end and ending it. */
  readonly graceMs: number;
}

/** What it says on its standard output, once, when the command has ended. */
export interface GuardReport {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the command could not be started. */
  readonly fault?: string;
}

const OUTPUT_FD = 3;
const ERRORS_FD = 4;

// The watch has written it.
const { words, graceMs } = JSON.parse(process.argv[2] ?? '{}') as GuardTask;
const [file = '', ...args] = words;
// In a group of its own: a Ctrl-C at the terminal reaches the watch alone, and the whole group can be ended.
const child = spawn(file, args, { detached: true, stdio: ['pipe', OUTPUT_FD, ERRORS_FD] });
child.once('error', ({ message }) => report({ code: null, signal: null, fault: message }));
child.once('exit', (code, signal) => {
  // What it has left running belongs to it.
  end(child, 'SIGKILL');
  report({ code, signal });
});
child.stdin?.on('error', () => {});
process.stdout.on('error', () => {});
guard();

/** The first line is the command's standard input, as JSON; the end of the stream is the end of the watch, or its wish. */
function guard(): void {
  let text = '';
  let isFed = false;
  process.stdin.setEncoding('utf8').on('data', (piece: string) => {
    if (isFed) return;
    text += piece;
    const at = text.indexOf('\n');
    if (at < 0) return;
    isFed = true;
    // A line of the watch is a JSON string.
    child.stdin?.end(JSON.parse(text.slice(0, at)) as string);
  });
  process.stdin.once('end', () => {
    end(child, 'SIGTERM');
    setTimeout(() => end(child, 'SIGKILL'), graceMs).unref();
  });
}

function report(said: GuardReport): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
  // Nothing else keeps this process.
  process.stdin.destroy();
}

function end({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty.
  }
}
