// Means over clusters: reference values from complete matrices and SciPy, and what must hold for any figures.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import { clusteredEstimate, mean, meanOfEstimates, type Observation, pairedShift } from '../../src/stats/clusters.js';
import { studentTQuantile } from '../../src/stats/distributions.js';

interface Clustered {
  readonly values: number[];
  readonly clusters: string[];
  readonly mean: number;
  readonly se: number;
  readonly df: number;
  readonly low: number;
  readonly high: number;
}
function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8'));
}
const reference = read('statistics.json') as { readonly clustered: Clustered[] };
const compared = read('comparison.json') as {
  readonly overall: Record<'x' | 'y', number[]> & Record<'mean' | 'se' | 'df' | 'low' | 'high', number>;
  readonly uniform: (Record<'mean' | 'se' | 'df' | 'low' | 'high', number> & { readonly domains: number[][] })[];
};

/** Figures whose sums must be rounded, without the very smallest floating-point numbers. */
const figures = (minLength: number) =>
  fc.array(
    fc.integer({ min: 0, max: 999_900 }).map((whole) => whole / 9999),
    { minLength, maxLength: 40 },
  );

const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

/** The degrees of freedom from the G x G covariance matrix, entry by entry. */
function freedomByMatrix(observations: readonly Observation[]): number {
  const rows = observations.length;
  const centre = mean(observations.map(({ value }) => value));
  const clusters = [...new Set(observations.map(({ cluster }) => cluster))].map((name) =>
    observations.filter(({ cluster }) => cluster === name).map(({ value }) => value - centre),
  );
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const products = clusters.map((one) => sum(one.flatMap((a, i) => one.flatMap((b, j) => (i === j ? [] : a * b)))));
  const variance = sum(clusters.flat().map((value) => value ** 2)) / rows;
  const pairs = sum(clusters.map((one) => one.length * (one.length - 1)));
  const rho = pairs === 0 || variance === 0 ? 0 : Math.min(1, Math.max(0, sum(products) / pairs / variance));
  const sums = clusters.map((one) => one.length + one.length * (one.length - 1) * rho);
  const covariance = (g: number, h: number) =>
    sum(
      clusters.map((_, k) => {
        const [pg, ph] = [g, h].map((place) => (clusters[place] as number[]).length / rows) as [number, number];
        return ((g === k ? 1 : 0) - pg) * ((h === k ? 1 : 0) - ph) * (sums[k] as number);
      }),
    );
  const weight = (g: number) => 1 / Math.sqrt(1 - (clusters[g] as number[]).length / rows);
  const matrix = clusters.map((_, g) => clusters.map((_, h) => weight(g) * weight(h) * covariance(g, h)));
  return sum(matrix.map((line, g) => line[g] ?? 0)) ** 2 / sum(matrix.flat().map((value) => value ** 2));
}

