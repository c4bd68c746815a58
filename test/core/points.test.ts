// What a judged row counts as, in points.
import { describe, expect, test } from 'vitest';
import {
  countedPoints,
  impossibleFigures,
  officialRating,
  possibleRating,
  ratingToPoints,
} from '../../src/core/points.js';
import { DIMENSIONS, type JudgedRow } from '../../src/core/types.js';

function row(fields: Partial<JudgedRow>): JudgedRow {
  const ids = { key: 'k', trajectory: 't', repeat: 0, index: 0, domain: 'web', turnIdx: 1 };
  return { ...ids, failed: 0, total: 3, ratings: {}, flags: [], ...fields };
}

const lost = (failure: NonNullable<JudgedRow['failure']>['class'], fields: Partial<JudgedRow> = {}) =>
  row({ failed: 1, total: 0, failure: { class: failure, reason: 'told' }, ...fields });

describe('points', () => {
  test.each([
    [1, 0],
    [2, 25],
    [3.2, 55.00000000000001],
    [5, 100],
  ])('of a rating of %d are %d', (rating, points) => {
    expect(ratingToPoints(rating)).toBe(points);
  });

  test('of a rating of 0 are none: it was not rated', () => {
    for (const figure of [...DIMENSIONS, 'total'] as const) {
      expect(countedPoints(row({ total: 0, ratings: { [figure]: 0 } }), figure)).toBeUndefined();
    }
  });

  test.each(['empty', 'refused'] as const)('of %s, which the model caused, are 0', (failure) => {
    expect(countedPoints(lost(failure), 'total')).toBe(0);
    expect(countedPoints(lost(failure), 'realism')).toBe(0);
  });

  test.each(['prediction', 'context-overflow', 'unreadable', 'judge-timeout'] as const)(
    'of %s, which is missing, are none',
    (failure) => {
      expect(countedPoints(lost(failure), 'total')).toBeUndefined();
    },
  );

  test('of a row of measures are none, whatever became of its prediction', () => {
    const { failed: _, ...measured } = lost('empty', { measures: { chrf: 0 } });
    expect(countedPoints(measured, 'total')).toBeUndefined();
  });
});

describe('a rating outside 1 to 5', () => {
  test.each([100, 5.01, 0.99, -3])('%d is counted officially, and by ourselves neither it nor the total', (rating) => {
    const judged = row({ total: 3, ratings: { format: rating, realism: 2 } });
    expect(officialRating(judged, 'format')).toBe(rating);
    expect(officialRating(judged, 'total')).toBe(3);
    expect(possibleRating(judged, 'format')).toBeUndefined();
    expect(countedPoints(judged, 'total')).toBeUndefined();
    expect(countedPoints(judged, 'realism')).toBe(25);
    expect(impossibleFigures(judged)).toEqual(['format']);
  });

  test('is none if the row was not rated', () => {
    expect(impossibleFigures(lost('unreadable', { total: 700, ratings: { format: 9 } }))).toEqual([]);
  });

  test('is not the 0 of what was not rated, nor 1 or 5', () => {
    expect(impossibleFigures(row({ total: 0, ratings: { format: 0, realism: 1, quality: 5 } }))).toEqual([]);
  });
});
