// Which judgements a calibration plans: seeded, within its limit of calls, and evenly across domains.

import { describe, expect, it } from 'vitest';
import { openDataset, type RowRef } from '../../../src/benchmark/dataset.js';
import { openMadePredictions, planOf, takesCall } from '../../../src/judge/calibrate/plan.js';
import { RECORDED } from '../../support/cli.js';

const VARIANTS = ['truth', 'persistence', 'shuffled', 'empty'];

async function planned(
  choice: { seed?: number; maxCalls?: number; trajectories?: number; judgeRepeats?: number } = {},
  { data = RECORDED, looked = [] }: { data?: string; looked?: RowRef[] } = {},
) {
  const { seed = 0, maxCalls = 10_000, trajectories = 100, judgeRepeats = 2 } = choice;
  const dataset = await openDataset(data);
  try {
    const made = openMadePredictions(dataset, seed);
    const predictions: typeof made = {
      make(row, variant) {
        if (variant === 'truth') looked.push(row);
        return made.make(row, variant);
      },
    };
    return await planOf(dataset.rows, dataset.rows, predictions, {
      seed,
      variants: VARIANTS,
      maxCalls,
      judgeRepeats,
      trajectories,
    });
  } finally {
    await dataset.close();
  }
}

const ids = (jobs: Awaited<ReturnType<typeof planned>>) => jobs.map(({ id }) => id);
const groups = (jobs: Awaited<ReturnType<typeof planned>>) => [...new Set(jobs.map(({ group }) => group))];

describe('a plan', () => {
  it('is the same for the same seed, and differs for another', async () => {
    const plan = ids(await planned({ maxCalls: 100 }));
    expect(ids(await planned({ maxCalls: 100 }))).toEqual(plan);
    expect(ids(await planned({ maxCalls: 100, seed: 1 }))).not.toEqual(plan);
  });

  it('takes every row if the calls suffice, its variants one after the other, and the judgements of a variant next to each other', async () => {
    const jobs = await planned();
    expect(new Set(jobs.map(({ row }) => row)).size).toBe(63);
    const rowsInOrder = jobs.map(({ row }) => row).filter((row, place, all) => row !== all[place - 1]);
    expect(new Set(rowsInOrder).size).toBe(rowsInOrder.length);
    const [first] = jobs;
    const of = jobs.filter(({ row }) => row === first?.row).map(({ variant, index }) => `${variant} ${index}`);
    expect(of).toEqual(expect.arrayContaining(['truth 0', 'truth 1', 'shuffled 0', 'shuffled 1', 'empty 0']));
    expect(of.indexOf('truth 1')).toBe(of.indexOf('truth 0') + 1);
  });

  it('never exceeds its limit of calls, and is a subset of a larger plan', async () => {
    const small = await planned({ maxCalls: 60 });
    expect(small.filter(takesCall).length).toBeLessThanOrEqual(60);
    expect(small.filter(takesCall).length).toBeGreaterThan(50);
    const large = new Set(ids(await planned({ maxCalls: 200 })));
    expect(ids(small).filter((id) => !large.has(id))).toEqual([]);
  });

  it('takes a row in every domain, and of every trajectory, before it takes a second one of any', async () => {
    const rowsOf = (jobs: Awaited<ReturnType<typeof planned>>) => new Set(jobs.map(({ row }) => row)).size;
    const seven = await planned({ maxCalls: 40 });
    expect(new Set(seven.map(({ domain }) => domain)).size).toBe(7);
    const some = await planned({ maxCalls: 70 });
    expect(groups(some).length).toBe(rowsOf(some));
  });

  it('never exceeds its limit of trajectories per domain', async () => {
    const jobs = await planned({ trajectories: 1 });
    expect(groups(jobs).length).toBe(7);
  });

  it('numbers each judgement after the first, and marks it as not a new row', async () => {
    const jobs = await planned({ judgeRepeats: 3, maxCalls: 40 });
    const truths = jobs.filter(({ variant, row }) => variant === 'truth' && row === jobs[0]?.row);
    expect(truths.map(({ index, isFurther }) => [index, isFurther])).toEqual([
      [0, undefined],
      [1, true],
      [2, true],
    ]);
    expect(truths[1]?.id).toBe(`${truths[0]?.id}#1`);
  });

  it('inspects no row twice, since inspecting is slow', async () => {
    const looked: RowRef[] = [];
    await planned({}, { looked });
    expect(looked.length).toBe(63);
    expect(new Set(looked).size).toBe(63);
  });
});
