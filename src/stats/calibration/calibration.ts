// What a judge's ratings of known predictions say about it: one part for all rows, and one for each domain.

import { type CalibratedRow, EQUIVALENT_POINTS, isCorruption, type VariantFacts } from '../../core/calibration.js';
import { FIGURES, type Figure } from '../../core/comparison.js';
import { type EstimateDocument, estimateDocument } from '../../core/document.js';
import { inDomains, RELEASED } from '../../core/domains.js';
import { present } from '../../core/errors.js';
import { countBy, groupBy, recordOf } from '../../core/groups.js';
import { isUnasked } from '../../core/judgement.js';
import { countedPoints, possibleRating } from '../../core/points.js';
import { DIMENSIONS, type Dimension, type Domain, type Estimate, LEAST_CLUSTERS } from '../../core/types.js';
import { aboveBy, clusteredEstimate, clusteredMean, mean, type Observation } from '../clusters.js';
import { holm, normalQuantile, studentTQuantile } from '../distributions.js';
import { ALPHA, bounded, boundsOf, chanceAbove, chanceBelow, intervalAt, type Range } from '../intervals.js';
import type { Calibration, CalibrationPart, Gain, Loss, Noise, Sight, Step } from './document.js';

/** A row of the benchmark, and the judgements of its variants. */
type KnownRow = ReturnType<typeof knownRows>[number];

/** A figure of a row; undefined if the row lacks the data for it. */
type FigureOf = (row: KnownRow) => number | undefined;

/**
 * What the judgements say about the judge; docs/calibrate.md has every formula. Judgements of a prediction are averaged first. Failures
 * that a world model would have caused count as rating 1, as in every score; other failures are missing.
 *
 * The overall part treats all rows equally, with each trajectory a cluster, instead of averaging domains: many corruptions apply to only a
 * few rows of a domain, and a mean of domains has no interval if one of them has fewer than five trajectories.
 * @param variants the variants to report; judgements of others are left out
 */
export function calibrationOf(rows: readonly CalibratedRow[], variants: readonly VariantFacts[]): Calibration {
  const told = new Set(variants.map(({ name }) => name));
  const known = knownRows(rows.filter(({ variant }) => told.has(variant)));
  const domains = inDomains(known).map(([domain, own]) => [domain, partOf(own, variants, domain)] as const);
  const overall = partOf(known, variants);
  adjust(overall.steps);
  adjust(domains.flatMap(([, { steps }]) => steps));
  return { overall, domains: Object.fromEntries(domains) };
}

/** Its steps are still to be adjusted. */
function partOf(rows: readonly KnownRow[], variants: readonly VariantFacts[], domain?: Domain): CalibrationPart {
  const meanOf = (family: VariantFacts['family']) =>
    meanPointsOf(variants.filter((variant) => variant.family === family));
  const [truth, rewrites] = [meanOf('truth'), meanOf('rewrite')];
  const attacks = attacksOf(rows, variants);
  const noise = judgeNoiseOf(rows);
  return {
    rows: rows.length,
    trajectories: new Set(rows.map(({ trajectory }) => trajectory)).size,
    ...countsOf(rows.flatMap(({ judgements }) => judgements)),
    ceiling: meanIn(rows, rewrites, 'score'),
    truth: meanIn(rows, truth, 'score'),
    floor: meanIn(rows, meanPointsOf(variants.filter(({ name }) => name === 'shuffled')), 'score'),
    false_penalty: penaltyOf(meanIn(rows, aboveOf(truth, rewrites))),
    scores: variants.flatMap((variant) => {
      const score = meanIn(rows, pointsOf(variant), 'score');
      return score === null ? [] : [{ ...factsOf(variant), ...score }];
    }),
    losses: lossesOf(rows, variants),
    steps: stepsOf(rows, variants),
    attacks,
    attack_gain: attackGainOf(attacks),
    noise,
    // Noise without an interval says nothing about how much two runs may differ: from a few equal judgements it is 0.
    smallest_difference: noise === null || noise.high === null ? null : smallestDifference(noise, domain),
  };
}

function factsOf({ name, family, dose }: VariantFacts) {
  return { variant: name, family, dose: dose ?? null };
}

