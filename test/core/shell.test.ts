// Command lines that are shown to be pasted come back from a shell as the words that they were made of.

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, shellLine } from '../../src/core/printable.js';

test.each([
  ['plain/path-1.jsonl', 'plain/path-1.jsonl'],
  ["it's here", "'it'\\''s here'"],
  ['$(reboot)', "'$(reboot)'"],
  ['', "''"],
  ['a\x1b]0;title\x07b\nc', "'ab c'"],
])('%j is %s', (word, shown) => {
  expect(shellLine([word])).toBe(shown);
});

test('whatever the words hold, a shell reads them back', () => {
  const words = fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(words, (given) => {
      const read = execFileSync('sh', ['-c', `printf '%s\\0' ${shellLine(given)}`], { encoding: 'utf8' });
      expect(read.split('\0').slice(0, -1)).toEqual(given.map((word) => printable(word)));
    }),
    { numRuns: 50 },
  );
});
