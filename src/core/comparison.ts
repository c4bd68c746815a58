// How two runs differ: the words in which score compares them and report shows it.

import { DIMENSIONS, type Domain, type Estimate, type VarianceSplit } from './types.js';

/** What of a row has points: the five dimensions and their mean. */
export const FIGURES = [...DIMENSIONS, 'total'] as const;
export type Figure = (typeof FIGURES)[number];

/** An interval, in the unit of its estimate. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** How the candidate differs from the base in one figure, in points of 0-100 and on the compared rows. */
export interface Difference {
  /** Candidate minus base, with standard error and 95 % interval clustered by trajectory: what new rows like these would show. */
  readonly difference: Estimate;
  /** The same difference on these very rows, with nothing but sampling left to vary; absent where a run has no repeats. */
  readonly onTheseRows?: Estimate | undefined;
  /** What the two runs score on the compared rows, failures that the model caused at rating 1. */
  readonly base: number;
  readonly candidate: number;
  /** Rows that the candidate does better, equally well (to rounding) and worse. */
  readonly wins: number;
  readonly ties: number;
  readonly losses: number;
  /** Two-sided permutation p, signs flipped by trajectory; absent without resampling. */
  readonly p?: number | undefined;
  /** Of a domain: `p` adjusted over the domains by Holm's method, for each figure on its own. */
  readonly pAdjusted?: number | undefined;
  /** The smallest true difference that these rows would have shown with 80 % power at a two-sided 0.05. */
  readonly smallestEffect?: number | undefined;
  /** What the variance of the difference is made of; absent where there is no standard error. */
  readonly split?: VarianceSplit | undefined;
  /** Of the total: the 95 % interval of a cluster bootstrap, as a cross-check of that of `difference`. */
  readonly bootstrap?: Interval | undefined;
}

/** Differences of the five dimensions and of their mean (`total`); one that no compared row has is absent. */
export type DifferenceSet = Readonly<Partial<Record<Figure, Difference>>>;

export interface DomainComparison {
  readonly domain: Domain;
  /** Rows that either run chose, repeats not counted. */
  readonly rows: number;
  /** Rows with a total in both runs. */
  readonly compared: number;
  /** `compared` of `rows`, 0 to 1. */
  readonly coverage: number;
  /** Rows without a total in each run: not chosen, not judged, or failed in transport or at the judge. */
  readonly missing: { readonly base: number; readonly candidate: number };
  readonly figures: DifferenceSet;
}

/** A row and how far it moved, in points of 0-100 of its total; repeats are averaged. */
export interface MovedRow {
  readonly key: string;
  readonly domain: Domain;
  readonly turnIdx: number;
  readonly base: number;
  readonly candidate: number;
  readonly difference: number;
}

export interface Comparison {
  readonly status: 'ok';
  /** In the published order, others after them by name; also those in which nothing could be compared. */
  readonly domains: readonly DomainComparison[];
  /** Unweighted mean of the domains that have the figure. */
  readonly overall: DifferenceSet;
  /** How many domains have a total. */
  readonly macroOf: number;
  readonly rows: number;
  readonly compared: number;
  readonly coverage: number;
  /** The rows whose total moved furthest, whichever way, furthest first. */
  readonly moved: readonly MovedRow[];
}
