// Statistics: reference values of SciPy, statsmodels and Python, and what must hold for any figures.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  clusteredEstimate,
  mean,
  meanOfEstimates,
  type Observation,
  pairedShift,
  studentTQuantile,
} from '../../src/score/statistics.js';

interface Reference {
  readonly quantiles: [number, number, number][];
  readonly means: { readonly values: number[]; readonly mean: number }[];
  readonly clustered: {
    readonly values: number[];
    readonly clusters: string[];
    readonly mean: number;
    readonly se: number;
    readonly low: number;
    readonly high: number;
  }[];
}
const reference = JSON.parse(
  readFileSync(new URL('../../fixtures/statistics.json', import.meta.url), 'utf8'),
) as Reference;

/** Figures whose sums must be rounded, without the very smallest numbers of floating point. */
const figures = (minLength: number) =>
  fc.array(
    fc.integer({ min: 0, max: 999_900 }).map((whole) => whole / 9999),
    { minLength, maxLength: 40 },
  );

const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

/** Reproducible uniform numbers for simulations (the mixing step of MurmurHash3 over a counter). */
function uniform(seed: number): () => number {
  let counter = seed;
  return () => {
    counter = (counter + 0x9e3779b9) | 0;
    let mixed = Math.imul(counter ^ (counter >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

describe('mean', () => {
  test.each(reference.means)('is Python’s to the last digit, where plain summing is not: $mean', (known) => {
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
    ['keeps what large values would swallow', [1e16, 1.5, -1e16], 0.5],
    ['rounds to the nearest, not down', [1, 1 + 2 ** -52, 1 + 2 ** -52], 1 + 2 ** -52],
    ['of negative values mirrors that of positive ones', [-0.1, -0.2, -0.4], -mean([0.1, 0.2, 0.4])],
    ['of something infinite is infinite', [1.5, Number.POSITIVE_INFINITY], Number.POSITIVE_INFINITY],
  ])('%s', (_, values, expected) => {
    expect(mean(values)).toBe(expected);
  });

  test('of nothing is an error', () => {
    expect(() => mean([])).toThrow(RangeError);
  });
});

describe('clustered estimate', () => {
  test.each(reference.clustered)('has the standard error and interval of statsmodels: $se', (known) => {
    const observations = known.values.map((value, index) => ({ value, cluster: known.clusters[index] ?? '' }));
    const estimate = clusteredEstimate(observations);
    expect(estimate.value).toBeCloseTo(known.mean, 10);
    expect(estimate.se).toBeCloseTo(known.se, 10);
    expect(estimate.low).toBeCloseTo(known.low, 9);
    expect(estimate.high).toBeCloseTo(known.high, 9);
    expect(estimate.df).toBe(new Set(known.clusters).size - 1);
    expect(estimate.rows).toBe(known.values.length);
  });

  test('follows the formula by hand', () => {
    const [one, two, ...rest] = each(1, 2, 4, 5);
    // Residuals by cluster: (1 - 3) + (2 - 3), 4 - 3 and 5 - 3. SE² = 3/2 · (9 + 1 + 4) / 16.
    const estimate = clusteredEstimate([one, { ...two, cluster: 'c0' }, ...rest] as Observation[]);
    expect(estimate).toMatchObject({ value: 3, rows: 4, clusters: 3, df: 2 });
    expect(estimate.se).toBeCloseTo(Math.sqrt(1.3125), 14);
  });

  test('of one cluster claims no uncertainty at all', () => {
    const estimate = clusteredEstimate([
      { value: 1, cluster: 'only' },
      { value: 5, cluster: 'only' },
    ]);
    expect(estimate).toEqual({ value: 3, rows: 2, clusters: 1 });
  });

  test('of rows that are clusters of their own has the ordinary standard error', () => {
    fc.assert(
      fc.property(figures(2), (some) => {
        const { value, se } = clusteredEstimate(each(...some));
        const squares = some.reduce((sum, one) => sum + (one - value) ** 2, 0);
        expect(se).toBeCloseTo(Math.sqrt(squares / (some.length - 1) / some.length), 9);
      }),
    );
  });

  test('is no surer when every row is there twice', () => {
    fc.assert(
      fc.property(figures(2), (some) => {
        const once = clusteredEstimate(each(...some));
        const twice = clusteredEstimate([...each(...some), ...each(...some)]);
        expect(twice.value).toBe(once.value);
        expect(twice.se).toBeCloseTo(once.se ?? Number.NaN, 9);
        expect(twice.df).toBe(once.df);
      }),
    );
  });

  test('holds the truth in its interval about 95 times in 100, though the turns of a trajectory agree', () => {
    const random = uniform(1);
    const turns = (cluster: string, shared: number) =>
      Array.from({ length: 4 }, () => ({ value: 50 + shared + 10 * (random() - 0.5), cluster }));
    let held = 0;
    for (let run = 0; run < 2000; run++) {
      const rows = Array.from({ length: 12 }, (_, index) => turns(`t${index}`, 40 * (random() - 0.5))).flat();
      const { low = Number.NaN, high = Number.NaN } = clusteredEstimate(rows);
      held += low <= 50 && 50 <= high ? 1 : 0;
    }
    expect(held).toBeGreaterThan(1870);
    expect(held).toBeLessThan(1930);
  });
});

describe('mean of estimates', () => {
  test('adds variances and follows Satterthwaite', () => {
    const a = { value: 40, rows: 10, clusters: 5, se: 3, df: 4, low: 0, high: 0 };
    const b = { value: 60, rows: 20, clusters: 9, se: 4, df: 8, low: 0, high: 0 };
    const both = meanOfEstimates([a, b]);
    expect(both).toMatchObject({ value: 50, rows: 30, clusters: 14, se: 2.5 });
    expect(both.df).toBeCloseTo(25 ** 2 / (9 ** 2 / 4 + 16 ** 2 / 8), 12);
    expect((both.high ?? 0) - 50).toBeCloseTo(2.5 * studentTQuantile(0.975, both.df ?? 0), 12);
  });

  test('has no interval where a domain has none', () => {
    const known = clusteredEstimate(each(10, 20, 30));
    expect(meanOfEstimates([known, clusteredEstimate(each(50))])).toEqual({ value: 35, rows: 4, clusters: 4 });
  });

  test('of figures that never differ is a point', () => {
    const flat = clusteredEstimate(each(7, 7, 7));
    expect(meanOfEstimates([flat, flat])).toMatchObject({ value: 7, se: 0, df: 4, low: 7, high: 7 });
  });

  test('of one estimate is that estimate', () => {
    fc.assert(
      fc.property(figures(2), (some) => {
        const alone = clusteredEstimate(each(...some));
        const through = meanOfEstimates([alone]);
        expect(through.value).toBe(alone.value);
        expect(through.low).toBeCloseTo(alone.low ?? Number.NaN, 6);
      }),
    );
  });
});

describe('paired shift', () => {
  test('is b minus a, with the noise that pairs share taken out, and may be negative', () => {
    const shift = pairedShift([
      { a: 10, b: 8, cluster: 'x' },
      { a: 90, b: 87, cluster: 'y' },
      { a: 50, b: 49, cluster: 'z' },
    ]);
    expect(shift).toMatchObject({ value: -2, rows: 3, clusters: 3, df: 2 });
    expect(shift.se).toBeCloseTo(Math.sqrt(1 / 3), 12);
    expect(shift.low).toBeCloseTo(-2 - studentTQuantile(0.975, 2) * Math.sqrt(1 / 3), 12);
  });

  test('is not clipped to the scale of scores', () => {
    const shift = pairedShift([
      { a: 100, b: 0, cluster: 'x' },
      { a: 90, b: 10, cluster: 'y' },
    ]);
    expect(shift.value).toBe(-90);
    expect(shift.low).toBeLessThan(-100);
  });
});

describe('Student t quantile', () => {
  test.each(reference.quantiles)('p %d with %d degrees of freedom is SciPy’s %d', (p, df, quantile) => {
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

  test('cuts the share p off the density, integrated by Simpson’s rule', () => {
    const inputs = fc.tuple(
      fc.double({ min: 0.51, max: 0.999, noNaN: true }),
      fc.double({ min: 2, max: 60, noNaN: true }),
    );
    fc.assert(
      fc.property(inputs, ([p, df]) => {
        const kernel = (t: number) => (1 + t ** 2 / df) ** (-(df + 1) / 2);
        const quantile = studentTQuantile(p, df);
        // With t = √df · tan(u) the whole half line is a finite stretch, so the density needs no constant of its own.
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