function countsOf(rows: readonly CalibratedRow[]): Pick<CalibrationPart, 'judged' | 'failed' | 'failures'> {
  const asked = rows.filter(({ failure }) => !isUnasked(failure?.class));
  const failed = asked.filter((row) => possibleRating(row, 'total') === undefined);
  return {
    judged: asked.length - failed.length,
    failed: failed.length,
    failures: countBy(failed, ({ failure }) => failure?.class ?? 'not-rated'),
  };
}

/** Rows by key, in the order of their first occurrence. */
function knownRows(rows: readonly CalibratedRow[]) {
  return [...groupBy(rows, ({ key }) => key).values()].map((judgements) => {
    const [{ domain, trajectory }] = judgements;
    const variants = [...groupBy(judgements, ({ variant }) => variant)];
    return { domain, trajectory, judgements, variants: new Map(variants.map(([name, own]) => [name, judgedOf(own)])) };
  });
}

function judgedOf(judgements: readonly CalibratedRow[]) {
  const having = (rows: readonly CalibratedRow[], figure: Figure) =>
    rows.flatMap((row) => countedPoints(row, figure) ?? []);
  /** For each figure, the mean over the judgements that have it. */
  const points = recordOf(FIGURES, (figure) => {
    const found = having(judgements, figure);
    return found.length === 0 ? undefined : mean(found);
  });
  /** Judgements for which a judge was asked. */
  const asked = judgements.filter(({ failure }) => !isUnasked(failure?.class));
  return { points, totals: having(asked, 'total') };
}

/** The figure of one variant. */
function pointsOf({ name }: VariantFacts, figure: Figure = 'total'): FigureOf {
  return ({ variants }) => variants.get(name)?.points[figure];
}

/** The mean of the totals of those variants that the row has, each counting once. */
function meanPointsOf(variants: readonly VariantFacts[]): FigureOf {
  const figures = variants.map((variant) => pointsOf(variant));
  return (row) => {
    const found = figures.flatMap((figureOf) => figureOf(row) ?? []);
    return found.length === 0 ? undefined : mean(found);
  };
}

/** By how much the first figure exceeds the second in the same row. */
function aboveOf(first: FigureOf, second: FigureOf): FigureOf {
  return (row) => {
    const [a, b] = [first(row), second(row)];
    return a === undefined || b === undefined ? undefined : aboveBy(a, b);
  };
}

/** One observation for each row that has the figure, in the cluster of its trajectory. */
function observed(rows: readonly KnownRow[], figureOf: FigureOf): Observation[] {
  return rows.flatMap((row) => {
    const value = figureOf(row);
    return value === undefined ? [] : [{ value, cluster: row.trajectory }];
  });
}

const DIFFERENCES: Range = [-100, 100];
const ENDS = { score: [0, 100], difference: DIFFERENCES } as const;

/** The mean difference, or score, of the rows that have it; null if none has. */
function meanIn(rows: readonly KnownRow[], figureOf: FigureOf, scale: keyof typeof ENDS = 'difference') {
  const found = observed(rows, figureOf);
  return found.length === 0 ? null : estimateDocument(bounded(clusteredEstimate(found, scale), ENDS[scale]));
}

/**
 * Equivalence by two one-sided tests at 2.5 % each (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987), which means
 * that the 95 % interval lies within the bounds.
 */
function penaltyOf(cost: EstimateDocument | null): CalibrationPart['false_penalty'] {
  if (cost === null) return null;
  const { low, high } = cost;
  if (low === null || high === null) return { ...cost, is_none: null };
  const isWithin = low > -EQUIVALENT_POINTS && high < EQUIVALENT_POINTS;
  const isBeyond = low > EQUIVALENT_POINTS || high < -EQUIVALENT_POINTS;
  return { ...cost, is_none: isWithin || (isBeyond ? false : null) };
}

/**
 * The corruptions judged along with the truth of the same row, in the order of the list. They are made from the truth, so they are compared
 * only with the truth: what a judge deducts for neutral rewrites is not included, as it would hide that much of each loss.
 */
function lossesOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Loss[] {
  const truth = variants.find(({ family }) => family === 'truth');
  if (truth === undefined) return [];
  return variants.filter(isCorruption).flatMap((variant) => {
    const lossIn = (figure: Figure) => aboveOf(pointsOf(truth, figure), pointsOf(variant, figure));
    const loss = meanIn(rows, lossIn('total'));
    if (loss === null) return [];
    const dimensions: Loss['dimensions'] = {};
    for (const dimension of DIMENSIONS) {
      const moved = meanIn(rows, lossIn(dimension));
      if (moved !== null) dimensions[dimension] = moved;
    }
    const most = mostOf(rows, dimensions, lossIn);
    return [{ ...factsOf(variant), ...loss, sight: sightOf(loss), most, dimensions }];
  });
}

/** Without an interval nothing is decided. */
function sightOf({ low, high }: EstimateDocument): Sight {
  if (low !== null && low > EQUIVALENT_POINTS) return 'seen';
  return high !== null && high < EQUIVALENT_POINTS ? 'blind' : 'undecided';
}

/**
 * The dimension that loses most, if it loses more than each other one by the 95 % interval of their paired difference. All of these tests
 * must agree, so they need no adjustment for their number (an intersection-union test: Berger, Technometrics 24(4), 1982).
 */
function mostOf(rows: readonly KnownRow[], losses: Loss['dimensions'], lossIn: (dimension: Dimension) => FigureOf) {
  const [first, ...others] = DIMENSIONS.filter((dimension) => losses[dimension] !== undefined).sort(
    (a, b) => (losses[b]?.value ?? 0) - (losses[a]?.value ?? 0),
  );
  if (first === undefined || others.length === 0) return null;
  const isAbove = (other: Dimension) => (meanIn(rows, aboveOf(lossIn(first), lossIn(other)))?.low ?? 0) > 0;
  return others.every(isAbove) ? first : null;
}

/** The level for the p of either side, so that both sides together err in 5 of 100. */
const LEVEL = 0.025;

/** The steps for which some row has both sides: down the known order, then from dose to dose. No p is adjusted yet. */
function stepsOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Step[] {
  const named = (name: string) => variants.filter((variant) => variant.name === name);
  const doses = variants.filter(({ dose }) => dose !== undefined).sort((a, b) => (a.dose ?? 0) - (b.dose ?? 0));
  const order = variants.filter(({ family }) => family === 'order');
  const chains = [
    [...named('truth'), ...order, ...named('shuffled')],
    [...named('truth'), ...doses],
  ];
  return chains.flatMap((chain) =>
    chain.slice(1).flatMap((worse, place): Step[] => {
      const better = present(chain[place]);
      const found = observed(rows, aboveOf(pointsOf(better), pointsOf(worse)));
      if (found.length === 0) return [];
      const difference = bounded(clusteredEstimate(found), DIFFERENCES);
      const p = chanceAbove(difference, 0) ?? chanceWhereUniform(difference, difference.value) ?? null;
      return [
        {
          better: better.name,
          worse: worse.name,
          ...estimateDocument(difference),
          inverted: found.filter(({ value }) => value < 0).length / found.length,
          p,
          p_adjusted: p,
          p_inverted: chanceBelow(difference, 0) ?? chanceWhereUniform(difference, -difference.value) ?? null,
          order: 'undecided',
        },
      ];
    }),
  );
}

/**
 * How probable a difference this high would be if there were none, for rows that all differ equally; undefined below `LEAST_CLUSTERS`.
 * Twice this is the level at which the interval of `boundsOf` ends at 0.
 */
function chanceWhereUniform(estimate: Estimate, distance: number): number | undefined {
  if (estimate.clusters < LEAST_CLUSTERS) return undefined;
  return distance <= 0 ? 1 : (100 / (100 + distance)) ** estimate.clusters;
}

/** Adjusts each p over all of these steps, and decides their order by it. */
function adjust(steps: readonly Step[]): void {
  for (const side of ['p_adjusted', 'p_inverted'] as const) {
    const tested = steps.filter((step) => step[side] !== null);
    const adjusted = holm(tested.map((step) => present(step[side] ?? undefined)));
    for (const [place, step] of tested.entries()) step[side] = present(adjusted[place]);
  }
  const isBelow = (p: number | null) => p !== null && p <= LEVEL;
  for (const step of steps) {
    step.order = isBelow(step.p_adjusted) ? 'kept' : isBelow(step.p_inverted) ? 'inverted' : 'undecided';
  }
}

