// What a report leads with.

import { expect, test } from 'vitest';
import { leadingFigure, leadingLines } from '../../src/view/lead.js';
import { measureOf } from '../support/measures.js';
import { domainScore, estimate, scoreCard } from '../support/score-cards.js';

const rated = scoreCard([domainScore('web', 60)]);
const measured = scoreCard([domainScore('web', undefined, { chrf: estimate(30) })], { chrf: estimate(30) });

test('a rated run leads with its score, a measured one with its measure', () => {
  expect(leadingFigure(rated, measureOf)).toEqual(rated.overall.total);
  expect(leadingFigure(measured, measureOf)?.value).toBe(30);
});

test('a score never stands beside a measure: a run that was only measured has no figure beside a rated one', () => {
  expect(leadingLines(rated, measured, measureOf).map(({ other }) => other)).toEqual([undefined, undefined]);
  expect(leadingLines(measured, rated, measureOf).map(({ other }) => other)).toEqual([undefined, undefined]);
  expect(leadingLines(measured, measured, measureOf).map(({ other }) => other?.value)).toEqual([30, 30]);
});
