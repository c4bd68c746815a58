// Ranges of numbers as expressions of llama.cpp's grammar language, checked as the regular expressions that they nearly are.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { integerRule, numberRule } from '../../../src/serve/schema/number-rules.js';

/** Rules of numbers hold literals, digits, groups and repetitions alone: as a regular expression they read nearly the same. */
function expressionOf(rule: string): RegExp {
  return new RegExp(`^${rule.replaceAll('"."', '\\.').replaceAll('"', '').replaceAll(' ', '')}$`);
}

const bound = fc.oneof(
  fc.integer({ min: -1200, max: 1200 }),
  fc.maxSafeInteger().map((n) => n % 10 ** 15),
);

describe('a range', () => {
  test('of whole numbers holds those within it and no others', () => {
    fc.assert(
      fc.property(bound, bound, fc.array(bound, { minLength: 1 }), (a, b, values) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const expression = expressionOf(integerRule(low, high));
        for (const value of [...values, low - 1, low, low + 1, high - 1, high, high + 1]) {
          if (Math.abs(value) < 10 ** 15) expect(expression.test(String(value))).toBe(value >= low && value <= high);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('that is open holds all of fifteen digits', () => {
    const above = expressionOf(integerRule(12, Number.POSITIVE_INFINITY));
    expect(['11', '012', '-12', '1e3', '', '9'.repeat(16)].filter((text) => above.test(text))).toEqual([]);
    expect(['12', '19', '100', '9'.repeat(15)].every((text) => above.test(text))).toBe(true);
    expect(expressionOf(integerRule(Number.NEGATIVE_INFINITY, -1)).test('0')).toBe(false);
  });

  test('of numbers never holds one outside it, and holds the whole ones within', () => {
    const fraction = fc.double({ min: -50, max: 50, noNaN: true });
    fc.assert(
      fc.property(fraction, fraction, fraction, fc.integer({ min: -60, max: 60 }), (a, b, value, whole) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        fc.pre(Math.ceil(low) <= Math.floor(high));
        const expression = expressionOf(numberRule(low, high));
        const text = value.toFixed(9);
        if (expression.test(text)) expect(Number(text) >= low && Number(text) <= high).toBe(true);
        expect(expression.test(String(whole))).toBe(whole >= low && whole <= high);
      }),
      { numRuns: 500 },
    );
    expect(expressionOf(numberRule(0, 1)).test('0.25')).toBe(true);
    expect(expressionOf(numberRule(-2, 5)).test('-1.5')).toBe(true);
  });

  test('without a number in it is refused', () => {
    expect(() => numberRule(0.2, 0.8)).toThrow(RangeError);
    expect(() => integerRule(10 ** 15, 10 ** 16)).toThrow(RangeError);
  });
});
