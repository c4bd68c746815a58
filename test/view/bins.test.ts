// Scores over parts of the rows.

import { expect, test } from 'vitest';
import { binsOf, type ReportSample } from '../../src/view/report-contents.js';

const SCORES = [0, 100] as const;

const sample = (turnIdx: number, points: number): ReportSample => ({
  row: {
    key: `k${turnIdx}-${points}`,
    trajectory: 't',
    repeat: 0,
    index: 0,
    domain: 'web',
    turnIdx,
    total: 3,
    ratings: {},
    flags: [],
  },
  points,
  note: '',
});

test('parts hold about as many rows each, and every row that has a score', () => {
  const samples = Array.from({ length: 60 }, (_, index) => sample(index, 50));
  const bins = binsOf(samples, (row) => row.turnIdx, SCORES);
  expect(bins.map(({ estimate }) => estimate.rows)).toEqual([10, 10, 10, 10, 10, 10]);
  expect(bins[0]?.name).toBe('0 to 9');
});

test('one value never stands in two parts', () => {
  const samples = Array.from({ length: 60 }, (_, index) => sample(index < 50 ? 1 : 2, index));
  expect(binsOf(samples, (row) => row.turnIdx, SCORES).map(({ name, estimate }) => [name, estimate.rows])).toEqual([
    ['1', 50],
    ['2', 10],
  ]);
});

test('large quantities are told in thousands, and without a score there is no part', () => {
  expect(binsOf([sample(1, 1), sample(2, 2)], (row) => row.turnIdx * 12_345, SCORES)[1]?.name).toBe('25k');
  const { points: _, ...unrated } = sample(1, 1);
  expect(binsOf([unrated], () => 1, SCORES)).toEqual([]);
});

test('the judgements of a prediction count as one row, those without a score not at all', () => {
  const again = (index: number, points: number | undefined): ReportSample => {
    const { row } = sample(1, 0);
    return { row: { ...row, index }, ...(points === undefined ? {} : { points }), note: '' };
  };
  const samples = [again(0, 0), again(1, undefined), again(2, 50), sample(2, 100)];
  const bins = binsOf(samples, (row) => row.turnIdx, SCORES);
  expect(bins.map(({ estimate: { value, rows } }) => [value, rows])).toEqual([
    [25, 1],
    [100, 1],
  ]);
});

test('intervals stay within the range of what is shown, and are plain where it has no end', () => {
  const samples = Array.from({ length: 12 }, (_, index) => ({
    ...sample(1, index < 6 ? 1 : 99),
    row: { ...sample(1, 0).row, trajectory: `t${index % 6}` },
  }));
  const lowest = (range: readonly [number, number]) =>
    binsOf(samples.slice(0, 7), (row) => row.turnIdx, range)[0]?.estimate.low;
  expect(lowest(SCORES)).toBeGreaterThan(0);
  expect(lowest([0, Number.POSITIVE_INFINITY])).toBeLessThan(0);
});
