// Statistics: reference values of SciPy, statsmodels and Python, and what must hold for any figures.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chanceBelow,
  clusteredEstimate,
  intervalAt,
  meanOfEstimates,
  type Observation,
  pairedShift,
  smallestEffect,
} from '../../src/score/clusters.js';
import { mean } from '../../src/score/mean.js';
import { randomFrom, randomOf } from '../../src/score/random.js';
import { bootstrapInterval, signFlipP } from '../../src/score/resampling.js';
import { meanOfSplits, rowValue, splitVariance } from '../../src/score/sampling.js';
import { studentTQuantile } from '../../src/score/student.js';

interface Reference {
  readonly quantiles: [number, number, number][];
  readonly means: { readonly values: number[]; readonly mean: number }[];
  readonly clustered: {
    readonly values: number[];
    readonly clusters: string[];
    readonly mean: number;
    readonly se: number;
    readonly df: number;
    readonly low: number;
    readonly high: number;
  }[];
}
interface Clustered {
  readonly values: number[];
  readonly clusters: string[];
}
interface ComparisonReference {
  readonly tails: [number, number, number][];
  readonly detectable: [number, number][];
  readonly flips: (Clustered & { readonly p: number })[];
  readonly overall: Record<'x' | 'y', number[]> & Record<'mean' | 'se' | 'df' | 'low' | 'high' | 'p', number>;
  readonly split: {
    readonly rows: number[][][];
    readonly generationMeanSquare: number;
    readonly judgementMeanSquare: number;
  };
  readonly bootstrap: Clustered & { readonly low: number; readonly high: number };
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), 'utf8'));
}
const reference = read('statistics.json') as Reference;
const compared = read('comparison.json') as ComparisonReference;

const observed = ({ values, clusters }: Clustered): Observation[] =>
  values.map((value, index) => ({ value, cluster: clusters[index] ?? '' }));

/** Figures whose sums must be rounded, without the very smallest numbers of floating point. */
const figures = (minLength: number) =>
  fc.array(
    fc.integer({ min: 0, max: 999_900 }).map((whole) => whole / 9999),
    { minLength, maxLength: 40 },
  );

const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

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

