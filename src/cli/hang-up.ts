// Whether a hang-up (SIGHUP: the terminal was closed) may end this process. Under nohup it may not.

import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Whether this process was started to outlive its terminal. Node resets every signal to its default on start, so the process cannot read
 * its own setting, only look for traces. If bash or zsh started nohup, it is named in `_`. If standard output was a terminal, nohup
 * redirects it to `nohup.out`. If the parent is a script under nohup or a shell with `trap '' HUP`, it ignores the signal itself.
 */
export function outlivesHangUp(
  env: Readonly<Record<string, string | undefined>>,
  file: (path: string) => string = (path) => readFileSync(path, 'latin1'),
  link: (path: string) => string = (path) => readlinkSync(path),
): boolean {
  const traces: (() => boolean)[] = [
    () => /(^|\/)nohup$/.test(env._ ?? ''),
    () => /\/nohup\.out$/.test(link('/proc/self/fd/1')),
    () => ignoresHangUp(file(`/proc/${process.ppid}/status`)),
  ];
  return traces.some((isThere) => {
    try {
      return isThere();
    } catch {
      // The path does not exist: this is not Linux.
      return false;
    }
  });
}

/** Signal 1 is the lowest bit of the mask. */
function ignoresHangUp(status: string): boolean {
  const lowest = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(status)?.[1];
  return lowest !== undefined && Number.parseInt(lowest, 16) % 2 === 1;
}
