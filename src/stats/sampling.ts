// What of a variance is sampling, as repeats tell, and what more rows alone would shrink.

import type { Estimate, VarianceSplit } from '../core/types.js';
import { withInterval } from './intervals.js';
import { mean } from './mean.js';

/** The values of one row in one run, one for each generation (repeat): the means of their judgements. None is empty. */
export type Generations = readonly number[];

/** The same with all judgements of each generation. None is empty. */
export type Judgings = readonly (readonly number[])[];

/**
 * The standard deviation of one of two repeated values, from pairs of them: `√(Σ d² / 2n)` (Dahlberg 1940; Bland & Altman, British
 * Medical Journal 312, 1996). A shift between the first and the second values counts as noise, too. NaN of no pairs.
 */
export function noiseOf(pairs: readonly { readonly a: number; readonly b: number }[]): number {
  return Math.sqrt(pairs.reduce((sum, { a, b }) => sum + (b - a) ** 2, 0) / pairs.length / 2);
}

type Sampling = NonNullable<ReturnType<typeof samplingOf>>;

/**
 * The variance that sampling gives a difference of means (or, with one run, a mean) over rows, from the repeats in each run; the
 * runs hold the same rows. The spread of generations within a row is pooled over the rows, since a row alone has too few. `variance` is
 * with the repeats that each row has; `df` are Satterthwaite's, of the pooled variances; `perRepeat` is the variance if every row had one
 * repeat in each run: n repeats leave the nth part of it. Undefined where a run has no repeats.
 */
export function samplingOf(runs: readonly (readonly Generations[])[]) {
  let [variance, spread, perRepeat, freedom] = [0, 0, 0, 0];
  for (const rows of runs) {
    const pooled = pooledVariance(rows);
    if (pooled === undefined) return undefined;
    const part = (pooled.value * rows.reduce((sum, { length }) => sum + 1 / length, 0)) / rows.length ** 2;
    variance += part;
    spread += part ** 2 / pooled.df;
    perRepeat += pooled.value / rows.length;
    freedom += pooled.df;
  }
  // Without any variance Satterthwaite's are not defined.
  return { variance, df: spread === 0 ? freedom : variance ** 2 / spread, perRepeat };
}

/**
 * The variance that the judge alone gives the same difference (or mean), from the judgements of each prediction. With k judgements a
 * prediction and the mean square σ² of judgements within predictions, pooled over them, a run of n rows has
 * `Σ_rows Σ_generations (σ² / k) / G² / n²`, where a row has G generations. Undefined where a run judged nothing twice.
 */
export function judgingOf(runs: readonly (readonly Judgings[])[]): number | undefined {
  let variance = 0;
  for (const rows of runs) {
    const pooled = pooledVariance(rows.flat());
    if (pooled === undefined) return undefined;
    const parts = rows.map((row) => row.reduce((sum, { length }) => sum + 1 / length, 0) / row.length ** 2);
    variance += (pooled.value * parts.reduce((sum, part) => sum + part, 0)) / rows.length ** 2;
  }
  return variance;
}

/**
 * The variance that the generations alone give the same, without the judge's part, by the method of moments for unequal numbers: the mean
 * square of generations within rows has `σ²_generation + h σ²_judge`, where h is the mean of 1 / k over the generations of k judgements in
 * those rows, weighted by their degrees of freedom. Undefined where a run has no repeats, or judged nothing twice.
 */
export function generatingOf(runs: readonly (readonly Judgings[])[]): number | undefined {
  let variance = 0;
  for (const rows of runs) {
    const judge = pooledVariance(rows.flat());
    const generations = pooledVariance(rows.map((row) => row.map(mean)));
    if (judge === undefined || generations === undefined) return undefined;
    const shares = rows.map((row) => (1 - 1 / row.length) * row.reduce((sum, { length }) => sum + 1 / length, 0));
    const share = shares.reduce((sum, part) => sum + part, 0) / generations.df;
    const own = Math.max(0, generations.value - share * judge.value);
    variance += (own * rows.reduce((sum, { length }) => sum + 1 / length, 0)) / rows.length ** 2;
  }
  return variance;
}

/**
 * The variance `se²` in its parts: judgements within generations within rows, by the analysis of variance of nested random effects
 * (its method of moments; Searle, Casella & McCulloch, "Variance Components", 1992). What the generations of a row differ by holds
 * the judge's part, too, so that is taken from it; what sampling does not explain is the rows'. A part that comes out negative
 * is 0. Without repeats the judge's part can still be told from the rest, while generation stays with the rows.
 * @param generating what `generatingOf` gives, which alone is right where the numbers of judgements differ
 */
export function splitVariance(
  se: number,
  sampling: Sampling | undefined,
  judge?: number,
  generating?: number,
): VarianceSplit {
  const ofJudge = judge === undefined ? {} : { judge };
  if (sampling === undefined) return { row: Math.max(0, se ** 2 - (judge ?? 0)), ...ofJudge };
  const generation = generating ?? Math.max(0, sampling.variance - (judge ?? 0));
  return {
    row: Math.max(0, se ** 2 - generation - (judge ?? 0)),
    generation,
    ...ofJudge,
    perRepeat: sampling.perRepeat,
  };
}

/**
 * The estimate as it is for these very rows, with nothing but sampling (the judge's included) left to vary; undefined where a run has no
 * repeats.
 */
export function onTheseRows(estimate: Estimate, sampling: Sampling | undefined): Estimate | undefined {
  if (sampling === undefined) return undefined;
  const { value, rows, clusters } = estimate;
  return withInterval({ value, rows, clusters, se: Math.sqrt(sampling.variance), df: sampling.df }, 'difference');
}

/**
 * The split of the unweighted mean of independent estimates. A part that one of them lacks is absent, and falls where that one has
 * it: the judge's to generation, and generation to the rows. So the parts add up to the variance. Throws on none.
 */
export function meanOfSplits(splits: readonly VarianceSplit[]): VarianceSplit {
  const scaled = (part: (split: VarianceSplit) => number | undefined) => {
    const known = splits.map(part).filter((value) => value !== undefined);
    return known.length < splits.length ? undefined : known.reduce((sum, value) => sum + value, 0) / splits.length ** 2;
  };
  const judge = scaled((split) => split.judge);
  const generation = scaled((split) =>
    split.generation === undefined || judge !== undefined ? split.generation : split.generation + (split.judge ?? 0),
  );
  const perRepeat = scaled((split) => split.perRepeat);
  const whole = scaled((split) => split.row + (split.generation ?? 0) + (split.judge ?? 0)) ?? 0;
  return {
    row: Math.max(0, whole - (generation ?? 0) - (judge ?? 0)),
    ...(generation === undefined ? {} : { generation }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

/** The variance within groups with its degrees of freedom; undefined where no group has two values. */
function pooledVariance(groups: readonly (readonly number[])[]): { value: number; df: number } | undefined {
  let squares = 0;
  let df = 0;
  for (const group of groups) {
    if (group.length > 1) {
      const centre = mean(group);
      squares += group.reduce((sum, value) => sum + (value - centre) ** 2, 0);
      df += group.length - 1;
    }
  }
  return df === 0 ? undefined : { value: squares / df, df };
}
