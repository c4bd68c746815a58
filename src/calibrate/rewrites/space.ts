// The truth with white space at the ends of lines, where nobody sees it.

import type { Random } from '../../random.js';

/** A line that says something and is not the last; a backslash at a line's end would lose its meaning. */
const LINE_END = /[^\s\\](?=\r?\n)/g;

/** The text with a space behind some of its lines; undefined where it has one line alone. */
export function withOtherSpace(text: string, random: Random): string | undefined {
  const ends = Array.from(text.matchAll(LINE_END), ({ index }) => index + 1);
  if (ends.length === 0) return undefined;
  const certain = Math.floor(random.uniform() * ends.length);
  let made = '';
  let at = 0;
  for (const [place, end] of ends.entries()) {
    if (random.uniform() < 0.5 || place === certain) {
      made += `${text.slice(at, end)} `;
      at = end;
    }
  }
  return made + text.slice(at);
}
