// How paired rows differ, figure by figure: by domain, and over all of them.

import { type Difference, type DifferenceSet, FIGURES, type Figure } from '../comparison.js';
import { coversBenchmark, isPublished } from '../domains.js';
import type { Estimate } from '../types.js';
import { clusteredEstimate, meanOfEstimates, type Observation } from './clusters.js';
import { smallestEffect } from './intervals.js';
import { mean } from './mean.js';
import { holm } from './multiple.js';
import { type Compared, comparedIn, judgingsOf, type Part, type PointsOf } from './pairing.js';
import { isJudgedAgain } from './predictions.js';
import { bootstrapInterval, type Resampling, type Strata, signFlipP } from './resampling.js';
import { generatingOf, judgingOf, meanOfSplits, onTheseRows, samplingOf, splitVariance } from './sampling.js';

/** Differences by domain, in the order of the parts, and over all; a figure that no compared row has is absent. */
interface Differences {
  readonly domains: readonly DifferenceSet[];
  readonly overall: DifferenceSet;
}

/** One figure after the other, so that what is compared of one is gone before the next: of many rows it is large. */
export function differencesOf(parts: readonly Part[], pointsOf: PointsOf, resampling: Resampling): Differences {
  const domains: Partial<Record<Figure, Difference>>[] = parts.map(() => ({}));
  const overall: Partial<Record<Figure, Difference>> = {};
  const compared = parts.filter(({ totals }) => totals.length > 0).map(({ domain }) => domain);
  const isWhole = coversBenchmark(compared);
  for (const figure of FIGURES) {
    const having = parts.flatMap((part, index) => {
      const rows = figure === 'total' ? part.totals : comparedIn(part.pairs, figure, pointsOf);
      return rows.length === 0
        ? []
        : [{ set: domains[index], rows, isBehindMean: !isWhole || isPublished(part.domain) }];
    });
    const found = adjusted(having.map(({ rows }) => differenceOf(rows, figure, pointsOf, resampling)));
    for (const [place, difference] of found.entries()) {
      const set = having[place]?.set;
      if (set !== undefined) set[figure] = difference;
    }
    const behind = found.filter((_, place) => having[place]?.isBehindMean);
    if (behind.length > 0) {
      const strata = having.filter(({ isBehindMean }) => isBehindMean).map(({ rows }) => observationsOf(rows));
      overall[figure] = meanOfDifferences(behind, strata, figure, resampling);
    }
  }
  return { domains, overall };
}

/** The differences of one figure, each p adjusted over the domains that have one. */
function adjusted(found: readonly Difference[]): Difference[] {
  const levels = holm(found.flatMap(({ p }) => p ?? []));
  let next = 0;
  return found.map((difference) => {
    const adjustedP = difference.p === undefined ? undefined : levels[next++];
    return adjustedP === undefined ? difference : { ...difference, adjustedP };
  });
}

function differenceOf(
  rows: readonly Compared[],
  figure: Figure,
  pointsOf: PointsOf,
  resampling: Resampling,
): Difference {
  const observations = observationsOf(rows);
  const difference = clusteredEstimate(observations);
  const sampling = samplingOf([rows.map((row) => row.base), rows.map((row) => row.candidate)]);
  const fixed = onTheseRows(difference, sampling);
  return {
    difference,
    base: mean(rows.map((row) => mean(row.base))),
    candidate: mean(rows.map((row) => mean(row.candidate))),
    wins: rows.filter((row) => row.difference > 0).length,
    ties: rows.filter((row) => row.difference === 0).length,
    losses: rows.filter((row) => row.difference < 0).length,
    ...sureness(difference, [observations], figure, resampling),
    ...(difference.se === undefined
      ? {}
      : { split: splitVariance(difference.se, sampling, ...judgeVariances(rows, figure, pointsOf)) }),
    ...(fixed === undefined ? {} : { onTheseRows: fixed }),
  };
}

function meanOfDifferences(
  found: readonly Difference[],
  strata: Strata,
  figure: Figure,
  resampling: Resampling,
): Difference {
  const sum = (count: (difference: Difference) => number) => found.reduce((total, one) => total + count(one), 0);
  const difference = meanOfEstimates(found.map((one) => one.difference));
  const splits = found.flatMap((one) => one.split ?? []);
  const fixed = found.flatMap((one) => one.onTheseRows ?? []);
  return {
    difference,
    base: mean(found.map((one) => one.base)),
    candidate: mean(found.map((one) => one.candidate)),
    wins: sum((one) => one.wins),
    ties: sum((one) => one.ties),
    losses: sum((one) => one.losses),
    ...sureness(difference, strata, figure, resampling),
    ...(splits.length < found.length ? {} : { split: meanOfSplits(splits) }),
    ...(fixed.length < found.length ? {} : { onTheseRows: meanOfEstimates(fixed) }),
  };
}

function sureness(
  difference: Estimate,
  strata: Strata,
  figure: Figure,
  resampling: Resampling,
): Pick<Difference, 'p' | 'smallestEffect' | 'bootstrap'> {
  const least = smallestEffect(difference);
  const bootstrap =
    figure === 'total' && difference.low !== undefined ? bootstrapInterval(strata, resampling) : undefined;
  return {
    ...(resampling.draws === 0 || difference.se === undefined ? {} : { p: signFlipP(strata, resampling) }),
    ...(least === undefined ? {} : { smallestEffect: least }),
    ...(bootstrap === undefined ? {} : { bootstrap }),
  };
}

/** The judge's part and the generations' own; empty where a run judged nothing twice, as most do. */
function judgeVariances(
  rows: readonly Compared[],
  figure: Figure,
  pointsOf: PointsOf,
): [judge?: number | undefined, generating?: number | undefined] {
  const isAgain = (side: 'base' | 'candidate') => rows.some(({ pair }) => isJudgedAgain(pair[side]));
  if (!isAgain('base') || !isAgain('candidate')) return [];
  const judgings = (side: 'base' | 'candidate') => rows.map(({ pair }) => judgingsOf(pair[side], figure, pointsOf));
  const both = [judgings('base'), judgings('candidate')];
  return [judgingOf(both), generatingOf(both)];
}

function observationsOf(rows: readonly Compared[]): Observation[] {
  return rows.map((row) => ({ value: row.difference, cluster: row.pair.trajectory }));
}
