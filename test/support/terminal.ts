// A pseudo-terminal for the compiled program.

import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './cli.js';

/** Why there is no pseudo-terminal; undefined if there is one. */
export const noTerminal = ((): string | undefined => {
  try {
    execFileSync('python3', ['-c', 'import pty'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no python3 with its module pty, which gives a pseudo-terminal';
  }
})();

/**
 * Runs its arguments on a terminal of 80 columns: types there what comes on standard input, and writes to standard output what is shown.
 */
const TERMINAL = `
import fcntl, os, pty, select, struct, sys, termios
pid, tty = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
ends = [tty, 0]
while tty in ends:
    for end in select.select(ends, [], [])[0]:
        try:
            data = os.read(end, 65536)
        except OSError:
            data = b''
        if not data:
            ends.remove(end)
        else:
            os.write(tty if end == 0 else 1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

/** Starts the compiled `awb` on a terminal of 80 columns: its standard input is what is typed, its standard output what is shown. */
export function startOnTerminal(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = { TERM: 'xterm' },
) {
  return spawn('python3', ['-c', TERMINAL, process.execPath, join(ROOT, 'dist/bin.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
  });
}
