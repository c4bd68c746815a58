// The processes of this machine, read from /proc.

import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** The command line, its words joined by spaces. */
  readonly command: string;
  /** The environment in which it was started, as `NAME=value`. */
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

/** The text of a file in /proc, empty if its process is gone. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
