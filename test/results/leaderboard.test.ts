// Which runs of a leaderboard are indistinguishable from the best.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { present } from '../../src/core/errors.js';
import { DEFAULT_MEASURE, type Measure } from '../../src/core/measures.js';
import { withKnownRuns } from '../../src/results/databases.js';
import { boardRuns, tiesOf } from '../../src/results/leaderboard.js';
import { temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { around, judgedRun } from '../support/judged-runs.js';

/** Whether `low` and `high` are tied with each other as best, by a measure equal to their ratings. */
async function tiesBy(measure: Measure) {
  const dir = await temporaryFolder();
  await judgedRun(join(dir, 'low'), { label: 'low', rating: around(2) }, join(dir, 'runs.sqlite'));
  await judgedRun(join(dir, 'high'), { label: 'high', rating: around(3, 1) }, join(dir, 'runs.sqlite'));
  return withKnownRuns(['runs.sqlite'], ioIn(dir), async (known) => {
    const measured = known.map((each) => {
      const judgements = (id: number) =>
        each.store.judgements(id).map((row) => ({ ...row, measures: { bits: row.total } }));
      return { ...each, store: { ...each.store, judgements } };
    });
    const [low, high] = boardRuns(measured, () => {}).map((run) => ({
      ...run,
      judgedWith: { ...run.judgedWith, rates: false },
    }));
    const isTied = tiesOf(measured, () => measure);
    const figure = { domain: 'web', name: 'bits' };
    return [isTied(present(high), present(low), figure, 2), isTied(present(low), present(high), figure, 2)];
  });
}

test('if larger is better, the lower run is behind the higher', async () => {
  expect(await tiesBy(DEFAULT_MEASURE)).toEqual([false, true]);
});

test('if smaller is better, the higher run is behind the lower', async () => {
  expect(await tiesBy({ range: [0, Number.POSITIVE_INFINITY], better: 'smaller' })).toEqual([true, false]);
});

test.each(['neither', { target: 50 }] as const)('if %j is better, no test can say which run is', async (better) => {
  expect(await tiesBy({ range: [0, 100], better })).toEqual([undefined, undefined]);
});
