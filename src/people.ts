// How a judge agrees with people, and they with each other: the words in which score reckons it and report shows it.

import type { Figure, Interval } from './comparison.js';
import type { Dimension, Domain, Estimate } from './types.js';

/** What one person gave a prediction: a rating in each dimension, and their mean. */
export interface PersonFigures {
  readonly rater: string;
  readonly figures: Readonly<Record<Figure, number>>;
}

/** A prediction that at least one person has rated. */
export interface RatedPrediction {
  readonly domain: Domain;
  readonly trajectory: string;
  /** What the judge gave, averaged over its judgements; a figure that it did not give is absent. */
  readonly judge: Readonly<Partial<Record<Figure, number>>>;
  /** Each person once. */
  readonly people: readonly [PersonFigures, ...PersonFigures[]];
}

/** Kappa or alpha: 1 is perfect agreement, 0 what chance gives. */
export interface Coefficient {
  readonly value: number;
  /** Pairs of ratings (kappa), or what was rated at least twice (alpha). */
  readonly rows: number;
  /** Trajectories behind it. */
  readonly clusters: number;
  /** The 95 % interval; absent below `LEAST_CLUSTERS`. */
  readonly interval?: Interval;
}

/** How judge and people stand to each other in one figure; what could not be reckoned is absent. */
export interface FigureAgreement {
  /** The judge against each person. */
  readonly judge?: Coefficient;
  /** People against each other. */
  readonly people?: Coefficient;
  /** Judge minus people, in points of 0-100. */
  readonly bias?: Estimate;
}

/** How a judge agrees with people over some predictions. */
export interface GroupAgreement {
  readonly predictions: number;
  readonly trajectories: number;
  /** Weighted kappa of the ratings. */
  readonly dimensions: Readonly<Record<Dimension, FigureAgreement>>;
  /** Interval alpha of the totals. */
  readonly total: FigureAgreement;
}

/** The whole of it. */
export interface PeopleAgreement extends GroupAgreement {
  /** By name: how many predictions each has rated. */
  readonly raters: ReadonlyMap<string, number>;
  /** Domains with at least `LEAST_CLUSTERS` trajectories, in the order of the table. */
  readonly domains: readonly (GroupAgreement & { readonly domain: Domain })[];
  /** The other domains, with their trajectories. */
  readonly scarce: readonly (readonly [domain: Domain, trajectories: number])[];
}
