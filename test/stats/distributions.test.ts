// Student's t, checked against SciPy, printed tables and the integrated density.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { studentTQuantile } from '../../src/stats/distributions.js';

const reference = JSON.parse(readFileSync(new URL('../../fixtures/statistics.json', import.meta.url), 'utf8')) as {
  readonly quantiles: [number, number, number][];
};

describe('Student t quantile', () => {
  test.each(reference.quantiles)("p %d with %d degrees of freedom is SciPy's %d", (p, df, quantile) => {
    expect(Math.abs(studentTQuantile(p, df) / quantile - 1)).toBeLessThan(1e-10);
  });

  test.each([
    [0.975, 1, 12.706],
    [0.975, 4, 2.776],
    [0.975, 10, 2.228],
    [0.975, 30, 2.042],
    [0.95, 2, 2.92],
    [0.995, 20, 2.845],
  ])('p %d with %d degrees of freedom is the %d of printed tables', (p, df, quantile) => {
    expect(studentTQuantile(p, df)).toBeCloseTo(quantile, 3);
  });

  test("cuts the share p off the density, integrated by Simpson's rule", () => {
    const inputs = fc.tuple(
      fc.double({ min: 0.51, max: 0.999, noNaN: true }),
      fc.double({ min: 2, max: 60, noNaN: true }),
    );
    fc.assert(
      fc.property(inputs, ([p, df]) => {
        const kernel = (t: number) => (1 + t ** 2 / df) ** (-(df + 1) / 2);
        const quantile = studentTQuantile(p, df);
        // With t = √df · tan(u) the half line becomes a finite interval, so the density needs no constant.
        const area = (upTo: number) => {
          const steps = 4000;
          const width = upTo / steps;
          let sum = 0;
          for (let step = 0; step <= steps; step++) {
            const u = Math.min(step * width, Math.PI / 2 - 1e-12);
            const weight = step === 0 || step === steps ? 1 : step % 2 === 1 ? 4 : 2;
            sum += (weight * kernel(Math.sqrt(df) * Math.tan(u))) / Math.cos(u) ** 2;
          }
          return (sum * width) / 3;
        };
        const share = area(Math.atan(quantile / Math.sqrt(df))) / area(Math.PI / 2);
        expect(0.5 + share / 2).toBeCloseTo(p, 6);
      }),
      { numRuns: 30 },
    );
  });

  test('is odd around the middle', () => {
    expect(studentTQuantile(0.5, 3)).toBeCloseTo(0, 12);
    expect(studentTQuantile(0.1, 3.5)).toBe(-studentTQuantile(0.9, 3.5));
  });

  test.each([
    [0, 5],
    [1, 5],
    [Number.NaN, 5],
    [0.9, 0],
    [0.9, Number.POSITIVE_INFINITY],
  ])('p %d with %d degrees of freedom is refused', (p, df) => {
    expect(() => studentTQuantile(p, df)).toThrow(RangeError);
  });
});
