// Differences between texts: what they claim must be so, whatever the texts.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Step } from '../../src/core/difference.js';
import { difference } from '../../src/core/difference.js';

/** Follows the steps through both texts; what each text has outside of its changes. */
function follow(truth: string, prediction: string, steps: readonly Step[]) {
  const [a, b] = [truth.split('\n'), prediction.split('\n')];
  let [i, j] = [0, 0];
  for (const step of steps) {
    if (typeof step === 'number') {
      for (let n = 0; n < step; n++) expect(a[i++]).toBe(b[j++]);
    } else if (step[0] === '~') {
      expect(without(a[i++] as string, step[1])).toBe(without(b[j++] as string, step[2]));
    } else if (step[0] === '-') i += step[1];
    else j += step[1];
  }
  return { read: [i, j], lines: [a.length, b.length] };
}

function without(line: string, ranges: readonly number[]): string {
  let kept = '';
  let at = 0;
  for (let n = 0; n < ranges.length; n += 2) {
    expect(ranges[n]).toBeGreaterThanOrEqual(at);
    expect(ranges[n + 1]).toBeGreaterThan(ranges[n] as number);
    kept += line.slice(at, ranges[n]);
    at = ranges[n + 1] as number;
  }
  expect(at).toBeLessThanOrEqual(line.length);
  return kept + line.slice(at);
}

const text = fc.oneof(
  fc.string(),
  fc
    .array(fc.constantFrom('a', 'b', 'a b', 'a  b c', '', '\tx', '}', 'total 20'), { maxLength: 40 })
    .map((l) => l.join('\n')),
);

describe('differences', () => {
  it('lead through every line of both texts, and equal is equal', () => {
    fc.assert(
      fc.property(text, text, (truth, prediction) => {
        const { read, lines } = follow(truth, prediction, difference(truth, prediction));
        expect(read).toEqual(lines);
      }),
      { numRuns: 2000 },
    );
  });

  it('are as few as there are: what was put in is what is found', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', '}'), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(lines, fc.nat(), (given, seed) => {
        const at = seed % (given.length + 1);
        const more = [...given.slice(0, at), 'something else', ...given.slice(at)];
        const added = difference(given.join('\n'), more.join('\n')).filter((step) => typeof step !== 'number');
        expect(added).toEqual([['+', 1]]);
      }),
    );
  });

  it.each<[string, string, string, Step[]]>([
    ['equal texts', 'a\nb', 'a\nb', [2]],
    ['two empty texts', '', '', [1]],
    ['a line added', 'a\nc', 'a\nb\nc', [1, ['+', 1], 1]],
    ['a line removed', 'a\nb\nc', 'a\nc', [1, ['-', 1], 1]],
    ['a word changed', 'total 20 files', 'total 24 files', [['~', [6, 8], [6, 8]]]],
    ['two words in a row changed', 'one two three four', 'one x y four', [['~', [4, 7, 8, 13], [4, 5, 6, 7]]]],
    ['white space at the end', 'a b', 'a b  ', [['~', [], [3, 5]]]],
    ['a line end of another system', 'a b', 'a b\r', [['~', [], [3, 4]]]],
    ['another indentation', '  - item', '    - item', [['~', [0, 2], [0, 4]]]],
    [
      'lines that share nothing',
      'alpha beta',
      'gamma delta',
      [
        ['-', 1],
        ['+', 1],
      ],
    ],
    [
      'a changed line among new ones',
      'x\nsize 10 kB\ny',
      'x\nnew\nsize 12 kB\nother\ny',
      [1, ['+', 1], ['~', [5, 7], [5, 7]], ['+', 1], 1],
    ],
    [
      'changed lines of which the last is missing',
      'rw 20 May 2 b.txt\nrw 30 May 3 c.txt\nrw 40 May 4 d.txt',
      'rw 20 May 7 b.txt\nrw 30 May 8 c.txt',
      [
        ['~', [10, 11], [10, 11]],
        ['~', [10, 11], [10, 11]],
        ['-', 1],
      ],
    ],
    [
      'an empty prediction',
      'a\nb',
      '',
      [
        ['-', 2],
        ['+', 1],
      ],
    ],
  ])('of %s', (_name, truth, prediction, steps) => {
    expect(difference(truth, prediction)).toEqual(steps);
  });

  it.each([
    ['nothing in common', (i: number) => `a ${i}`, (i: number) => `${i} b`],
    ['a few lines in another order', (i: number) => `${i % 3}`, (i: number) => `${(i * 7) % 5}`],
  ])('of eight thousand lines with %s are found', (_name, lineA, lineB) => {
    const [a, b] = [lineA, lineB].map((line) => Array.from({ length: 8_000 }, (_, i) => line(i)).join('\n'));
    const { read, lines } = follow(a as string, b as string, difference(a as string, b as string));
    expect(read).toEqual(lines);
  });

  it('of one long line are found by word, or taken as a whole where there are too many', () => {
    const words = Array.from({ length: 5_000 }, (_, i) => `w${i}`);
    const changed = words.with(2_500, 'other');
    const [before, place] = [words.slice(0, 2_500).join(' ').length + 1, 'w2500'.length];
    expect(difference(words.join(' '), changed.join(' '))).toEqual([
      ['~', [before, before + place], [before, before + 5]],
    ]);
    const long = 'x '.repeat(20_000);
    expect(difference(long, `${long}y`)).toEqual([['~', [0, 40_000], [0, 40_001]]]);
  });
});
