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

/** The text of a file of /proc, empty where its process has gone. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
