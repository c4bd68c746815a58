// The turns that a rollout asks: in which order, under which names, and which of them are rows.

import { describe, expect, test } from 'vitest';
import { inInputOrder } from '../../../src/benchmark/selection.js';
import { present } from '../../../src/core/errors.js';
import type { PlannedChain, RolloutPlan } from '../../../src/infer/rollout/plan.js';
import { turnJobsOf } from '../../../src/infer/rollout/rolling-out.js';
import { dataOf, keyOf, rowRefs } from '../../support/row-refs.js';

/** Rows at these turns of the trajectories a, b and c. */
const ROWS = [
  ['a', 2],
  ['b', 3],
  ['b', 5],
  ['c', 4],
] as const;
const rows = rowRefs(
  ROWS.map(([trajectory, turnIdx], at) => ({
    ...{ key: keyOf(`${trajectory}${turnIdx}`), trajectory: keyOf(trajectory), turnIdx, id: trajectory, domain: 'web' },
    ...{ line: at + 1, offset: at, length: 1 },
  })),
);

/** @param places of the rows at its turns; the last one drives it */
function chain(name: string, places: readonly number[], more: Partial<PlannedChain> = {}): PlannedChain {
  const own = places.map((place) => present(rows[place]));
  const driver = present(own.at(-1));
  return {
    ...{ name: keyOf(name), trajectory: keyOf(name), domain: 'web', driver, from: 0 },
    ...{ last: driver.turnIdx, end: driver.turnIdx },
    rows: new Map(own.map((row) => [row.turnIdx, row])),
    ...more,
  };
}

function planOf(...chains: PlannedChain[]): RolloutPlan {
  const asked = chains.flatMap(({ rows: rowAt, last }) =>
    [...rowAt].flatMap(([turn, row]) => (turn <= last ? [row] : [])),
  );
  return { from: 0, chains, rows: inInputOrder(asked), notices: [] };
}

const ALL = planOf(chain('a', [0]), chain('b', [1, 2]), chain('c', [3]));
const jobsOf = (plan: RolloutPlan, settings: Partial<Parameters<typeof turnJobsOf>[2]> = {}, recorded: string[] = []) =>
  turnJobsOf(dataOf(rows), plan, { order: 'prefix', sampleSeed: 0, repeats: 1, ...settings }, recorded);
const shown = (jobs: Iterable<{ chain: PlannedChain; turn: number; repeat: number }>) =>
  Array.from(
    jobs,
    ({ chain: of, turn, repeat }) =>
      `${'abc'[[...'abc'].findIndex((name) => keyOf(name) === of.name)]}${turn}#${repeat}`,
  );

describe('the turns of a rollout', () => {
  test('are asked chain after chain, the longest first, each from its first turn to its last', () => {
    expect(shown(jobsOf(ALL).order).join(' ')).toBe('b1#0 b2#0 b3#0 b4#0 b5#0 c1#0 c2#0 c3#0 c4#0 a1#0 a2#0');
  });

  test('are asked in the order of the data where that is wanted, or in another that the seed gives', () => {
    expect(shown(jobsOf(ALL, { order: 'file' }).order).join(' ')).toMatch(/^a1#0 a2#0 b1#0 .* c4#0$/);
    const random = shown(jobsOf(ALL, { order: 'random', sampleSeed: 7 }).order);
    expect(random).toEqual(shown(jobsOf(ALL, { order: 'random', sampleSeed: 7 }).order));
    expect([...random].sort()).toEqual(shown(jobsOf(ALL).order).sort());
  });

  test('are all asked once before any repeat, and every repeat of a chain is a group of its own', () => {
    const { order } = jobsOf(ALL, { repeats: 2 });
    expect(order.map(({ repeat }) => repeat)).toEqual([...Array(11).fill(0), ...Array(11).fill(1)]);
    expect(new Set(order.map(({ group }) => group)).size).toBe(6);
    expect(order.every(({ serial }) => serial)).toBe(true);
  });

  test('have a row’s id where they are one, and else one that no row can have', () => {
    const ids = jobsOf(ALL).turns.map(({ id }) => id);
    expect(ids.slice(0, 2)).toEqual([`${keyOf('a')}@1#0`, `${keyOf('a2')}#0`]);
    expect(new Set(ids).size).toBe(11);
  });

  test('are rows of the output in its order, and the others lie between', () => {
    const { rows: output, between } = jobsOf(ALL);
    expect(shown(output)).toEqual(['a2#0', 'b3#0', 'b5#0', 'c4#0']);
    expect(between.length).toBe(7);
  });

  test('stay in the files where an earlier session recorded them, and are not asked', () => {
    const shorter = planOf(chain('b', [1, 2], { last: 3, end: 5 }));
    const { order, rows: output, turns } = jobsOf(shorter, {}, [`${keyOf('b5')}#0`, `${keyOf('b3')}#1`]);
    expect(shown(order)).toEqual(['b1#0', 'b2#0', 'b3#0']);
    expect(shown(output)).toEqual(['b3#0', 'b3#1', 'b5#0']);
    expect(turns.length).toBe(10);
  });
});
