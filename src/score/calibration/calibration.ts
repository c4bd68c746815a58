// What a judge's ratings of known predictions say of it: one part for all rows, and one for each domain.

import {
  type Bought,
  type CalibratedRow,
  type Calibration,
  type CalibrationPart,
  EQUIVALENT_POINTS,
  isDamage,
  type Loss,
  type Noise,
  type Order,
  type Sight,
  type Step,
  type VariantFacts,
} from '../../calibration.js';
import type { Figure } from '../../comparison.js';
import { inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import { isUnasked } from '../../judgement.js';
import { possibleRating } from '../../points.js';
import { present } from '../../present.js';
import { RELEASED } from '../../released.js';
import { DIMENSIONS, type Dimension, type Domain, type Estimate } from '../../types.js';
import { clusteredMean, type Observation } from '../clusters.js';
import { normalQuantile, studentTQuantile } from '../distributions.js';
import { ALPHA, intervalAt } from '../intervals.js';
import { mean } from '../mean.js';
import { holm } from '../multiple.js';
import {
  aboveOf,
  chanceNotAbove,
  chanceNotBelow,
  differenceAt,
  differenceOf,
  type FigureOf,
  type KnownRow,
  knownRows,
  meanPointsOf,
  observed,
  pointsOf,
  scoreOf,
} from './points.js';

/**
 * What the judgements say of the judge; docs/calibrate.md has every formula. Judgements of a prediction are averaged first. Failures
 * that a world model would have caused count as rating 1, as in every score; other failures are missing.
 *
 * What is said in all is over all rows alike, each trajectory a cluster, and no mean of domains: many damages can be done to a few rows
 * of a domain alone, and a mean of domains has no interval where one of them has fewer than five trajectories.
 * @param variants those that are told of; judgements of others are left out
 */
export function calibrationOf(rows: readonly CalibratedRow[], variants: readonly VariantFacts[]): Calibration {
  const told = new Set(variants.map(({ name }) => name));
  const known = knownRows(rows.filter(({ variant }) => told.has(variant)));
  const names = [...new Set(known.map(({ domain }) => domain))].sort(inTableOrder);
  const overall = partOf(known, variants);
  const domains = names.map((domain) => ({
    ...partOf(
      known.filter((row) => row.domain === domain),
      variants,
      domain,
    ),
    domain,
  }));
  const steps = adjusted(domains.map((part) => part.steps));
  return {
    overall: { ...overall, steps: present(adjusted([overall.steps])[0]) },
    domains: domains.map((part, place) => ({ ...part, steps: present(steps[place]) })),
  };
}

type SinglePart = Omit<CalibrationPart, 'steps'> & { readonly steps: readonly SingleStep[] };

function partOf(rows: readonly KnownRow[], variants: readonly VariantFacts[], domain?: Domain): SinglePart {
  const truth = meanPointsOf(ofFamily(variants, 'truth'));
  const rewrites = meanPointsOf(ofFamily(variants, 'rewrite'));
  const canaries = canariesOf(rows, variants);
  const noise = judgeNoiseOf(rows);
  return {
    rows: rows.length,
    trajectories: new Set(rows.map(({ trajectory }) => trajectory)).size,
    ...countsOf(rows.flatMap(({ judgements }) => judgements)),
    ceiling: scoreOf(rows, rewrites),
    truth: scoreOf(rows, truth),
    floor: scoreOf(rows, meanPointsOf(variants.filter(({ name }) => name === 'shuffled'))),
    falsePenalty: penaltyOf(differenceOf(rows, aboveOf(truth, rewrites))),
    scores: variants.flatMap((variant) => {
      const score = scoreOf(rows, pointsOf(variant));
      return score === undefined ? [] : [{ variant, score }];
    }),
    losses: lossesOf(rows, variants),
    steps: stepsOf(rows, variants),
    canaries,
    gullibility: gullibilityOf(canaries),
    noise,
    // Noise without an interval tells nothing of what two runs may differ by: of a few equal judgements it is 0.
    smallestDifference: noise?.high === undefined ? undefined : smallestDifference(noise, domain),
  };
}

function ofFamily(variants: readonly VariantFacts[], family: VariantFacts['family']): VariantFacts[] {
  return variants.filter((variant) => variant.family === family);
}

function countsOf(rows: readonly CalibratedRow[]): Pick<CalibrationPart, 'judged' | 'failed' | 'failures'> {
  const asked = rows.filter(({ failure }) => !isUnasked(failure?.class));
  const failed = asked.filter((row) => possibleRating(row, 'total') === undefined);
  const classes = groupBy(failed, ({ failure }) => failure?.class ?? 'not-rated');
  return {
    judged: asked.length - failed.length,
    failed: failed.length,
    failures: Object.fromEntries([...classes].map(([name, found]) => [name, found.length])),
  };
}

/**
 * Equivalence by two one-sided tests at 2.5 % each (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987), which
 * is the 95 % interval lying within the bounds.
 */
function penaltyOf(cost: Estimate | undefined): CalibrationPart['falsePenalty'] {
  if (cost === undefined) return undefined;
  const { low, high } = cost;
  if (low === undefined || high === undefined) return { cost, isNone: undefined };
  const isWithin = low > -EQUIVALENT_POINTS && high < EQUIVALENT_POINTS;
  const isBeyond = low > EQUIVALENT_POINTS || high < -EQUIVALENT_POINTS;
  return { cost, isNone: isWithin || (isBeyond ? false : undefined) };
}

/**
 * The damages that were judged beside the truth of the same row, in the order of the list. Damage is done to the truth, so that it is
 * held against the truth alone: what a judge takes off neutral rewrites is no part of it, and would hide as much of each loss.
 */
function lossesOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Loss[] {
  const truth = variants.find(({ family }) => family === 'truth');
  if (truth === undefined) return [];
  return variants.filter(isDamage).flatMap((variant) => {
    const lossIn = (figure: Figure) => aboveOf(pointsOf(truth, figure), pointsOf(variant, figure));
    const loss = differenceOf(rows, lossIn('total'));
    if (loss === undefined) return [];
    const dimensions = byDimension((dimension) => differenceOf(rows, lossIn(dimension)));
    return [{ variant, loss, dimensions, most: mostOf(rows, dimensions, lossIn), sight: sightOf(loss) }];
  });
}

/** Without an interval nothing is decided. */
function sightOf({ low, high }: Estimate): Sight {
  if (low !== undefined && low > EQUIVALENT_POINTS) return 'seen';
  return high !== undefined && high < EQUIVALENT_POINTS ? 'blind' : 'undecided';
}

type ByDimension<T> = Readonly<Partial<Record<Dimension, T>>>;

function byDimension<T>(of: (dimension: Dimension) => T | undefined): ByDimension<T> {
  const found = DIMENSIONS.map((dimension) => [dimension, of(dimension)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/**
 * The dimension that loses most, where it loses more than each other one by the 95 % interval of their paired difference. All of
 * these tests have to agree, so that they need no adjustment for their number (an intersection-union test: Berger, Technometrics
 * 24(4), 1982).
 */
function mostOf(
  rows: readonly KnownRow[],
  losses: ByDimension<Estimate>,
  lossIn: (dimension: Dimension) => FigureOf,
): Dimension | undefined {
  const [first, ...others] = DIMENSIONS.filter((dimension) => losses[dimension] !== undefined).sort(
    (a, b) => (losses[b]?.value ?? 0) - (losses[a]?.value ?? 0),
  );
  if (first === undefined || others.length === 0) return undefined;
  const isAbove = (other: Dimension) => {
    const { low } = differenceOf(rows, aboveOf(lossIn(first), lossIn(other))) ?? {};
    return low !== undefined && low > 0;
  };
  return others.every(isAbove) ? first : undefined;
}

/** A p of either side is held against this, so that both sides together err in 5 of 100. */
const LEVEL = 0.025;

/** A step before the steps beside it are known: its p are not adjusted. */
type SingleStep = Omit<Step, 'adjustedP' | 'order'>;

/** The steps of which some row has both sides: down the known order, then from dose to dose. */
function stepsOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): SingleStep[] {
  return chainsOf(variants)
    .flatMap((chain) => chain.slice(1).map((worse, place) => ({ better: present(chain[place]), worse })))
    .flatMap(({ better, worse }) => {
      const above = aboveOf(pointsOf(better), pointsOf(worse));
      const difference = differenceOf(rows, above);
      if (difference === undefined) return [];
      const inverted = observed(rows, above).filter(({ value }) => value < 0).length / difference.rows;
      const [p, inversionP] = [chanceNotAbove(difference), chanceNotBelow(difference)];
      return [{ better, worse, difference, inverted, p, inversionP }];
    });
}

/** Predictions from the best to the worst. */
function chainsOf(variants: readonly VariantFacts[]): VariantFacts[][] {
  const named = (name: string) => variants.filter((variant) => variant.name === name);
  const doses = variants.filter(({ dose }) => dose !== undefined);
  return [
    [...named('truth'), ...variants.filter(({ family }) => family === 'order'), ...named('shuffled')],
    [...named('truth'), ...doses.sort((a, b) => (a.dose ?? 0) - (b.dose ?? 0))],
  ];
}

/** The steps of several parts, each p adjusted over all of them. */
function adjusted(parts: readonly (readonly SingleStep[])[]): Step[][] {
  const all = parts.flat();
  const forward = adjustedBy(all, ({ p }) => p);
  const backward = adjustedBy(all, ({ inversionP }) => inversionP);
  return parts.map((steps) =>
    steps.map((step) => {
      const [adjustedP, inversionP] = [forward.get(step), backward.get(step)];
      return { ...step, adjustedP, inversionP, order: orderOf(adjustedP, inversionP) };
    }),
  );
}

function adjustedBy(
  steps: readonly SingleStep[],
  pOf: (step: SingleStep) => number | undefined,
): Map<SingleStep, number> {
  const tested = steps.filter((step) => pOf(step) !== undefined);
  const levels = holm(tested.flatMap((step) => pOf(step) ?? []));
  return new Map(tested.map((step, index) => [step, present(levels[index])]));
}

function orderOf(adjustedP: number | undefined, inversionP: number | undefined): Order {
  if (adjustedP !== undefined && adjustedP <= LEVEL) return 'kept';
  return inversionP !== undefined && inversionP <= LEVEL ? 'inverted' : 'undecided';
}

/** The canaries that were judged beside the prediction that they stand on, in the order of the list. */
function canariesOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Bought[] {
  const bad = variants.find(({ name }) => name === 'shuffled');
  if (bad === undefined) return [];
  return variants
    .filter(({ family }) => family === 'canary')
    .flatMap((variant) => {
      const gain = differenceOf(rows, aboveOf(pointsOf(variant), pointsOf(bad)));
      return gain === undefined ? [] : [{ variant, gain }];
    });
}

/** The gains with intervals that hold for all canaries at once, by Bonferroni's inequality: each at level `1 - 0.05 / count`. */
export function heldForAll(canaries: readonly Bought[]): Bought[] {
  return canaries.map(({ variant, gain }) => ({ variant, gain: differenceAt(gain, ALPHA / canaries.length) }));
}

/** The canary that buys most. Which one that is was seen in the same data, so that its interval has to hold for all. */
function gullibilityOf(canaries: readonly Bought[]): Bought | undefined {
  const [first, ...others] = heldForAll(canaries);
  return first && others.reduce((most, one) => (one.gain.value > most.gain.value ? one : most), first);
}

const POWER = 0.8;

/**
 * The SD of judgements of one prediction, from all predictions that have several: the root of their squared deviations over their
 * degrees of freedom, `√(Σ SS_p / Σ (k_p - 1))`; of two judgements each that is `√(Σ d² / 2n)`.
 *
 * The variance is the mean of `SS_p / (k_p - 1)`, weighted by `k_p - 1`, so its standard error is that of any clustered mean (CR2 by
 * trajectory), which asks neither for normal ratings nor for one noise in all predictions. Its interval is reckoned on the logarithm,
 * `ln s² ± t · SE / s²`, since the error of a variance grows with it. Undefined where nothing was judged twice.
 */
function judgeNoiseOf(rows: readonly KnownRow[]): Noise | undefined {
  const predictions = rows.flatMap(({ trajectory, variants }) =>
    [...variants.values()]
      .filter(({ totals }) => totals.length > 1)
      .map(({ totals }) => ({ totals, cluster: trajectory })),
  );
  if (predictions.length === 0) return undefined;
  const found = clusteredMean(predictions.flatMap(({ totals, cluster }) => squaresOf(totals, cluster)));
  const sd = Math.sqrt(found.value);
  const judgements = predictions.reduce((sum, { totals }) => sum + totals.length, 0);
  return { sd, ...intervalOf(found), predictions: predictions.length, judgements };
}

function intervalOf(variance: Estimate): Pick<Noise, 'low' | 'high'> {
  const { value, se, df } = variance;
  // The same rule as everywhere says whether the standard error tells anything.
  if (se === undefined || df === undefined || intervalAt(variance, ALPHA) === undefined) {
    return { low: undefined, high: undefined };
  }
  const reach = value === 0 ? 0 : (studentTQuantile(1 - ALPHA / 2, df) * se) / value;
  return { low: Math.sqrt(value * Math.exp(-reach)), high: Math.sqrt(value * Math.exp(reach)) };
}

/** A prediction's variance of judgements, once for each degree of freedom that it has. */
function squaresOf(totals: readonly number[], cluster: string): Observation[] {
  const centre = mean(totals);
  const freedom = totals.length - 1;
  const value = totals.reduce((sum, total) => sum + (total - centre) ** 2, 0) / freedom;
  return Array.from({ length: freedom }, () => ({ value, cluster }));
}

/**
 * The smallest true difference of two runs over the released rows, each judged once, that a two-sided test at 5 % finds with a power of
 * 80 % where the judge's noise is all that varies: `(z(0.975) + z(0.8)) · SE`. A domain's score differs by `SE² = 2 s² / n_d`, and
 * Overall, the mean of K domains, by `SE² = 2 s² Σ (1 / n_d) / K²`. Undefined for a domain that was not released.
 * @param domain undefined for Overall
 */
function smallestDifference({ sd }: Noise, domain?: Domain): number | undefined {
  const sizes = Object.entries(RELEASED.rows).filter(([name]) => domain === undefined || name === domain);
  if (sizes.length === 0) return undefined;
  const share = sizes.reduce((sum, [, rows]) => sum + 1 / rows, 0) / sizes.length ** 2;
  return (normalQuantile(1 - ALPHA / 2) + normalQuantile(POWER)) * sd * Math.sqrt(2 * share);
}
