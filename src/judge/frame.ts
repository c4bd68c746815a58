// The frame around what a judge is shown: tags with a mark that no shown text contains, so that nothing inside can pass for the frame.

/** A text under a mark, which stands in its opening and its closing tag. */
export function framed(name: string, mark: string, turn: number, text: string): string {
  return `<${name}-${mark} turn="${turn}">\n${text}\n</${name}-${mark}>`;
}

/** The first of an endless row of words made of the source that none of the texts contains, in any case of letters. */
export function unusedMark(source: string, texts: readonly string[]): string {
  for (let attempt = 0; ; attempt++) {
    const mark = digest(`${attempt}\n${source}`);
    // The texts are long: a pattern finds the mark without a copy of them in small letters.
    const pattern = new RegExp(mark, 'i');
    if (!texts.some((text) => pattern.test(text))) return mark;
  }
}

/** Twelve hexadecimal digits that look like chance: two multiplicative hashes, each stirred at the end. It guards no secret. */
function digest(text: string): string {
  let [a, b] = [0x2545f491, 0x9e3779b9];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995) ^ (b >>> 15);
  }
  return [stirred(a ^ (b >>> 7)), stirred(b)].map((part) => part.toString(16).padStart(8, '0').slice(-6)).join('');
}

function stirred(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
