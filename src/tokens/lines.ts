// Lines of a text that can be counted each for itself: screens and logs come again, but for a few lines.

import { Memo, ofItsOwn } from './memo.js';

type Count = (text: string) => number;

/** Lines that are remembered with their count: up to twice as many, and some 15 MB. */
const LINES = { texts: 50_000, characters: 3_000_000 };
const LONGEST_LINE = 2_000;
/** What a line may end in: a letter, a digit, a sign, a bracket, a picture ... */
const ENDS = ['a', '9', '.', ')', '"', '/', '-', '{', '>', '|', '\u8a9e', '\u{1f600}'];
const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

/**
 * The same count, line by line, where that makes no difference. Whether it does depends on how the tokenizer splits (GPT-4o takes
 * `\n/` for one word), so it is tried out for every character that a line may begin with.
 * @param notBefore characters before which the end of a line may belong to them
 */
export function byLines(count: Count, notBefore: ReadonlySet<string>): Count {
  const isApart = (end: string, start: string) =>
    count(`x${end}\n${start}y`) === count(`x${end}\n`) + count(`${start}y`) &&
    count(`${end}\n${start}`) === count(`${end}\n`) + count(start);
  const starts = new Set(
    PRINTABLE.filter((start) => !notBefore.has(start) && ENDS.every((end) => isApart(end, start))).map((start) =>
      start.charCodeAt(0),
    ),
  );
  if (starts.size === 0) return count;
  const memo = new Memo(LINES);
  const countLine = (line: string) => {
    if (line.length > LONGEST_LINE) return count(line);
    const known = memo.get(line);
    if (known !== undefined) return known;
    const counted = count(line);
    memo.set(ofItsOwn(line), counted);
    return counted;
  };
  return (text) => {
    let [sum, start] = [0, 0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      // Two newlines may be one token, and so may a space and a newline.
      if (!starts.has(text.charCodeAt(at + 1)) || isSpace(text.charCodeAt(at - 1))) continue;
      sum += countLine(text.slice(start, at + 1));
      start = at + 1;
    }
    return sum + countLine(text.slice(start));
  };
}

/** ASCII's white space, and whatever is no ASCII and might be some. */
function isSpace(unit: number): boolean {
  return !(unit > 32 && unit < 127) && !(unit >= 0x3400 && unit < 0xfe00);
}
