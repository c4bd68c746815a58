// The mean: Python's reference values, and what must hold for any figures.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mean } from '../../src/stats/clusters.js';

const reference = JSON.parse(readFileSync(new URL('../../fixtures/statistics.json', import.meta.url), 'utf8')) as {
  readonly means: { readonly values: number[]; readonly mean: number }[];
};

/** Figures whose sums must be rounded, without the very smallest floating-point numbers. */
const figures = (minLength: number) =>
  fc.array(
    fc.integer({ min: 0, max: 999_900 }).map((whole) => whole / 9999),
    { minLength, maxLength: 40 },
  );

describe('mean', () => {
  test.each(reference.means)("equals Python's to the last digit, where plain summing does not: $mean", (known) => {
    expect(mean(known.values)).toBe(known.mean);
    expect(known.values.reduce((sum, value) => sum + value, 0) / known.values.length).not.toBe(known.mean);
  });

  test('does not depend on the order', () => {
    fc.assert(
      fc.property(figures(1), (some) => {
        const sorted = [...some].sort((a, b) => a - b);
        expect(mean(sorted)).toBe(mean(some));
      }),
    );
  });

  test.each([
    ['of one value is the value', [3.2], 3.2],
    ['keeps what large values would absorb', [1e16, 1.5, -1e16], 0.5],
    ['rounds to the nearest, not down', [1, 1 + 2 ** -52, 1 + 2 ** -52], 1 + 2 ** -52],
    ['of negative values mirrors that of positive values', [-0.1, -0.2, -0.4], -mean([0.1, 0.2, 0.4])],
    ['of infinite values is infinite', [1.5, Number.POSITIVE_INFINITY], Number.POSITIVE_INFINITY],
  ])('%s', (_, values, expected) => {
    expect(mean(values)).toBe(expected);
  });

  test('of nothing is an error', () => {
    expect(() => mean([])).toThrow(RangeError);
  });
});
