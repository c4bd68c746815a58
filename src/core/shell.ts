// Command lines as they are shown, to be pasted into a shell.

import { printable } from './printable.js';

/** A word as a POSIX shell reads it back: quoted where necessary, and without anything that could steer the terminal. */
function shellWord(text: string): string {
  const shown = printable(text);
  return /^[\w./:@%+,=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** Words as one line for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}