describe('clustered estimate', () => {
  test.each(reference.clustered)(
    'has the CR2 standard error, degrees of freedom and interval of complete matrices: $se, $df',
    (known) => {
      const observations = known.values.map((value, index) => ({ value, cluster: known.clusters[index] ?? '' }));
      const estimate = clusteredEstimate(observations);
      expect(estimate.value).toBeCloseTo(known.mean, 10);
      expect(estimate.se).toBeCloseTo(known.se, 10);
      expect(estimate.low).toBeCloseTo(known.low, 9);
      expect(estimate.high).toBeCloseTo(known.high, 9);
      expect(Math.abs((estimate.df ?? 0) / known.df - 1)).toBeLessThan(1e-10);
      expect(estimate.rows).toBe(known.values.length);
    },
  );

  test('matches the formula worked out by hand', () => {
    const [one, two, ...rest] = each(1, 2, 4, 5, 3, 3);
    // Residuals by cluster: (1 - 3) + (2 - 3), 4 - 3, 5 - 3, 0 and 0. SE² = (9 / (1 - 1/3) + (1 + 4) / (1 - 1/6)) / 36.
    const estimate = clusteredEstimate([one, { ...two, cluster: 'c0' }, ...rest] as Observation[]);
    expect(estimate).toMatchObject({ value: 3, rows: 6, clusters: 5 });
    expect(estimate.se).toBeCloseTo(Math.sqrt((13.5 + 6) / 36), 14);
  });

  const unlike = fc.array(fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 12 }), {
    minLength: 5,
    maxLength: 14,
  });
  const clustersOf = (sets: number[][]) =>
    sets.flatMap((values, index) => values.map((value) => ({ value: value / 5, cluster: `t${index}` })));

  test('has the degrees of freedom of the complete cluster matrix, whatever the cluster sizes', () => {
    fc.assert(
      fc.property(unlike, (sets) => {
        const observations = clustersOf(sets);
        const { df = Number.NaN } = clusteredEstimate(observations);
        expect(Math.abs(df / freedomByMatrix(observations) - 1)).toBeLessThan(1e-9);
      }),
    );
  });

  test('has G - 1 degrees of freedom for clusters of equal size, and never more', () => {
    fc.assert(
      fc.property(unlike, (sets) => {
        const alike = sets.map((values) => Array.from({ length: 4 }, (_, index) => values[index % values.length] ?? 0));
        expect(clusteredEstimate(clustersOf(alike)).df).toBeCloseTo(sets.length - 1, 9);
        expect(clusteredEstimate(clustersOf(sets)).df).toBeLessThan(sets.length - 1 + 1e-9);
      }),
    );
  });

  test.each([1, 2, 3, 4])('of %d clusters is only a number, since no test of so few can say anything', (clusters) => {
    const observations = Array.from({ length: 12 }, (_, index) => ({ value: index, cluster: `t${index % clusters}` }));
    expect(clusteredEstimate(observations)).toEqual({ value: 5.5, rows: 12, clusters });
  });

  test('of equal rows has an interval from 50 clusters on', () => {
    const flat = (clusters: number) => clusteredEstimate(each(...Array.from({ length: clusters }, () => 7)));
    expect(flat(49)).toEqual({ value: 7, rows: 49, clusters: 49, se: 0, df: flat(49).df });
    expect(flat(50)).toMatchObject({ value: 7, se: 0, low: 7, high: 7 });
  });

  test('of rows that are each their own cluster has the ordinary standard error', () => {
    fc.assert(
      fc.property(figures(5), (some) => {
        const { value, se } = clusteredEstimate(each(...some));
        const squares = some.reduce((sum, one) => sum + (one - value) ** 2, 0);
        expect(se).toBeCloseTo(Math.sqrt(squares / (some.length - 1) / some.length), 9);
      }),
    );
  });

  test('is no more certain if every row is duplicated', () => {
    fc.assert(
      fc.property(figures(5), (some) => {
        const once = clusteredEstimate(each(...some));
        const twice = clusteredEstimate([...each(...some), ...each(...some)]);
        expect(twice.value).toBe(once.value);
        expect(twice.se).toBeCloseTo(once.se ?? Number.NaN, 9);
        expect(twice.df).toBeCloseTo(once.df ?? Number.NaN, 9);
      }),
    );
  });

  test('covers the truth about 95 times in 100, although the turns of a trajectory agree', () => {
    const random = randomOf(1).uniform;
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

  test('has no interval if a domain has none', () => {
    const known = clusteredEstimate(each(10, 20, 30, 20, 20));
    const few = clusteredEstimate(each(50, 51, 49, 50));
    expect(meanOfEstimates([known, few])).toEqual({ value: 35, rows: 9, clusters: 9 });
  });

  test.each([5, 49])('of scores has no interval if a domain of %d trajectories never varies', (count) => {
    const flat = clusteredEstimate(each(...Array.from({ length: count }, () => 7)), 'score');
    const known = clusteredEstimate(each(10, 20, 30, 20, 20), 'score');
    expect(meanOfEstimates([flat, known], 'score')).toEqual({ value: 13.5, rows: count + 5, clusters: count + 5 });
    expect(meanOfEstimates([flat, flat], 'score')).not.toHaveProperty('se');
  });

  test.each(compared.uniform)(
    'of differences allows for what a domain that never varies may hide, as in SciPy',
    (set) => {
      const found = meanOfEstimates(set.domains.map((values) => clusteredEstimate(each(...values))));
      expect(found.value).toBeCloseTo(set.mean, 10);
      for (const name of ['se', 'df', 'low', 'high'] as const) expect(found[name], name).toBeCloseTo(set[name], 9);
    },
  );

  test('of scores that never vary is a point from 50 trajectories in each domain on', () => {
    const flat = clusteredEstimate(each(...Array.from({ length: 50 }, () => 7)), 'score');
    const { low, high, ...mean } = meanOfEstimates([flat, flat], 'score');
    expect(mean).toMatchObject({ value: 7, se: 0, df: 98 });
    expect(low).toBeCloseTo(7, 10);
    expect(high).toBeCloseTo(7, 10);
  });

  test('of one estimate is that estimate', () => {
    fc.assert(
      fc.property(figures(5), (some) => {
        const alone = clusteredEstimate(each(...some));
        fc.pre(alone.se !== undefined && alone.se > 1e-9);
        const through = meanOfEstimates([alone]);
        expect(through.value).toBe(alone.value);
        expect(through.low ?? 0).toBeCloseTo(alone.low ?? 0, 6);
      }),
    );
  });
});

describe('Overall of domains', () => {
  test("has the degrees of freedom (Satterthwaite) and interval of SciPy's Welch test", () => {
    const { x, y, ...known } = compared.overall;
    const overall = meanOfEstimates([clusteredEstimate(each(...x)), clusteredEstimate(each(...y))]);
    expect(overall.value).toBeCloseTo(known.mean, 10);
    expect(overall.se).toBeCloseTo(known.se, 10);
    expect(overall.df).toBeCloseTo(known.df, 9);
    expect(overall.low).toBeCloseTo(known.low, 9);
    expect(overall.high).toBeCloseTo(known.high, 9);
  });
});

describe('paired shift', () => {
  test('is b minus a, without the noise that pairs share, and may be negative', () => {
    const shift = pairedShift([
      { a: 10, b: 8, cluster: 'x' },
      { a: 90, b: 87, cluster: 'y' },
      { a: 50, b: 49, cluster: 'z' },
      { a: 20, b: 18, cluster: 'v' },
      { a: 70, b: 68, cluster: 'w' },
    ]);
    expect(shift).toMatchObject({ value: -2, rows: 5, clusters: 5 });
    expect(shift.df).toBeCloseTo(4, 12);
    expect(shift.se).toBeCloseTo(Math.sqrt(2 / 4 / 5), 12);
    expect(shift.low).toBeCloseTo(-2 - studentTQuantile(0.975, 4) * Math.sqrt(2 / 4 / 5), 12);
  });

  test('is not limited to the scale of scores', () => {
    const shift = pairedShift([80, 100, 60, 100, 100].map((a, index) => ({ a, b: 0, cluster: `t${index}` })));
    expect(shift.value).toBe(-88);
    expect(shift.low).toBeLessThan(-100);
  });
});
