// The computed list of what changed.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changesOf } from '../../src/judge/rubric.js';

describe('what changed', () => {
  test('is listed by line: new and met, new and missing, gone and kept, and what differs', () => {
    const list = changesOf({
      previous: 'title\nlamp 18.00\ntotal 18.00\nold note\nfooter',
      truth: 'title\nlamp 18.00\nquantity 3\ntotal 54.00\nfooter',
      prediction: 'title\nlamp 18.00\nquantity 3\ntotal 18.00\nold note\nfooter',
    });
    expect(list.split('\n')).toEqual([
      'previous state 5 lines, truth 5 lines, prediction 6 lines',
      'new in the truth: 2 lines, of which the prediction has 1',
      '= quantity 3',
      '- total 54.00',
      'gone in the truth: 2 lines, of which the prediction still has 2',
      '! total 18.00',
      '! old note',
      'the prediction against the truth: 3 lines that differ',
      '- total 54.00',
      '+ total 18.00',
      '+ old note',
    ]);
  });

  test('of a correct prediction lists what is new and no difference', () => {
    const list = changesOf({ previous: 'a\nb', truth: 'a\nc', prediction: 'a\nc' });
    expect(list).toContain('new in the truth: 1 line, of which the prediction has 1\n= c\n');
    expect(list).toMatch(/the prediction against the truth: 0 lines that differ$/);
  });

  test('compares only prediction and truth if there was no state before', () => {
    expect(changesOf({ previous: undefined, truth: 'a\nb', prediction: 'a' })).toBe(
      'truth 2 lines, prediction 1 line\nthe prediction against the truth: 1 line that differs\n- b',
    );
  });

  test('ignores blank lines and white space at line ends', () => {
    const list = changesOf({ previous: 'a', truth: 'a  \n\nb\t\n', prediction: 'a\nb\n\n\n' });
    expect(list).toMatch(/0 lines that differ$/);
    expect(list).toContain('truth 2 lines, prediction 2 lines');
  });

  test('includes leading spaces, which may carry meaning', () => {
    expect(changesOf({ previous: '', truth: '  a', prediction: 'a' })).toMatch(/\n- {3}a\n\+ a$/);
  });

  test('a line of the prediction cannot pass for one with another sign', () => {
    const list = changesOf({ previous: 'a', truth: 'b', prediction: '= b\n- c\nnew in the truth: 0 lines' });
    expect(list.split('\n').filter((line) => /c$|0 lines$|= b$/.test(line))).toEqual([
      '+ = b',
      '+ - c',
      '+ new in the truth: 0 lines',
    ]);
  });

  test('says how many more lines there are than fit', () => {
    const lines = (word: string) => Array.from({ length: 5_000 }, (_, index) => `${word} ${index}`).join('\n');
    const list = changesOf({ previous: lines('before'), truth: lines('truth'), prediction: lines('guess') });
    expect(list.length).toBeLessThan(6_000);
    expect(list).toContain('new in the truth: 5000 lines, of which the prediction has 0');
    expect(list.match(/\[\.\.\. \d+ more\]/g)).toHaveLength(2);
  });

  test('is at most 6,000 characters long, whatever the texts are', () => {
    const line = fc.constantFrom('a', 'b', '  c', '😀'.repeat(150), 'x'.repeat(3_000), '', '+ d', '\r');
    const text = fc.array(line, { maxLength: 200 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(fc.option(text, { nil: undefined }), text, text, (previous, truth, prediction) => {
        const list = changesOf({ previous, truth, prediction });
        expect(list.length).toBeLessThanOrEqual(6_000);
        expect(list).not.toMatch(/\p{Cs}/u);
        const same = changesOf({ previous, truth, prediction: truth });
        expect(same).toMatch(/0 lines that differ$/);
        expect(same).not.toMatch(/^[-+!]/m);
      }),
    );
  });
});
