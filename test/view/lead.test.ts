// What a report leads with.

import { expect, test } from 'vitest';
import { leadingFigures } from '../../src/view/overview.js';
import { measureOf } from '../support/measures.js';
import { domainScore, estimate, scoreCard } from '../support/score-cards.js';

const rated = scoreCard([domainScore('web', 60)]);
const measured = scoreCard([domainScore('web', undefined, { chrf: estimate(30) })], { chrf: estimate(30) });

const figures = (card: typeof rated, leader = card) => leadingFigures({ run: { card: leader }, measureOf }, card);

test('a rated run leads with its score, a measured one with its measure', () => {
  expect(figures(rated).mean).toEqual(rated.overall.total);
  expect(figures(measured).mean?.value).toBe(30);
});

test('a score never stands beside a measure: a run that was only measured has no figure beside a rated one', () => {
  const values = (own: typeof rated, other: typeof rated) => {
    const { domains, mean } = figures(other, own);
    return [...domains.values(), mean].map((estimate) => estimate?.value);
  };
  expect(values(rated, measured)).toEqual([undefined, undefined]);
  expect(values(measured, rated)).toEqual([undefined, undefined]);
  expect(values(measured, measured)).toEqual([30, 30]);
});
