// Whether a hang-up (SIGHUP, the terminal has gone) may end this process. Under nohup it may not.

import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Whether whoever started this process wanted it to outlive its terminal. Node sets every signal back to its default as it starts, so
 * the process cannot ask for its own; what is left are traces. nohup names itself in `_` (where bash or zsh started it), and leaves a
 * standard input that cannot be read, or `nohup.out` as standard output, where those were terminals; a script under nohup, and a
 * shell with `trap '' HUP`, ignore the signal themselves.
 */
export function outlivesHangUp(
  env: Readonly<Record<string, string | undefined>>,
  file: (path: string) => string = (path) => readFileSync(path, 'latin1'),
  link: (path: string) => string = (path) => readlinkSync(path),
): boolean {
  const traces: (() => boolean)[] = [
    () => /(^|\/)nohup$/.test(env._ ?? ''),
    () => link('/proc/self/fd/0') === '/dev/null' && isWriteOnly(file('/proc/self/fdinfo/0')),
    () => /\/nohup\.out$/.test(link('/proc/self/fd/1')),
    () => ignoresHangUp(file(`/proc/${process.ppid}/status`)),
  ];
  return traces.some((isThere) => {
    try {
      return isThere();
    } catch {
      // No such place: another system than Linux.
      return false;
    }
  });
}

/** The last octal digit holds how a file was opened: 0 to read, 1 to write, 2 for both. */
function isWriteOnly(fdInfo: string): boolean {
  return /^flags:\s*0[0-7]*1$/m.test(fdInfo);
}

/** Signal 1 is the lowest bit of the mask. */
function ignoresHangUp(status: string): boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return mask !== undefined && Number.parseInt(mask.at(-1) as string, 16) % 2 === 1;
}