/** The degrees of freedom from the G x G matrix of covariances, entry by entry. */
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
    'has the CR2 standard error, degrees of freedom and interval of whole matrices: $se, $df',
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

  test('follows the formula by hand', () => {
    const [one, two, ...rest] = each(1, 2, 4, 5);
    // Residuals by cluster: (1 - 3) + (2 - 3), 4 - 3 and 5 - 3. SE² = (9 / (1 - 1/2) + (1 + 4) / (1 - 1/4)) / 16.
    const estimate = clusteredEstimate([one, { ...two, cluster: 'c0' }, ...rest] as Observation[]);
    expect(estimate).toMatchObject({ value: 3, rows: 4, clusters: 3 });
    expect(estimate.se).toBeCloseTo(Math.sqrt((18 + 20 / 3) / 16), 14);
  });

  const unlike = fc.array(fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 12 }), {
    minLength: 5,
    maxLength: 14,
  });
  const clustersOf = (sets: number[][]) =>
    sets.flatMap((values, index) => values.map((value) => ({ value: value / 5, cluster: `t${index}` })));

  test('has the degrees of freedom of the whole matrix of clusters, whatever their sizes', () => {
    fc.assert(
      fc.property(unlike, (sets) => {
        const observations = clustersOf(sets);
        const { df = Number.NaN } = clusteredEstimate(observations);
        expect(Math.abs(df / freedomByMatrix(observations) - 1)).toBeLessThan(1e-9);
      }),
    );
  });

  test('has G - 1 degrees of freedom for clusters of one size, and never more', () => {
    fc.assert(
      fc.property(unlike, (sets) => {
        const alike = sets.map((values) => Array.from({ length: 4 }, (_, index) => values[index % values.length] ?? 0));
        expect(clusteredEstimate(clustersOf(alike)).df).toBeCloseTo(sets.length - 1, 9);
        expect(clusteredEstimate(clustersOf(sets)).df).toBeLessThan(sets.length - 1 + 1e-9);
      }),
    );
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
        expect(twice.df).toBeCloseTo(once.df ?? Number.NaN, 9);
      }),
    );
  });

  test('holds the truth in its interval about 95 times in 100, though the turns of a trajectory agree', () => {
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

describe('seeded chance', () => {
  test('is xoshiro128**, by the published vector of the state 1, 2, 3, 4', () => {
    const { bits } = randomFrom([1, 2, 3, 4]);
    expect(Array.from({ length: 6 }, bits)).toEqual([11520, 0, 5927040, 70819200, 2031721883, 1637235492]);
  });

  test('repeats itself for a seed, and not for its neighbour', () => {
    const some = (seed: number) => Array.from({ length: 8 }, randomOf(seed).bits);
    expect(some(7)).toEqual(some(7));
    expect(some(7).filter((word) => some(8).includes(word))).toEqual([]);
  });

  test('falls evenly into ten parts', () => {
    const { uniform } = randomOf(3);
    const parts = Array.from({ length: 10 }, () => 0);
    for (let draw = 0; draw < 20_000; draw++) {
      const part = Math.floor(uniform() * 10);
      parts[part] = (parts[part] ?? 0) + 1;
    }
    // Chi square with 9 degrees of freedom: 27.9 is exceeded once in a thousand seeds.
    expect(parts.reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0)).toBeLessThan(27.9);
  });
});

describe('chance of an estimate below its bound', () => {
  test.each(compared.tails)('t %d with %d degrees of freedom has the tail of SciPy: %d', (t, df, tail) => {
    const estimate = { value: 10 - 2 * t, rows: 9, clusters: 3, se: 2, df, low: 0, high: 0 };
    expect(Math.abs((chanceBelow(estimate, 10) ?? 0) / tail - 1)).toBeLessThan(1e-9);
  });

  test('is below alpha / 2 exactly where the interval ends below the bound', () => {
    const inputs = fc.tuple(
      figures(3),
      fc.double({ min: -20, max: 120, noNaN: true }),
      fc.constantFrom(0.01, 0.05, 0.2),
    );
    fc.assert(
      fc.property(inputs, ([some, bound, alpha]) => {
        const estimate = clusteredEstimate(each(...some));
        const high = intervalAt(estimate, alpha)?.high ?? Number.NaN;
        fc.pre(Math.abs(high - bound) > 1e-6);
        expect((chanceBelow(estimate, bound) ?? Number.NaN) < alpha / 2).toBe(high < bound);
      }),
    );
  });

  test.each([
    ['below', 7, 7.5, 0],
    ['at', 7, 7, 1],
    ['above', 7, 6, 1],
  ])('is certain where rows never differ: %s the bound', (_, value, bound, chance) => {
    expect(chanceBelow(clusteredEstimate(each(value, value)), bound)).toBe(chance);
  });

  test('is unknown without an interval', () => {
    const alone = clusteredEstimate(each(4));
    expect([chanceBelow(alone, 3), intervalAt(alone, 0.05), smallestEffect(alone)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('interval at a level', () => {
  test('at 0.05 is the estimate’s own, and is wider at 0.01', () => {
    const estimate = clusteredEstimate(each(10, 40, 35, 90));
    const wide = intervalAt(estimate, 0.01);
    expect(intervalAt(estimate, 0.05)).toEqual({ low: estimate.low, high: estimate.high });
    expect(wide?.low).toBeCloseTo(estimate.value - 5.840909 * (estimate.se ?? 0), 4);
  });
});

describe('smallest effect', () => {
  test.each(compared.detectable)('with %d degrees of freedom comes near the exact one of %d', (df, exact) => {
    const effect = smallestEffect({ value: 0, rows: 9, clusters: 9, se: 1, df, low: 0, high: 0 }) ?? 0;
    const error = effect / exact - 1;
    expect(Math.abs(error)).toBeLessThan(df >= 5 ? 0.01 : df === 2 ? 0.055 : 0.14);
  });
});

describe('sign flips', () => {
  test.each(compared.flips)('give the exact p of SciPy: $p', (known) => {
    expect(signFlipP([observed(known)], { draws: 1, seed: 1 })).toBeCloseTo(known.p, 12);
  });

  test('flip whole trajectories, not rows', () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({ value: 5, cluster: `t${index % 2}` }));
    // Of four patterns of two trajectories two are as far from 0 as the observed one.
    expect(signFlipP([rows], { draws: 1, seed: 1 })).toBe(0.5);
  });

  test('sampled come near the exact p, and never to 0', () => {
    const many = each(...Array.from({ length: 17 }, (_, index) => (index % 4) * 10 - 8));
    const exact = signFlipP([many.slice(0, 16)], { draws: 1, seed: 1 });
    // A seventeenth so small that it decides nothing makes the same test a sampled one.
    const sampled = signFlipP([[...many.slice(0, 16), { value: 1e-7, cluster: 'more' }]], { draws: 20_000, seed: 5 });
    expect(Math.abs(sampled - exact)).toBeLessThan(0.015);
    expect(signFlipP([each(...Array.from({ length: 40 }, () => 3))], { draws: 99, seed: 5 })).toBe(0.01);
  });

  test('weigh domains alike, however many rows they have', () => {
    const small = each(-30, -30, -30, -30, -30);
    const large = Array.from({ length: 500 }, (_, index) => ({ value: 10, cluster: `l${index % 5}` }));
    // Of Overall a trajectory of the small domain moves -30 / 5 / 2 points, one of the large domain 1000 / 500 / 2.
    const parts = [...Array.from({ length: 5 }, () => -3), ...Array.from({ length: 5 }, () => 1)];
    let found = 0;
    for (let pattern = 0; pattern < 1024; pattern++) {
      const sum = parts.reduce((total, part, index) => total + ((pattern >> index) & 1 ? -part : part), 0);
      found += Math.abs(sum) >= 10 ? 1 : 0;
    }
    expect(signFlipP([small, large], { draws: 1, seed: 1 })).toBeCloseTo(found / 1024, 12);
  });

  test('of runs that never differ is 1', () => {
    expect(signFlipP([each(0, 0, 0)], { draws: 10, seed: 1 })).toBe(1);
  });
});

describe('cluster bootstrap', () => {
  test('gives the percentile interval of SciPy, within the error of drawing', () => {
    const { low = 0, high = 0 } = bootstrapInterval([observed(compared.bootstrap)], { draws: 10_000, seed: 1 }) ?? {};
    const width = compared.bootstrap.high - compared.bootstrap.low;
    expect(Math.abs(low - compared.bootstrap.low)).toBeLessThan(0.025 * width);
    expect(Math.abs(high - compared.bootstrap.high)).toBeLessThan(0.025 * width);
  });

  test('agrees with the t interval of Overall within a twentieth, and repeats itself', () => {
    const { uniform } = randomOf(11);
    const domain = (name: string, centre: number) =>
      Array.from({ length: 400 }, (_, index) => ({ value: centre + 50 * uniform(), cluster: `${name}${index % 80}` }));
    const strata = [domain('a', 10), domain('b', 30), domain('c', 0)];
    const exact = meanOfEstimates(strata.map(clusteredEstimate));
    const drawn = bootstrapInterval(strata, { draws: 10_000, seed: 2 });
    const width = (exact.high ?? 0) - (exact.low ?? 0);
    expect(Math.abs((drawn?.low ?? 0) - (exact.low ?? 0))).toBeLessThan(width / 20);
    expect(Math.abs((drawn?.high ?? 0) - (exact.high ?? 0))).toBeLessThan(width / 20);
    expect(bootstrapInterval(strata, { draws: 10_000, seed: 2 })).toEqual(drawn);
  });

  test('of one trajectory is none', () => {
    const alone = [
      { value: 3, cluster: 'one' },
      { value: 4, cluster: 'one' },
    ];
    expect(bootstrapInterval([each(1, 2), alone], { draws: 100, seed: 1 })).toBeUndefined();
  });
});

describe('Overall of domains', () => {
  test('has the Satterthwaite degrees of freedom and interval of Welch in SciPy', () => {
    const { x, y, ...known } = compared.overall;
    const overall = meanOfEstimates([clusteredEstimate(each(...x)), clusteredEstimate(each(...y))]);
    expect(overall.value).toBeCloseTo(known.mean, 10);
    expect(overall.se).toBeCloseTo(known.se, 10);
    expect(overall.df).toBeCloseTo(known.df, 9);
    expect(overall.low).toBeCloseTo(known.low, 9);
    expect(overall.high).toBeCloseTo(known.high, 9);
  });
});

describe('variance split', () => {
  const { rows, generationMeanSquare, judgementMeanSquare } = compared.split;

  test('has the mean squares of the analysis of variance in statsmodels', () => {
    const se = clusteredEstimate(each(...rows.map(rowValue))).se ?? 0;
    const split = splitVariance(se, [rows]);
    // 12 rows of 3 generations of 2 judgements each.
    expect(split.judge).toBeCloseTo(judgementMeanSquare / (12 * 3 * 2), 9);
    expect((split.judge ?? 0) + (split.generation ?? 0)).toBeCloseTo(generationMeanSquare / (12 * 3), 9);
    expect(split.perRepeat).toBeCloseTo(generationMeanSquare / 12, 9);
    expect(split.row + (split.generation ?? 0) + (split.judge ?? 0)).toBeCloseTo(se ** 2, 9);
  });

  test('says nothing of generation where a run has no repeats, nor of the judge where one judged once', () => {
    const once = rows.map((row) => row.slice(0, 1));
    const judgedOnce = rows.map((row) => row.map((judgements) => judgements.slice(0, 1)));
    const half = splitVariance(9, [rows, once]);
    expect(Object.keys(half).sort()).toEqual(['judge', 'row']);
    expect(half.row + (half.judge ?? 0)).toBeCloseTo(81, 9);
    expect(Object.keys(splitVariance(9, [rows, judgedOnce])).sort()).toEqual(['generation', 'perRepeat', 'row']);
    expect(splitVariance(3, [judgedOnce.map((row) => row.slice(0, 1))])).toEqual({ row: 9 });
  });

  test('of Overall adds up to its variance, and gives back to the rows what not every domain knows', () => {
    const known = { row: 4, generation: 2, judge: 1, perRepeat: 9 };
    expect(meanOfSplits([known, known])).toEqual({ row: 2, generation: 1, judge: 0.5, perRepeat: 4.5 });
    expect(meanOfSplits([known, { row: 5, generation: 2, perRepeat: 6 }])).toEqual({
      row: (4 + 1 + 5) / 4,
      generation: 1,
      perRepeat: 15 / 4,
    });
  });

  test('finds the parts that a simulation put in', () => {
    const { uniform } = randomOf(21);
    const noise = (spread: number) => spread * (uniform() - 0.5) * Math.sqrt(12);
    const run = (truth: number[]) => truth.map((row) => [0, 1, 2, 3].map(() => [row + noise(8)]));
    const truth = Array.from({ length: 1000 }, () => noise(20));
    const [base, candidate] = [run(truth), run(truth.map((row) => row + noise(5)))];
    const shift = base.map((row, index) => rowValue(candidate[index] ?? []) - rowValue(row));
    const split = splitVariance(clusteredEstimate(each(...shift)).se ?? 0, [base, candidate]);
    // Sampling: 64 / 4 of each run; the rows' own: 25 of the candidate.
    expect(Math.abs((split.generation ?? 0) * 1000 - 32)).toBeLessThan(2);
    expect(Math.abs(split.row * 1000 - 25)).toBeLessThan(5);
    expect(Math.abs((split.perRepeat ?? 0) * 1000 - 128)).toBeLessThan(8);
  });
});
