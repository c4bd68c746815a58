// The predictions of a run of infer: which are asked for, in which order, and which of earlier choices stay.

import { describe, expect, test } from 'vitest';
import type { RowRef } from '../../src/benchmark/dataset.js';
import { present } from '../../src/core/errors.js';
import { inAskingOrder, jobsOf } from '../../src/infer/inferring.js';
import { dataOf, keyOf, rowRefs } from '../support/row-refs.js';

/** Two turns of one trajectory around the only turn of another; the first is the later turn. */
const rows = rowRefs(
  (
    [
      ['a', 'long', 2],
      ['b', 'short', 1],
      ['c', 'long', 1],
    ] as const
  ).map(([key, trajectory, turnIdx], at) => ({
    ...{
      key: keyOf(key),
      trajectory: keyOf(trajectory),
      turnIdx,
      id: key,
      domain: trajectory === 'long' ? 'os' : 'web',
    },
    ...{ line: at + 1, offset: at, length: 1 },
  })),
);
const id = (key: string, rest: string) => `${keyOf(key)}${rest}`;
const at = (...places: number[]) => places.map((place) => present(rows[place]));
const idsOf = (chosen: readonly RowRef[], repeats: number, recorded: string[]) =>
  jobsOf(dataOf(rows), chosen, repeats, recorded).map((job) => job.id);

describe('the jobs of a run', () => {
  test('are all repeats of the chosen rows, in the order of the rows', () => {
    expect(idsOf(at(0, 2), 2, [])).toEqual([id('a', '#0'), id('a', '#1'), id('c', '#0'), id('c', '#1')]);
    const [, second] = jobsOf(dataOf(rows), rows, 1, []);
    expect(second).toEqual({ id: id('b', '#0'), domain: 'web', group: keyOf('short'), row: rows[1], repeat: 0 });
  });

  test('are joined by what has a record of an earlier choice, each once', () => {
    const recorded = [id('c', '#2'), id('b', '#1'), id('c', '#0'), id('b', '#0')];
    const expected = [id('b', '#0'), id('b', '#1'), id('c', '#0'), id('c', '#2')];
    expect(idsOf(at(1), 1, recorded)).toEqual(expected);
    expect(idsOf(rows, 1, recorded)).toEqual([id('a', '#0'), ...expected]);
  });

  test('are none of records that belong to no row, or to no repeat', () => {
    const strange = [id('z', '#0'), id('b', '#0#1'), id('b', '#01'), id('b', ''), 'row-0', ''];
    expect(idsOf(at(0), 1, strange)).toEqual([id('a', '#0')]);
  });
});

test('under prefix the repeats of a row follow each other in the order of turns, under others every row comes once before any again', () => {
  const ids = (order: 'prefix' | 'file', chosen: readonly RowRef[], repeats: number) => {
    const jobs = jobsOf(dataOf(rows), chosen, repeats, [id('a', '#5')]);
    return inAskingOrder(jobs, chosen, { order, sampleSeed: 0, repeats }).map((job) => job.id);
  };
  expect(ids('prefix', rows, 2)).toEqual(
    ['c#0', 'c#1', 'a#0', 'a#1', 'b#0', 'b#1'].map((job) => id(job.slice(0, 1), job.slice(1))),
  );
  expect(ids('file', at(0, 1), 2)).toEqual([id('a', '#0'), id('b', '#0'), id('a', '#1'), id('b', '#1')]);
});
