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
import { kappaOfJudge, kappaOfPeople, type RatedByPeople } from './kappa.js';

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
      kappaOfJudge(judgedIn(predictions, figure), resampling),
      kappaOfPeople(
        predictions.map((each) => ratedIn(each, figure)),
        resampling,
      ),
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

/** What the judge gave, beside what people did, where it gave anything. */
function judgedIn(predictions: readonly RatedPrediction[], figure: Figure): (RatedByPeople & { judge: number })[] {
  return predictions.flatMap(({ judge, ...rated }) => {
    const rating = judge[figure];
    return rating === undefined ? [] : [{ ...ratedIn(rated, figure), judge: rating }];
  });
}

function ratedIn(
  { people, trajectory }: Pick<RatedPrediction, 'people' | 'trajectory'>,
  figure: Figure,
): RatedByPeople {
  return { people: people.map(({ rater, figures }) => ({ rater, rating: figures[figure] })), cluster: trajectory };
}

/** The judge beside each single person, as the ceiling has people, and not beside their mean. */
function unitsWithJudge(predictions: readonly RatedPrediction[]): RatedUnit[] {
  return judgedIn(predictions, 'total').flatMap(({ judge, people, cluster }) =>
    people.map(({ rating }) => ({ values: [judge, rating], cluster })),
  );
}

function unitsOfPeople(predictions: readonly RatedPrediction[]): RatedUnit[] {
  return predictions.map(({ people, trajectory }) => ({
    values: people.map(({ figures }) => figures.total),
    cluster: trajectory,
  }));
}

function biasIn(predictions: readonly RatedPrediction[], figure: Figure): Estimate | undefined {
  const pairs = judgedIn(predictions, figure).flatMap(({ judge, people, cluster }) =>
    people.map(({ rating }) => ({ a: stretchToPoints(rating), b: stretchToPoints(judge), cluster })),
  );
  return pairs.length === 0 ? undefined : pairedShift(pairs);
}
