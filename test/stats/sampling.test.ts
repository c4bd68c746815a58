// The variance split, checked against the analysis of variance of statsmodels, and a simulation with known parts.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import { meanOfSplits, noiseOf, onTheseRows, samplingOf, splitVariance } from '../../src/stats/aggregate.js';
import { clusteredEstimate, mean, type Observation } from '../../src/stats/clusters.js';

const compared = JSON.parse(readFileSync(new URL('../../fixtures/comparison.json', import.meta.url), 'utf8')) as {
  readonly split: {
    readonly rows: number[][][];
    readonly generationMeanSquare: number;
    readonly judgementMeanSquare: number;
  };
  readonly unequal: { readonly rows: number[][][]; readonly generation: number; readonly judge: number }[];
};

/** Generations that were judged once each. */
const judgedOnce = (rows: readonly (readonly number[])[]) => rows.map((row) => row.map((value) => [value]));
const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

describe('variance split', () => {
  // 12 rows with 3 generations, each the mean of two values in the reference.
  const rows = compared.split.rows.map((row) => row.map(mean));
  // The reference has the mean square of means of two values, times two.
  const meanSquare = compared.split.generationMeanSquare;

  test('has the mean square of the analysis of variance in statsmodels', () => {
    const se = clusteredEstimate(each(...rows.map(mean))).se ?? 0;
    const split = splitVariance(se ** 2, samplingOf([judgedOnce(rows)]));
    expect(split.generation).toBeCloseTo(meanSquare / (12 * 3), 9);
    expect(split.perRepeat).toBeCloseTo(meanSquare / 12, 9);
    expect(split.row + (split.generation ?? 0)).toBeCloseTo(se ** 2, 9);
  });

  test('says nothing about sampling if a run has no repeats', () => {
    const once = rows.map((row) => row.slice(0, 1));
    const sampling = samplingOf([judgedOnce(rows), judgedOnce(once)]);
    expect(onTheseRows({ value: 1, rows: 12, clusters: 12 }, sampling)).toBeUndefined();
    expect(splitVariance(81, sampling)).toEqual({ row: 81 });
  });

  test("has Satterthwaite's degrees of freedom over two runs", () => {
    const repeated = judgedOnce(rows);
    const sampling = samplingOf([repeated, repeated.map((row) => row.slice(0, 2))]);
    expect(samplingOf([repeated, repeated]).df).toBeCloseTo(48, 9);
    expect(sampling.df).toBeGreaterThan(12);
    expect(sampling.df).toBeLessThan(36);
  });

  test('of Overall adds up to its variance, and returns to the rows what some domain does not know', () => {
    const known = { row: 4, generation: 2, perRepeat: 9 };
    expect(meanOfSplits([known, known])).toEqual({ row: 2, generation: 1, perRepeat: 4.5 });
    expect(meanOfSplits([known, { row: 5 }])).toEqual({ row: (4 + 2 + 5) / 4 });
  });

  test('recovers the simulated parts, and the interval for these rows covers their own difference', () => {
    const { uniform } = randomOf(21);
    const noise = (spread: number) => spread * (uniform() - 0.5) * Math.sqrt(12);
    const run = (truth: number[]) => truth.map((row) => [0, 1, 2, 3].map(() => row + noise(8)));
    const truth = Array.from({ length: 1000 }, () => noise(20));
    const [base, candidate] = [run(truth), run(truth.map((row) => row + noise(5)))];
    const shift = base.map((row, index) => mean(candidate[index] ?? []) - mean(row));
    const estimate = clusteredEstimate(each(...shift));
    const split = splitVariance((estimate.se ?? 0) ** 2, samplingOf([base, candidate].map(judgedOnce)));
    // Sampling: 64 / 4 for each run; the rows' own: 25 for the candidate.
    expect(Math.abs((split.generation ?? 0) * 1000 - 32)).toBeLessThan(2);
    expect(Math.abs(split.row * 1000 - 25)).toBeLessThan(5);
    expect(Math.abs((split.perRepeat ?? 0) * 1000 - 128)).toBeLessThan(8);
  });

  test('for these rows, an interval covers their true difference, however few they are', () => {
    const { uniform } = randomOf(8);
    const noise = (spread: number) => spread * (uniform() - 0.5) * Math.sqrt(12);
    let held = 0;
    for (let set = 0; set < 2000; set++) {
      const truth = Array.from({ length: 20 }, () => noise(20));
      const run = () => truth.map((row) => [row + noise(8), row + noise(8)]);
      const [base, candidate] = [run(), run()];
      const value = mean(candidate.map(mean)) - mean(base.map(mean));
      const fixed = onTheseRows({ value, rows: 20, clusters: 20 }, samplingOf([base, candidate].map(judgedOnce)));
      held += (fixed?.low ?? 1) <= 0 && 0 <= (fixed?.high ?? -1) ? 1 : 0;
    }
    expect(held / 2000).toBeGreaterThan(0.935);
    expect(held / 2000).toBeLessThan(0.965);
  });
});

describe('the noise of one judgement', () => {
  test('is the root of half the mean square of the difference between two of them', () => {
    const pairs = [
      { a: 50, b: 56 },
      { a: 40, b: 32 },
    ];
    expect(noiseOf(pairs)).toBeCloseTo(5, 12);
  });
});

