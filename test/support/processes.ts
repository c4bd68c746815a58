// The processes of this machine, as /proc tells of them.

import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** The command line, its words joined by blanks. */
  readonly command: string;
  /** The environment that it was started in, as `NAME=value`. */
  readonly environment: readonly string[];
}

export function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => processOf(Number(pid)));
}

export function processOf(pid: number): Process {
  return {
    pid,
    parent: Number(/^PPid:\s*(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1]),
    command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' '),
    environment: read(`/proc/${pid}/environ`).split('\0'),
  };
}

/** Whether a process works still. One that has ended keeps its number until its parent has looked, and not every container's first process does. */
export function isAtWork(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^State:\s+Z/m.test(read(`/proc/${pid}/status`));
}

/** The text of a file of /proc, empty where its process has gone. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
