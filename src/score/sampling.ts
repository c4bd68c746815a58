// What of a variance is sampling, as repeats tell, and what more rows alone would shrink.
import type { VarianceSplit } from '../comparison.js';
import { mean } from './mean.js';

/** What is known of one row in one run: for each generation (repeat) the values of its judgements. Nothing in it is empty. */
export type Generations = readonly (readonly number[])[];

/** A row's value: its judgements averaged for each generation, then its generations. */
export function rowValue(generations: Generations): number {
  return mean(generations.map(mean));
}

/**
 * The standard deviation of one of two repeated values, from pairs of them: `√(Σ d² / 2n)` (Dahlberg 1940; Bland & Altman, British
 * Medical Journal 312, 1996). A shift between the first and the second values counts as noise, too. NaN of no pairs.
 */
export function noiseOf(pairs: readonly { readonly a: number; readonly b: number }[]): number {
  return Math.sqrt(pairs.reduce((sum, { a, b }) => sum + (b - a) ** 2, 0) / pairs.length / 2);
}

/** What of the variance of a mean over rows is sampling, as far as repeats tell. */
interface Sampling {
  readonly whole?: number;
  readonly judge?: number;
  readonly perRepeat?: number;
}

/**
 * Splits the variance `se²` of a difference (or, with one run, of a mean) over rows, from the repeats in each run; the runs
 * hold the same rows. The one-way and nested analysis of variance: the spread of generations within a row, and of judgements
 * within a generation, are pooled over the rows, since a row alone has too few. What they do not explain is the rows'.
 */
export function splitVariance(se: number, runs: readonly (readonly Generations[])[]): VarianceSplit {
  const parts = runs.map(samplingOf);
  const whole = sumOf(parts.map((part) => part.whole));
  const judge = sumOf(parts.map((part) => part.judge));
  const perRepeat = sumOf(parts.map((part) => part.perRepeat));
  return {
    row: Math.max(0, se ** 2 - (whole ?? judge ?? 0)),
    ...(whole === undefined ? {} : { generation: Math.max(0, whole - (judge ?? 0)) }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

/** The split of the unweighted mean of independent estimates; a part that one of them lacks is absent. Throws on none. */
export function meanOfSplits(splits: readonly VarianceSplit[]): VarianceSplit {
  const scaled = (part: (split: VarianceSplit) => number | undefined) => {
    const sum = sumOf(splits.map(part));
    return sum === undefined ? undefined : sum / splits.length ** 2;
  };
  const generation = scaled((split) => split.generation);
  const judge = scaled((split) => split.judge);
  const perRepeat = scaled((split) => split.perRepeat);
  // A part that is known of some domains only is the rows' again, so that the parts add up to the variance.
  const all = splits.reduce((sum, split) => sum + split.row + (split.generation ?? 0) + (split.judge ?? 0), 0);
  return {
    row: Math.max(0, all / splits.length ** 2 - (generation ?? 0) - (judge ?? 0)),
    ...(generation === undefined ? {} : { generation }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

function samplingOf(rows: readonly Generations[]): Sampling {
  const betweenGenerations = pooledVariance(rows.map((generations) => generations.map(mean)));
  const betweenJudgements = pooledVariance(rows.flat());
  const perRow = (share: (generations: Generations) => number) =>
    rows.reduce((sum, generations) => sum + share(generations), 0) / rows.length ** 2;
  const judgeShare = (generations: Generations) =>
    generations.reduce((sum, judgements) => sum + 1 / judgements.length, 0) / generations.length ** 2;
  return {
    ...(betweenGenerations === undefined
      ? {}
      : {
          whole: betweenGenerations * perRow((generations) => 1 / generations.length),
          perRepeat: betweenGenerations / rows.length,
        }),
    ...(betweenJudgements === undefined ? {} : { judge: betweenJudgements * perRow(judgeShare) }),
  };
}

/** The variance within groups; undefined where no group has two values. */
function pooledVariance(groups: readonly (readonly number[])[]): number | undefined {
  let squares = 0;
  let freedom = 0;
  for (const group of groups) {
    if (group.length > 1) {
      const centre = mean(group);
      squares += group.reduce((sum, value) => sum + (value - centre) ** 2, 0);
      freedom += group.length - 1;
    }
  }
  return freedom === 0 ? undefined : squares / freedom;
}

/** Undefined where any of them is, or there is none. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length && known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : undefined;
}
