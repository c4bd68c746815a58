// A judge held against people who rated the same predictions, and those people against each other, which is the ceiling.

import type { Figure } from '../../comparison.js';
import { inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import type { Coefficient, FigureAgreement, GroupAgreement, PeopleAgreement, RatedPrediction } from '../../people.js';
import { stretchToPoints } from '../../points.js';
import { DIMENSIONS, type Dimension, type Estimate, LEAST_CLUSTERS } from '../../types.js';
import { pairedShift } from '../clusters.js';
import type { Resampling } from '../resampling.js';
import { agreementOf, type RatedUnit } from './alpha.js';
import { quadraticKappa, type RatedPair } from './kappa.js';

/** Every figure over all predictions, and by domain where there are enough trajectories. */
export function agreementWithPeople(predictions: readonly RatedPrediction[], resampling: Resampling): PeopleAgreement {
  const raters = new Map<string, number>();
  for (const { people } of predictions) {
    for (const { rater } of people) raters.set(rater, (raters.get(rater) ?? 0) + 1);
  }
  const domains = [...groupBy(predictions, ({ domain }) => domain)]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, own]) => ({ domain, own, trajectories: trajectoriesOf(own) }));
  return {
    ...agreementIn(predictions, resampling),
    raters,
    domains: domains
      .filter(({ trajectories }) => trajectories >= LEAST_CLUSTERS)
      .map(({ domain, own }) => ({ domain, ...agreementIn(own, resampling) })),
    scarce: domains
      .filter(({ trajectories }) => trajectories < LEAST_CLUSTERS)
      .map(({ domain, trajectories }) => [domain, trajectories]),
  };
}

function agreementIn(predictions: readonly RatedPrediction[], resampling: Resampling): GroupAgreement {
  const kappaIn = (figure: Figure) =>
    figureAgreement(
      quadraticKappa(judgePairs(predictions, figure), resampling),
      quadraticKappa(peoplePairs(predictions, figure), resampling),
      biasIn(predictions, figure),
    );
  const dimensions = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, kappaIn(dimension)]));
  return {
    predictions: predictions.length,
    trajectories: trajectoriesOf(predictions),
    // Each dimension has just got its figures.
    dimensions: dimensions as Record<Dimension, FigureAgreement>,
    total: figureAgreement(
      alphaOf(unitsWithJudge(predictions), resampling),
      alphaOf(unitsOfPeople(predictions), resampling),
      biasIn(predictions, 'total'),
    ),
  };
}

function figureAgreement(
  judge: Coefficient | undefined,
  people: Coefficient | undefined,
  bias: Estimate | undefined,
): FigureAgreement {
  return {
    ...(judge === undefined ? {} : { judge }),
    ...(people === undefined ? {} : { people }),
    ...(bias === undefined ? {} : { bias }),
  };
}

function alphaOf(units: readonly RatedUnit[], resampling: Resampling): Coefficient | undefined {
  const found = agreementOf(units, 'interval', resampling);
  if (found === undefined) return undefined;
  const { alpha: value, units: rows, clusters, interval } = found;
  return { value, rows, clusters, ...(interval === undefined ? {} : { interval }) };
}

function trajectoriesOf(predictions: readonly RatedPrediction[]): number {
  return new Set(predictions.map(({ trajectory }) => trajectory)).size;
}

/** The judge against every person who rated the prediction: single persons, as the ceiling has them, and not their mean. */
function judgePairs(predictions: readonly RatedPrediction[], figure: Figure): RatedPair[] {
  return predictions.flatMap(({ judge, people, trajectory }) => {
    const a = judge[figure];
    if (a === undefined) return [];
    return people.map(({ rater, figures }) => ({ a, b: figures[figure], who: rater, cluster: trajectory }));
  });
}

/** Every two who rated the prediction, always in the same order. */
function peoplePairs(predictions: readonly RatedPrediction[], figure: Figure): RatedPair[] {
  return predictions.flatMap(({ people, trajectory }) => {
    const sorted = [...people].sort((one, other) => (one.rater < other.rater ? -1 : 1));
    return sorted.flatMap((one, at) =>
      sorted.slice(at + 1).map((other) => ({
        a: one.figures[figure],
        b: other.figures[figure],
        who: JSON.stringify([one.rater, other.rater]),
        cluster: trajectory,
      })),
    );
  });
}

/** The judge beside each person as a unit of its own, as in `judgePairs`. */
function unitsWithJudge(predictions: readonly RatedPrediction[]): RatedUnit[] {
  return judgePairs(predictions, 'total').map(({ a, b, cluster }) => ({ values: [a, b], cluster }));
}

function unitsOfPeople(predictions: readonly RatedPrediction[]): RatedUnit[] {
  return predictions.map(({ people, trajectory }) => ({
    values: people.map(({ figures }) => figures.total),
    cluster: trajectory,
  }));
}

function biasIn(predictions: readonly RatedPrediction[], figure: Figure): Estimate | undefined {
  const pairs = judgePairs(predictions, figure);
  if (pairs.length === 0) return undefined;
  const inPoints = pairs.map(({ a, b, cluster }) => ({ a: stretchToPoints(b), b: stretchToPoints(a), cluster }));
  return pairedShift(inPoints);
}
