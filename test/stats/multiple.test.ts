// Several figures at once: Holm checked against statsmodels, the normal tail and Dunnett's values against SciPy and printed tables.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import { criticalBest, holm, normalTail, studentTQuantile } from '../../src/stats/distributions.js';

const compared = JSON.parse(readFileSync(new URL('../../fixtures/comparison.json', import.meta.url), 'utf8')) as {
  readonly holm: { readonly p: number[]; readonly adjusted: number[] }[];
};

describe('Holm', () => {
  test.each(compared.holm)('adjusts $p like statsmodels', ({ p, adjusted }) => {
    for (const [index, value] of holm(p).entries()) {
      expect(value).toBeCloseTo(adjusted[index] ?? Number.NaN, 12);
    }
  });

  test('of no values is no values', () => {
    expect(holm([])).toEqual([]);
  });
});

describe('the normal tail', () => {
  test.each([
    [0, 0.5],
    [0.3, 0.3820885778110474],
    [1.96, 0.024997895148220435],
    [2.999, 0.0013543365337271057],
    [3.001, 0.0013454728250849653],
    [6, 9.865876450376946e-10],
    [30, 4.906713927147908e-198],
  ])("above %d is SciPy's %d", (z, tail) => {
    expect(Math.abs(normalTail(z) / tail - 1)).toBeLessThan(1e-11);
    expect(normalTail(-z)).toBeCloseTo(1 - tail, 14);
  });
});

describe('the critical value of the best', () => {
  // SciPy: the integral by quad and brentq, then the larger of t at its tail and t at 0.975.
  test.each([
    [2, 40, 2.021075390306273],
    [3, 1000, 1.9623390808264083],
    [5, 8.5, 2.5863647883969185],
    [5, 40, 2.239544424447136],
    [10, 1000, 2.4211585507946136],
    [20, 40, 2.767457579196363],
    [50, 8.5, 3.904368965603355],
  ])('among %d runs with %d degrees of freedom is %d', (runs, df, value) => {
    expect(criticalBest(runs)(df)).toBeCloseTo(value, 9);
  });

  test.each([
    [5, 2.16],
    [10, 2.417],
    [20, 2.631],
  ])("among %d runs is Dunnett's %d for infinite degrees of freedom", (runs, value) => {
    expect(criticalBest(runs)(25_000)).toBeCloseTo(value, 3);
  });

  test("is never narrower than the pair's own interval, however few the runs", () => {
    for (const df of [3, 12, 400]) {
      expect(criticalBest(2)(df)).toBe(studentTQuantile(0.975, df));
      expect(criticalBest(3)(df)).toBe(studentTQuantile(0.975, df));
      expect(criticalBest(4)(df)).toBeGreaterThan(studentTQuantile(0.975, df));
    }
  });

  test("keeps the mark of the truly best run among ten close ones 95 times in 100, which the pair's own t does not", () => {
    const { uniform } = randomOf(5);
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    const [critical, pair] = [criticalBest(10)(1000), studentTQuantile(0.975, 1000)];
    const lost = { hsu: 0, pair: 0 };
    const sets = 4000;
    for (let set = 0; set < sets; set++) {
      const [own, ...others] = Array.from({ length: 10 }, normal) as [number, ...number[]];
      // The difference of two figures with standard error 1, in units of its own standard error.
      const behind = (Math.max(...others) - own) / Math.SQRT2;
      lost.hsu += behind > critical ? 1 : 0;
      lost.pair += behind > pair ? 1 : 0;
    }
    expect(lost.hsu / sets).toBeLessThan(0.06);
    expect(lost.pair / sets).toBeGreaterThan(0.1);
  });
});
