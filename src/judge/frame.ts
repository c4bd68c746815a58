// The frame around what a judge is shown: tags with a mark that no shown text contains, so that nothing inside can pass for the frame.

import { createHash } from 'node:crypto';

/** Hexadecimal digits. */
const MARK_LENGTH = 12;

/** A text under a mark, which stands in its opening and its closing tag. */
export function framed(name: string, mark: string, turn: number, text: string): string {
  return `<${name}-${mark} turn="${turn}">\n${text}\n</${name}-${mark}>`;
}

/** The first of an endless row of words made of the source that none of the texts contains, in any case of letters. */
export function unusedMark(source: string, texts: readonly string[]): string {
  for (let attempt = 0; ; attempt++) {
    const mark = createHash('sha256').update(`${attempt}\n${source}`).digest('hex').slice(0, MARK_LENGTH);
    // The texts are long: a pattern finds the mark without a copy of them in small letters.
    const pattern = new RegExp(mark, 'i');
    if (!texts.some((text) => pattern.test(text))) return mark;
  }
}
