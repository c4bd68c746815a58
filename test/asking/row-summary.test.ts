// The shelf of summaries: what is put under a number is what stands there, to the last token.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RowSummary, SummaryShelf } from '../../src/asking/row-summary.js';
import type { Usage } from '../../src/types.js';
import { addUsage } from '../../src/usage.js';

const count = fc.oneof(
  fc.constantFrom(0, 1, 1e9, 2 ** 32 - 2, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER),
  fc.nat(),
  // What older versions and other hands may have written.
  fc.constantFrom(-1, 0.5),
);
const usage = fc.record(
  { promptTokens: count, cachedTokens: count, completionTokens: count, reasoningTokens: count },
  { noNullPrototype: true, requiredKeys: [] },
);
const summary: fc.Arbitrary<RowSummary> = fc.record(
  {
    status: fc.constantFrom('ok' as const, 'failed' as const),
    class: fc.constantFrom('timeout', 'fatal'),
    reason: fc.string(),
    flags: fc.array(fc.constantFrom('truncated', 'empty'), { maxLength: 2 }),
    usage,
    chars: count,
    attempts: fc.nat({ max: 3 }),
    calls: fc.integer({ min: 1, max: 4 }),
    stamp: fc.oneof(fc.constantFrom('', 'top_k'), fc.stringMatching(/^[0-9a-f]{16}( top_k)?$/)),
  },
  { noNullPrototype: true, requiredKeys: ['status', 'flags', 'usage', 'attempts', 'calls', 'stamp'] },
);

test('what was put comes back, the latest under each number, and those that are good are counted', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 20 }), summary)), (puts) => {
      const shelf = new SummaryShelf();
      for (const [number, put] of puts) shelf.put(number, put);
      for (const [number, put] of new Map(puts)) {
        const { earlier: _, ...latest } = shelf.at(number);
        expect(latest).toStrictEqual(put);
      }
      expect(shelf.finished).toBe([...new Map(puts).values()].filter(({ status }) => status === 'ok').length);
    }),
  );
});

test('a sum over the shelf is exact, and has no count that nobody reported', () => {
  const shelf = new SummaryShelf();
  const most = { promptTokens: 1e9, completionTokens: 0 };
  for (let number = 0; number < 10_000; number++) {
    shelf.put(number, { status: 'ok', flags: [], usage: most, attempts: 1, calls: 1, stamp: '' });
  }
  const total: Usage = {};
  for (let number = 0; number < 10_000; number++) addUsage(total, shelf.at(number).usage);
  expect(total).toEqual({ promptTokens: 1e13, completionTokens: 0 });
});

test('counts that no version writes are kept as they are', () => {
  const shelf = new SummaryShelf();
  // A journal of another hand.
  const odd = { promptTokens: null, toString: 3, chars: 4 } as unknown as Usage;
  const put: RowSummary = { status: 'ok', flags: [], usage: odd, chars: 7, attempts: 1, calls: 1, stamp: '' };
  shelf.put(3, put);
  expect(shelf.at(3)).toStrictEqual(put);
  shelf.put(3, { ...put, usage: { promptTokens: 2 } });
  const earlier = [{ usage: odd, calls: 1 }];
  expect(shelf.at(3)).toStrictEqual({ ...put, usage: { promptTokens: 2 }, earlier });
});

test('of records that others have replaced stays what each took, of those that were not counted that there is one, and nothing of those that needed no call', () => {
  const shelf = new SummaryShelf();
  const put = (taken: Pick<RowSummary, 'usage' | 'attempts' | 'calls'>) =>
    shelf.put(0, { status: 'failed', flags: [], stamp: '', ...taken });
  put({ usage: {}, attempts: 0, calls: 1 });
  put({ usage: {}, attempts: 0, calls: 1 });
  expect(shelf.at(0)).not.toHaveProperty('earlier');
  for (let time = 0; time < 3; time++) put({ usage: {}, attempts: 5, calls: 1 });
  expect(shelf.at(0).earlier).toEqual([{ usage: {}, calls: 1 }]);
  put({ usage: { promptTokens: 7 }, attempts: 3, calls: 2 });
  put({ usage: { promptTokens: 9 }, attempts: 1, calls: 1 });
  put({ usage: {}, attempts: 1, calls: 1 });
  expect(shelf.at(0)).toStrictEqual({
    ...{ status: 'failed', flags: [], stamp: '', usage: {}, attempts: 1, calls: 1 },
    earlier: [
      { usage: {}, calls: 1 },
      { usage: { promptTokens: 7 }, calls: 2 },
      { usage: { promptTokens: 9 }, calls: 1 },
    ],
  });
});