describe("the judge's part of the variance", () => {
  const { rows, generationMeanSquare, judgementMeanSquare } = compared.split;
  const means = rows.map((row) => row.map(mean));

  test('has the mean squares of the analysis of variance in statsmodels', () => {
    const se = clusteredEstimate(each(...means.map(mean))).se ?? 0;
    const split = splitVariance(se ** 2, samplingOf([rows]));
    expect(split.judge).toBeCloseTo(judgementMeanSquare / (12 * 3 * 2), 9);
    expect(split.generation).toBeCloseTo((generationMeanSquare - judgementMeanSquare / 2) / (12 * 3), 9);
    expect(split.row + (split.generation ?? 0) + (split.judge ?? 0)).toBeCloseTo(se ** 2, 9);
    expect(split.perRepeat).toBeCloseTo(generationMeanSquare / 12, 9);
  });

  test.each(compared.unequal)(
    'equals that of complete matrices for unequal numbers, and so does generation: $judge',
    (known) => {
      const { judge, generation } = samplingOf([known.rows]);
      expect(judge).toBeCloseTo(known.judge, 9);
      expect(generation).toBeCloseTo(known.generation, 9);
      // The parts of two runs add up.
      const other = samplingOf([rows]).generation ?? 0;
      expect(samplingOf([known.rows, rows]).generation).toBeCloseTo(known.generation + other, 9);
    },
  );

  test('leaves generation unbiased if repeated rows are judged less often than the others', () => {
    const { uniform } = randomOf(77);
    const noise = (spread: number) => spread * (uniform() - 0.5) * Math.sqrt(12);
    const judgements = (generation: number, count: number) =>
      Array.from({ length: count }, () => generation + noise(10));
    const run = Array.from({ length: 40_000 }, (_, place) => {
      const row = noise(12);
      const generations = Array.from({ length: place % 2 === 0 ? 2 : 1 }, () => row + noise(5));
      return generations.map((generation) => judgements(generation, place % 2 === 0 ? 1 : 4));
    });
    // Half of the rows have one generation, half have two: 25 * (1 + 1/2) / 2 per row.
    expect(Math.abs((samplingOf([run]).generation ?? 0) * 40_000 - 18.75)).toBeLessThan(3);
  });

  test('can be computed without repeats; generation then stays with the rows', () => {
    const once = rows.map((row) => row.slice(0, 1));
    const split = splitVariance(16, samplingOf([once]));
    expect(Object.keys(split)).toEqual(['row', 'judge']);
    expect(split.row + (split.judge ?? 0)).toBeCloseTo(16, 12);
  });

  test('is unknown if a run judged nothing twice', () => {
    const once = rows.map((row) => row.map((judgements) => judgements.slice(0, 1)));
    expect(splitVariance(16, samplingOf([rows, once]))).not.toHaveProperty('judge');
  });

  test('leaves nothing for generation if it exceeds the differences between generations, and no part is negative', () => {
    // All judgements vary around one mean, whatever the generation.
    const sampling = samplingOf([
      Array.from({ length: 12 }, () => [
        [1, 5],
        [5, 1],
      ]),
    ]);
    expect(sampling).toMatchObject({ generation: 0, judge: 8 / 4 / 12 });
    const { judge, perRepeat } = sampling;
    expect(splitVariance(1, sampling)).toEqual({ row: 1 - (judge ?? 0), generation: 0, judge, perRepeat });
    expect(splitVariance(0.1, sampling)).toEqual({ row: 0, generation: 0, judge, perRepeat });
  });

  test('of Overall goes to generation if a domain does not know it, and with that to the rows', () => {
    const whole = { row: 4, generation: 2, judge: 1, perRepeat: 9 };
    expect(meanOfSplits([whole, whole])).toEqual({ row: 2, generation: 1, judge: 0.5, perRepeat: 4.5 });
    expect(meanOfSplits([whole, { row: 4, generation: 3, perRepeat: 9 }])).toEqual({
      row: 2,
      generation: 1.5,
      perRepeat: 4.5,
    });
    expect(meanOfSplits([whole, { row: 5, judge: 2 }])).toEqual({ row: (4 + 2 + 5) / 4, judge: 0.75 });
  });

  test('is recovered in a simulation with known parts and unequal numbers of generations and judgements', () => {
    const { uniform } = randomOf(31);
    const noise = (spread: number) => spread * (uniform() - 0.5) * Math.sqrt(12);
    const some = (most: number) => Array.from({ length: 1 + Math.floor(uniform() * most) });
    const [ofRow, ofGeneration, ofJudge] = [12, 6, 9];
    const sums = { row: 0, generation: 0, judge: 0 };
    const truth = { generation: 0, judge: 0 };
    const [sets, count] = [150, 60];
    for (let set = 0; set < sets; set++) {
      const run = Array.from({ length: count }, () => {
        const row = noise(ofRow);
        return some(4).map(() => {
          const generation = row + noise(ofGeneration);
          return some(3).map(() => generation + noise(ofJudge));
        });
      });
      const runMeans = run.map((row) => row.map(mean));
      // What the parts contribute to the mean of these rows, written out from the model.
      for (const row of run) {
        for (const judgements of row) {
          truth.generation += ofGeneration ** 2 / row.length ** 2 / count ** 2;
          truth.judge += ofJudge ** 2 / judgements.length / row.length ** 2 / count ** 2;
        }
      }
      const se = clusteredEstimate(each(...runMeans.map(mean))).se ?? 0;
      const split = splitVariance(se ** 2, samplingOf([run]));
      sums.row += split.row;
      sums.generation += split.generation ?? 0;
      sums.judge += split.judge ?? 0;
    }
    const shareOf = (found: number, expected: number) => found / expected;
    // In one set, each estimate has a relative error of about 0.25 (row, judge) to 0.4 (generation). The bound is four standard errors of
    // the mean of 150.
    expect(Math.abs(shareOf(sums.judge, truth.judge) - 1)).toBeLessThan(0.08);
    expect(Math.abs(shareOf(sums.generation, truth.generation) - 1)).toBeLessThan(0.13);
    expect(Math.abs(shareOf(sums.row, (sets * ofRow ** 2) / count) - 1)).toBeLessThan(0.08);
  });
});
