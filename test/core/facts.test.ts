// The checklist of a verdict: what is read as one, and the recall of determined facts.

import { describe, expect, test } from 'vitest';
import { type Fact, quotesIn, readFacts, recallOf } from '../../src/core/facts.js';

const fact = (change: object = {}) => ({ claim: 'c', kind: 'determined', met: true, ...change });

describe('a checklist', () => {
  test('is read verbatim and in order, up to twelve facts with claims of up to 200 characters', () => {
    const list = Array.from({ length: 12 }, (_, at) => fact({ claim: '😀'.repeat(200), met: at % 2 === 0 }));
    expect(readFacts(list)).toEqual(list);
    expect(readFacts([])).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ['absent', undefined, 'the verdict contains no "facts"'],
    ['null', null, '"facts": Invalid input: expected array'],
    ['an object', { claim: 'c' }, '"facts": Invalid input: expected array'],
    ['too long', Array.from({ length: 13 }, () => fact()), '"facts" has more than 12 facts'],
    ['a list of texts', ['c'], '"facts.0": Invalid input: expected object'],
    ['one with an empty claim', [fact({ claim: '' })], '"facts.0.claim": Too small'],
    [
      'one with a long claim',
      [fact(), fact({ claim: 'x'.repeat(201) })],
      '"facts.1.claim": longer than 200 characters',
    ],
    ['one without a claim', [fact({ claim: undefined })], '"facts.0.claim": Invalid input'],
    [
      'one of another kind',
      [fact({ kind: 'Determined' })],
      '"facts.0.kind": Invalid option: expected one of "determined"',
    ],
    ['one whose kind is a member of all objects', [fact({ kind: 'toString' })], '"facts.0.kind": Invalid option'],
    ['one that is met by a word', [fact({ met: 'true' })], '"facts.0.met": Invalid input: expected boolean'],
    ['one with a quote that is a number', [fact({ quote: 3 })], '"facts.0.quote": Invalid input: expected string'],
    ['one with a long quote', [fact({ quote: 'x'.repeat(201) })], '"facts.0.quote": longer than 200 characters'],
    ['one with a further member', [fact({ why: 'w' })], '"facts.0": Unrecognized key: "why"'],
  ])('that is %s is none, and the reason says so', (_, value, reason) => {
    expect(readFacts(value)).toContain(reason);
  });
});

test('quotes are counted, and those that no text holds to the letter', () => {
  const quoting = (...quotes: string[]) =>
    quotes.map((quote): Fact => ({ claim: 'c', kind: 'told', met: true, quote }));
  const texts = ['drwxr-xr-x  2 root', 'total 4'];
  expect(quotesIn(quoting('xr-x  2', 'total 4', 'xr-x 2', 'Total 4'), texts)).toEqual({ given: 4, unmatched: 2 });
  expect(quotesIn([{ claim: 'c', kind: 'told', met: true }], texts)).toEqual({ given: 0, unmatched: 0 });
  expect(readFacts([fact({ quote: '' }), fact({ quote: 'q' })])).toEqual([fact(), fact({ quote: 'q' })]);
});

describe('recall', () => {
  const facts = (...met: [Fact['kind'], boolean][]) => met.map(([kind, is]): Fact => ({ claim: 'c', kind, met: is }));

  test('is the share of determined facts that were met, whatever the others are', () => {
    expect(recallOf(facts(['determined', true], ['determined', false], ['told', false], ['plausible', false]))).toBe(
      50,
    );
    expect(recallOf(facts(['determined', false]))).toBe(0);
    expect(recallOf(facts(['determined', true], ['runtime', false]))).toBe(100);
  });

  test('is absent where no determined fact is listed', () => {
    expect(recallOf([])).toBeUndefined();
    expect(recallOf(facts(['told', true], ['runtime', true], ['plausible', true]))).toBeUndefined();
  });
});
