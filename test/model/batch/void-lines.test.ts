// Lines of a part are named in a text, and read from it again.

import { describe, expect, it } from 'vitest';
import { areLines, linesText, voidLines } from '../../../src/model/batch/void-lines.js';
import { randomFrom } from '../../support/random.js';

describe('the lines of a part that are void', () => {
  it('come back from their text, however they lie', () => {
    const random = randomFrom(3);
    for (let round = 0; round < 200; round++) {
      const share = random();
      const lines = Array.from({ length: 1 + Math.floor(random() * 40) }, () => random() < share);
      const text = linesText(lines.length, (line) => lines[line - 1] === true);
      const read = voidLines(text === undefined ? {} : { void: text });
      expect(lines.map((_, place) => read.has(place + 1))).toEqual(lines);
      expect(read.count).toBe(lines.filter(Boolean).length);
      expect([read.has(0), read.has(lines.length + 1)]).toEqual([false, false]);
      if (text !== undefined) expect(areLines(text, lines.length)).toBe(true);
    }
  });

  it('are written as ranges', () => {
    const text = (...lines: number[]) => linesText(9, (line) => lines.includes(line));
    expect([text(), text(1), text(1, 2, 3), text(2, 4, 5, 9)]).toEqual([undefined, '1', '1-3', '2,4-5,9']);
  });

  it.each(['', ',', '0', '01', '1-', '-1', '2-1', '1,1', '1,2', '3,1', '1-2,3', '10', '8-10', '1 ', 'a', 5, null])(
    'are not %j of nine lines',
    (text) => {
      expect(areLines(text, 9)).toBe(false);
    },
  );

  it('may each stand alone, and be of one', () => {
    for (const text of ['1', '9', '1-9', '1,3,5-6,8-9']) expect(areLines(text, 9), text).toBe(true);
  });
});
