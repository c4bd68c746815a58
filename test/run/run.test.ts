// What stays of records that others have replaced.

import { expect, test } from 'vitest';
import { behind, type RowSummary } from '../../src/run/run.js';

type Taken = Pick<RowSummary, 'usage' | 'attempts' | 'calls'>;

/** The summary of the last of a row's records, given in their order. */
function standing(...records: readonly Taken[]): RowSummary | undefined {
  let last: RowSummary | undefined;
  for (const taken of records) last = behind(last, { status: 'failed', flags: [], stamp: '', ...taken });
  return last;
}

test('is what each took, of those that were not counted that there is one, and nothing of those that needed no call', () => {
  const alone = { usage: {}, attempts: 0, calls: 1 };
  const uncounted = { usage: {}, attempts: 5, calls: 1 };
  expect(standing(alone, alone)).not.toHaveProperty('earlier');
  expect(standing(alone, uncounted, uncounted, uncounted, alone)?.earlier).toEqual([{ usage: {}, calls: 1 }]);
  const [seven, nine] = [{ promptTokens: 7 }, { promptTokens: 9 }];
  expect(
    standing(
      uncounted,
      uncounted,
      { usage: seven, attempts: 3, calls: 2 },
      { usage: nine, attempts: 1, calls: 1 },
      { usage: {}, attempts: 1, calls: 1 },
    ),
  ).toStrictEqual({
    ...{ status: 'failed', flags: [], stamp: '', usage: {}, attempts: 1, calls: 1 },
    earlier: [
      { usage: {}, calls: 1 },
      { usage: seven, calls: 2 },
      { usage: nine, calls: 1 },
    ],
  });
});