/** The attacks judged along with the prediction they are based on, in the order of the list. */
function attacksOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Gain[] {
  const bad: FigureOf = (row) => row.variants.get('shuffled')?.points.total;
  return variants.flatMap((variant) => {
    const gain = variant.family === 'attack' ? meanIn(rows, aboveOf(pointsOf(variant), bad)) : null;
    return gain === null ? [] : [{ variant: variant.name, ...gain }];
  });
}

/** The gains with intervals that hold for all attacks at once, by Bonferroni's inequality: each at level `1 - 0.05 / count`. */
export function heldForAll(attacks: readonly Gain[]): Gain[] {
  const level = ALPHA / attacks.length;
  return attacks.map((gain) => {
    const { value, rows, clusters, se, df } = gain;
    const estimate = { value, rows, clusters, ...(se !== null && df !== null && { se, df }) };
    const ends = intervalAt(estimate, level) ?? boundsOf(estimate, DIFFERENCES, level) ?? { low: null, high: null };
    return { ...gain, ...ends };
  });
}

/** The attack that gains most. It was selected on the same data, so its interval has to hold for all. */
function attackGainOf(attacks: readonly Gain[]): Gain | null {
  const [first, ...others] = heldForAll(attacks);
  return first === undefined ? null : others.reduce((most, one) => (one.value > most.value ? one : most), first);
}

const POWER = 0.8;

/**
 * The SD of judgements of one prediction, from all predictions that have several: the root of their squared deviations over their degrees
 * of freedom, `√(Σ SS_p / Σ (k_p - 1))`; for two judgements each that is `√(Σ d² / 2n)`.
 *
 * The variance is the mean of `SS_p / (k_p - 1)`, weighted by `k_p - 1`, so its standard error is that of any clustered mean (CR2 by
 * trajectory), which requires neither normal ratings nor equal noise in all predictions. Its interval is computed on the logarithm, `ln s²
 * ± t · SE / s²`, since the error of a variance grows with it. Null if nothing was judged twice.
 */
function judgeNoiseOf(rows: readonly KnownRow[]): Noise | null {
  const predictions = rows.flatMap(({ trajectory, variants }) =>
    Array.from(variants.values(), ({ totals }) => ({ totals, cluster: trajectory })).filter(
      ({ totals }) => totals.length > 1,
    ),
  );
  if (predictions.length === 0) return null;
  // A prediction's variance of judgements, once for each of its degrees of freedom.
  const squares = predictions.flatMap(({ totals, cluster }) => {
    const centre = mean(totals);
    const freedom = totals.length - 1;
    const value = totals.reduce((sum, total) => sum + (total - centre) ** 2, 0) / freedom;
    return Array.from({ length: freedom }, () => ({ value, cluster }));
  });
  const variance = clusteredMean(squares);
  const { value, se, df } = variance;
  const sd = Math.sqrt(value);
  const counts = {
    predictions: predictions.length,
    judgements: predictions.reduce((sum, { totals }) => sum + totals.length, 0),
  };
  // The general rule decides whether the standard error carries information.
  if (se === undefined || df === undefined || intervalAt(variance, ALPHA) === undefined) {
    return { sd, low: null, high: null, ...counts };
  }
  const reach = value === 0 ? 0 : (studentTQuantile(1 - ALPHA / 2, df) * se) / value;
  return { sd, low: Math.sqrt(value * Math.exp(-reach)), high: Math.sqrt(value * Math.exp(reach)), ...counts };
}

/**
 * The smallest true difference of two runs over the released rows, each judged once, that a two-sided test at 5 % detects with a power of
 * 80 % if only the judge's noise varies: `(z(0.975) + z(0.8)) · SE`. A domain's score differs by `SE² = 2 s² / n_d`, and Overall, the mean
 * of K domains, by `SE² = 2 s² Σ (1 / n_d) / K²`. Null for a domain that was not released.
 * @param domain undefined for Overall
 */
function smallestDifference({ sd }: Noise, domain?: Domain): number | null {
  const sizes = Object.entries(RELEASED.rows).filter(([name]) => domain === undefined || name === domain);
  if (sizes.length === 0) return null;
  const share = sizes.reduce((sum, [, rows]) => sum + 1 / rows, 0) / sizes.length ** 2;
  return (normalQuantile(1 - ALPHA / 2) + normalQuantile(POWER)) * sd * Math.sqrt(2 * share);
}
