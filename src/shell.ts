// Command lines that are shown to be pasted.

import { printable } from './printable.js';

/** A word as a POSIX shell reads it back: quoted where it has to be, and without anything that could steer the terminal. */
export function shellWord(text: string): string {
  const shown = printable(text);
  return /^[\w./:@%+,=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** Words as one line for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}
