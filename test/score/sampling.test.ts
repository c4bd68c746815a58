// The variance split: the analysis of variance of statsmodels, and a simulation whose parts are known.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { clusteredEstimate, type Observation } from '../../src/score/clusters.js';
import { randomOf } from '../../src/score/random.js';
import { meanOfSplits, rowValue, splitVariance } from '../../src/score/sampling.js';

const compared = JSON.parse(readFileSync(new URL('../../fixtures/comparison.json', import.meta.url), 'utf8')) as {
  readonly split: {
    readonly rows: number[][][];
    readonly generationMeanSquare: number;
    readonly judgementMeanSquare: number;
  };
};

const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

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
