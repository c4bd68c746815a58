// Whether a hang-up (SIGHUP: the terminal has gone) may end this process. Under nohup it may not.

import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Whether this process was started to outlive its terminal. Node sets every signal back to its default as it starts, so the process
 * cannot ask for its own setting, and can only look for traces. nohup names itself in `_` (where bash or zsh started it). Where
 * standard output was a terminal, it is `nohup.out`. A script under nohup and a
 * shell with `trap '' HUP` ignore the signal themselves.
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
      // There is no such place: this is no Linux.
      return false;
    }
  });
}

/** Signal 1 is the lowest bit of the mask. */
function ignoresHangUp(status: string): boolean {
  const lowest = /^SigIgn:\s*[0-9a-f]*([0-9a-f])$/m.exec(status)?.[1];
  return lowest !== undefined && Number.parseInt(lowest, 16) % 2 === 1;
}
