// A process between the watch and a command: it ends the command, and all that this has started, once the watch is gone.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { BoundedLog } from './log.js';

/** What it is told as its only argument. Its fourth descriptor is the log, its fifth takes what the command prints. */
export interface GuardTask {
  readonly words: readonly string[];
  /** Milliseconds between asking the command to end and ending it. */
  readonly graceMs: number;
  /** Whether there is a fifth descriptor; else what it prints goes to the log as well. */
  readonly hasOutput: boolean;
}

/** What it says on its standard output, once, when the command has ended. */
export interface GuardReport {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the command could not be started. */
  readonly fault?: string;
}

const LOG_FD = 3;
const OUTPUT_FD = 4;
/** What is still on its way into the log when the command has ended gets this long. */
const LAST_WORDS_MS = 1_000;
/** What starts processes faster than they can be ended is given up. */
const MOST_ROUNDS = 50;
/** Stands in the environment of whatever the command starts, in the same group or not. */
const MARK = { AWB_GUARDED: randomUUID() };

// The watch has written it.
const { words, graceMs, hasOutput } = JSON.parse(process.argv[2] ?? '{}') as GuardTask;
const [file = '', ...args] = words;
// In a group of its own: a Ctrl-C at the terminal reaches the watch alone, and the whole group can be ended.
const child = spawn(file, args, {
  detached: true,
  stdio: ['pipe', hasOutput ? OUTPUT_FD : 'pipe', 'pipe'],
  env: { ...process.env, ...MARK },
});
/** Whatever it was seen to have started, by process id: when, so that another process of that id is left alone. */
const known = new Map<number, string>();
const log = new BoundedLog(LOG_FD);
for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece: Buffer) => log.write(piece));
child.once('error', ({ message }) => report({ code: null, signal: null, fault: message }));
child.once('exit', (code, signal) => {
  // What it has left running belongs to it.
  kill();
  const late = setTimeout(() => report({ code, signal }), LAST_WORDS_MS);
  child.once('close', () => {
    clearTimeout(late);
    report({ code, signal });
  });
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
    send('SIGTERM');
    setTimeout(kill, graceMs).unref();
  });
}

function report(said: GuardReport): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
  // Nothing else keeps this process.
  for (const stream of [process.stdin, child.stdout, child.stderr]) stream?.destroy();
}

function kill(): void {
  let rounds = 0;
  do send('SIGKILL');
  while (++rounds < MOST_ROUNDS && descendants().size > 0);
}

/** To the command's group, and to what has left it: a second signal would cut short what ends in order. */
function send(signal: NodeJS.Signals): void {
  for (const [pid, start] of descendants()) known.set(pid, start);
  if (child.pid !== undefined) signalTo(-child.pid, signal);
  for (const [pid, start] of known) {
    const stat = statOf(pid);
    if (stat?.start === start && stat.group !== child.pid) signalTo(pid, signal);
  }
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, or the group is empty.
  }
}

/**
 * The processes that stem from the command, with their start, as far as the system tells (Linux): those that have one of them as their
 * parent, and those that have lost theirs and carry the mark.
 */
function descendants(): Map<number, string> {
  const found = new Map<number, string>();
  const others = new Map<number, Stat>();
  for (const name of readdirOf('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) && pid !== process.pid ? statOf(pid) : undefined;
    if (stat === undefined) continue;
    const isOurs = stat.parent === process.pid || textOf(`/proc/${pid}/environ`).includes(MARK.AWB_GUARDED);
    if (isOurs) found.set(pid, stat.start);
    else others.set(pid, stat);
  }
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [pid, { parent, start }] of others) if (found.has(parent)) found.set(pid, start);
  }
  return found;
}

interface Stat {
  readonly parent: number;
  readonly group: number;
  /** When it started. */
  readonly start: string;
}

/** Undefined for a process that is gone, or has ended and is not collected yet. */
function statOf(pid: number): Stat | undefined {
  // Behind its name, which may hold anything: state, parent and group, and 16 fields later the time at which it started.
  const fields = /^.*\) (\S) (\d+) (\d+) (?:\S+ ){16}(\d+) /s.exec(textOf(`/proc/${pid}/stat`));
  const [, state, parent, group, start] = fields ?? [];
  return start === undefined || state === 'Z' ? undefined : { parent: Number(parent), group: Number(group), start };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function readdirOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
