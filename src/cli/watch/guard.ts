// A process between the watch and a command: it ends the command, and all that this has started, once the watch is gone.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs';

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

/** A log keeps so much of its beginning, and between once and twice so much of its end. */
const HEAD_BYTES = 1_000_000;
const TAIL_BYTES = 4_000_000;
const CUT = '\n[awb: the log was too long, and what stood here was cut out]\n';
/** Output that is still on its way into the log when the command has ended gets this long. */
const LAST_WORDS_MS = 1_000;
/** A command that starts processes faster than they can be ended is given up. */
const MOST_ROUNDS = 50;
/** Stands in the environment of everything that the command starts, in the same group or not. */
const MARK = { AWB_GUARDED: randomUUID() };

// The watch has written it.
const { words, graceMs, input, output, log } = JSON.parse(process.argv[2] ?? '{}') as GuardTask;
const [file = '', ...args] = words;
const logFile = openSync(log, 'a+');
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
/** Whatever it was seen to have started, by process id: when, so that another process of that id is left alone. */
const known = new Map<number, string>();
for (const stream of [child.stdout, child.stderr]) stream?.on('data', writeLog);
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
    writeSync(logFile, piece);
    const { size } = fstatSync(logFile);
    if (size <= HEAD_BYTES + 2 * TAIL_BYTES) return;
    const tail = Buffer.alloc(TAIL_BYTES);
    const bytes = readSync(logFile, tail, 0, TAIL_BYTES, size - TAIL_BYTES);
    ftruncateSync(logFile, HEAD_BYTES);
    writeSync(logFile, CUT);
    writeSync(logFile, tail.subarray(tail.indexOf('\n') + 1, bytes));
  } catch {
    // The next piece may fit.
  }
}

function kill(): void {
  let rounds = 0;
  do send('SIGKILL');
  while (++rounds < MOST_ROUNDS && descendants(processes()).size > 0);
}

/** To the command's group, and to what has left it: a second signal would cut short what ends in order. */
function send(signal: NodeJS.Signals): void {
  const all = processes();
  for (const [pid, { start }] of descendants(all)) known.set(pid, start);
  const strays = [...all].filter(([pid, { start, group }]) => known.get(pid) === start && group !== child.pid);
  for (const pid of [...(child.pid === undefined ? [] : [-child.pid]), ...strays.map(([pid]) => pid)]) {
    try {
      process.kill(pid, signal);
    } catch {
      // It is gone, or the group is empty.
    }
  }
}

interface Stat {
  readonly parent: number;
  readonly group: number;
  /** When it started. */
  readonly start: string;
}

/** The processes that stem from the command: children of one of them, and orphans that carry the mark. */
function descendants(all: ReadonlyMap<number, Stat>): ReadonlyMap<number, Stat> {
  const isMarked = (pid: number) => textOf(`/proc/${pid}/environ`).includes(MARK.AWB_GUARDED);
  const found = new Map([...all].filter(([pid, { parent }]) => parent === process.pid || isMarked(pid)));
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [pid, stat] of all) if (found.has(stat.parent)) found.set(pid, stat);
  }
  return found;
}

/** All processes by their ids (on Linux), but for those that have ended and are not collected yet. */
function processes(): ReadonlyMap<number, Stat> {
  const all = new Map<number, Stat>();
  for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
    // Behind its name, which may hold anything: state, parent and group, and 16 fields later the time at which it started.
    const fields = /^.*\) (\S) (\d+) (\d+) (?:\S+ ){16}(\d+) /s.exec(textOf(`/proc/${name}/stat`));
    const [, state, parent, group, start] = fields ?? [];
    if (start === undefined || state === 'Z' || name === String(process.pid) || !/^\d+$/.test(name)) continue;
    all.set(Number(name), { parent: Number(parent), group: Number(group), start });
  }
  return all;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
