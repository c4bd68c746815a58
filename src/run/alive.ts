// Whether a process of this machine is at work still.

import { codeOf } from '../errors.js';

/** @param pid undefined for nobody */
export function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    // Signal 0 is not sent: it only asks whether there is such a process.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
