// Compares a judge with people who rated the same predictions, and those people with each other, which is the ceiling.

import { z } from 'zod';
import type { Figure } from '../../core/comparison.js';
import { COUNT, ESTIMATE, type EstimateDocument, estimateDocument, keyed } from '../../core/document.js';
import { inDomains } from '../../core/domains.js';
import { countBy, recordOf, type Some } from '../../core/groups.js';
import { stretchToPoints } from '../../core/points.js';
import { DIMENSIONS, type Domain, LEAST_CLUSTERS } from '../../core/types.js';
import { pairedShift } from '../clusters.js';
import type { Resampling } from '../resampling.js';
import { ALPHA, agreementOf, type RatedUnit } from './coefficients.js';
import { KAPPA, kappaOfJudge, kappaOfPeople, type RatedByPeople } from './kappa.js';

/** One person's ratings of a prediction: one in each dimension, and their mean. */
export interface PersonFigures {
  readonly rater: string;
  readonly figures: Readonly<Record<Figure, number>>;
}

/** A prediction that at least one person has rated. */
export interface RatedPrediction {
  readonly domain: Domain;
  readonly trajectory: string;
  /** The judge's figures, averaged over its judgements; a figure that it did not give is absent. */
  readonly judge: Readonly<Partial<Record<Figure, number>>>;
  /** One entry per person. */
  readonly people: Some<PersonFigures>;
}

/** How judge and people relate in one figure; what could not be computed is null. */
function figureForm<Coefficient extends z.ZodType>(coefficient: Coefficient) {
  return z.strictObject({
    /** The judge against each person, and people against each other. */
    ...keyed(coefficient.nullable(), 'judge', 'people'),
    /** Judge minus people, in points of 0-100. */
    bias: ESTIMATE.nullable(),
  });
}

const KAPPAS = figureForm(KAPPA);
const ALPHAS = figureForm(ALPHA.pick({ alpha: true, low: true, high: true }).extend(keyed(COUNT, 'rows', 'clusters')));
export type FigureAgreement = z.infer<typeof KAPPAS> | z.infer<typeof ALPHAS>;

/** How a judge agrees with people over some predictions: weighted kappa of the ratings, and interval alpha of the totals. */
const GROUP = z.strictObject({
  ...keyed(COUNT, 'predictions', 'trajectories'),
  dimensions: z.record(z.enum(DIMENSIONS), KAPPAS),
  total: ALPHAS,
});
type GroupAgreement = z.infer<typeof GROUP>;

const PEOPLE = z.strictObject({
  /** By name: how many predictions each person has rated. */
  raters: z.record(z.string(), COUNT),
  ...GROUP.shape,
  /** Domains with at least `LEAST_CLUSTERS` trajectories, in the order of the table. */
  domains: z.record(z.string(), GROUP),
  /** The other domains, with their trajectories. */
  too_few_trajectories: z.record(z.string(), COUNT),
});
export type PeopleAgreement = z.infer<typeof PEOPLE>;

/** The document of `awb agree --json`. */
export const AGREE = z.strictObject({
  schema: z.literal('awb.agree/1'),
  predictions_files: z.array(z.string()),
  ...PEOPLE.shape,
  /** Ratings that do not count, by file and line, with the reason. */
  left_out: z.array(z.strictObject({ place: z.string(), why: z.string(), reason: z.string() })),
  /** Ratings without a hash, so that it is unknown whether the prediction is still the one that was rated. */
  without_hash: COUNT,
  resampling: z.strictObject({ ...keyed(COUNT, 'draws', 'seed'), unit: z.literal('trajectory') }),
});

/** Every figure over all predictions, and by domain if there are enough trajectories. */
export function agreementWithPeople(predictions: readonly RatedPrediction[], resampling: Resampling): PeopleAgreement {
  const domains = inDomains(predictions);
  const isEnough = (own: readonly RatedPrediction[]) => trajectoriesOf(own) >= LEAST_CLUSTERS;
  return {
    raters: countBy(predictions.flatMap(({ people }) => people.map(({ rater }) => rater))),
    ...agreementIn(predictions, resampling),
    domains: Object.fromEntries(
      domains.filter(([, own]) => isEnough(own)).map(([domain, own]) => [domain, agreementIn(own, resampling)]),
    ),
    too_few_trajectories: Object.fromEntries(
      domains.filter(([, own]) => !isEnough(own)).map(([domain, own]) => [domain, trajectoriesOf(own)]),
    ),
  };
}

function agreementIn(predictions: readonly RatedPrediction[], resampling: Resampling): GroupAgreement {
  const ofPeople = predictions.map(({ people, trajectory: cluster }) => {
    return { values: people.map(({ figures }) => figures.total), cluster };
  });
  // The judge against each single person, not against their mean, because the ceiling compares single people too.
  const withJudge = judgedIn(predictions, 'total').flatMap(({ judge, people, cluster }) =>
    people.map(({ rating }) => ({ values: [judge, rating], cluster })),
  );
  return {
    predictions: predictions.length,
    trajectories: trajectoriesOf(predictions),
    dimensions: recordOf(DIMENSIONS, (dimension) => {
      const rated = predictions.map((each) => ratedIn(each, dimension));
      const judge = kappaOfJudge(judgedIn(predictions, dimension), resampling);
      return { judge, people: kappaOfPeople(rated, resampling), bias: biasIn(predictions, dimension) };
    }),
    total: {
      judge: alphaOf(withJudge, resampling),
      people: alphaOf(ofPeople, resampling),
      bias: biasIn(predictions, 'total'),
    },
  };
}

function alphaOf(units: readonly RatedUnit[], resampling: Resampling): GroupAgreement['total']['judge'] {
  const found = agreementOf(units, 'interval', resampling);
  if (found === null) return null;
  const { alpha, low, high, predictions: rows, clusters } = found;
  return { alpha, low, high, rows, clusters };
}

function trajectoriesOf(predictions: readonly RatedPrediction[]): number {
  return new Set(predictions.map(({ trajectory }) => trajectory)).size;
}

/** The judge's figure together with the people's, if the judge gave one. */
function judgedIn(predictions: readonly RatedPrediction[], figure: Figure): (RatedByPeople & { judge: number })[] {
  return predictions.flatMap(({ judge, ...rated }) => {
    const rating = judge[figure];
    return rating === undefined ? [] : [{ ...ratedIn(rated, figure), judge: rating }];
  });
}

function ratedIn({ people, trajectory }: Pick<RatedPrediction, 'people' | 'trajectory'>, figure: Figure) {
  return { people: people.map(({ rater, figures }) => ({ rater, rating: figures[figure] })), cluster: trajectory };
}

function biasIn(predictions: readonly RatedPrediction[], figure: Figure): EstimateDocument | null {
  const pairs = judgedIn(predictions, figure).flatMap(({ judge, people, cluster }) =>
    people.map(({ rating }) => ({ a: stretchToPoints(rating), b: stretchToPoints(judge), cluster })),
  );
  return pairs.length === 0 ? null : estimateDocument(pairedShift(pairs));
}
