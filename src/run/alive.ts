// Whether a process of this machine is at work still.

import { readFileSync } from 'node:fs';
import { codeOf } from '../core/errors.js';

/** @param pid undefined for nobody */
export function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    // Signal 0 is not sent: it only asks whether there is such a process.
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  return !isUnburied(pid);
}

/** One that has ended keeps its number until its parent has looked, which the first process of a container may never do. */
function isUnburied(pid: number): boolean {
  try {
    // Behind the name, which may hold anything, stands the state.
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // A system without /proc, or a process that has gone meanwhile.
    return false;
  }
}
