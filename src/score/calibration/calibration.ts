// What a judge's ratings of known predictions say of it: one part for all rows, and one for each domain.

import {
  type CalibratedRow,
  type Calibration,
  type CalibrationPart,
  EQUIVALENT_POINTS,
  type VariantFacts,
} from '../../calibration.js';
import { inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import { isUnasked } from '../../judgement.js';
import { possibleRating } from '../../points.js';
import { present } from '../../present.js';
import type { Domain, Estimate } from '../../types.js';
import { canariesOf, gullibilityOf } from './canaries.js';
import { differenceOf, scoreOf } from './estimates.js';
import { lossesOf } from './losses.js';
import { judgeNoiseOf, smallestDifference } from './noise.js';
import { aboveOf, type KnownRow, knownRows, meanPointsOf, pointsOf } from './points.js';
import { adjusted, type SingleStep, stepsOf } from './steps.js';

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
