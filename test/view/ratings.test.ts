// How often each rating was given, as a chart: whole ratings, and the fractions of panels.

import { expect, it } from 'vitest';
import type { JudgedRow } from '../../src/core/types.js';
import { ratingChart } from '../../src/view/overview.js';

const rated = (format: number, place: number): JudgedRow => ({
  key: `k${place}`,
  trajectory: 't',
  repeat: 0,
  index: 0,
  domain: 'web',
  turnIdx: 1,
  failed: 0,
  total: format,
  ratings: { format },
  flags: [],
});
/** The cells of a dimension's line, without the bar. */
const cellsOf = (ratings: readonly number[]) => {
  const line = /<th scope="row">Format.*?<\/tr>/.exec(ratingChart(ratings.map(rated)).source)?.[0] ?? '';
  const cells = line.replace(/<svg.*?<\/svg>/, '').split('<td');
  return cells.slice(2).map((cell) => cell.replace(/^[^>]*>/, '').replace(/<[^>]*>/g, ''));
};

it('counts fractions with the nearest whole rating, and has the mean of the fractions themselves', () => {
  expect(cellsOf([3.4, 3.4, 1.2])).toEqual(['1', '0', '2', '0', '0', '2.67']);
});

it('leaves out a 0 and what cannot be', () => {
  expect(cellsOf([5, 0, 80])).toEqual(['0', '0', '0', '0', '1', '5.00']);
});
