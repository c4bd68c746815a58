// What a rollout scores by step and by distance from the last true observation, and how it drifts: the words of who reckons and shows it.

import type { Domain, Estimate } from '../core/types.js';

/** Rows at some steps, or at some distances from the last true observation. */
export interface RolloutBin {
  /** The first and the last of them. */
  readonly from: number;
  readonly to: number;
  /** The mean over these rows, the model's failures at rating 1. */
  readonly score: Estimate;
  /** The same without what is off-script; absent where nothing is, or where nothing is left. */
  readonly onScript?: Estimate;
  /** Of the rows that have a teacher-forced partner: what that scores, and how the rollout differs from it. Absent without partners. */
  readonly paired?: { readonly forced: Estimate; readonly difference: Estimate };
}

/** How a rollout falls behind the teacher-forced predictions of the same rows. */
export interface Drift {
  /** How the paired difference changes a step, within chains, in points; absent where no chain has rows at two distances. */
  readonly slope?: Estimate;
  /** The paired difference itself, rollout less teacher-forced: its mean over rows. */
  readonly difference: Estimate;
}

/** The same of all rows, and of those that are on script; absent where no row has a partner, the second also where nothing is off-script. */
export interface Drifts {
  readonly all?: Drift;
  readonly onScript?: Drift;
}

/** What a rollout scores over some of its rows. Counts are of rows times repeats. */
export interface RolloutPart {
  readonly predictions: number;
  /** Predictions whose recorded action refers to something that the rollout never showed. */
  readonly offScript: number;
  readonly chains: number;
  readonly distances: readonly RolloutBin[];
  readonly steps: readonly RolloutBin[];
}

/** What pairing with a teacher-forced run tells. */
export interface DriftCard {
  /** Rows with a figure in both runs, and rows of the rollout alone. */
  readonly paired: number;
  readonly unpaired: number;
  readonly domains: readonly (Drifts & { readonly domain: Domain })[];
  /** The mean over the domains that have it: over the seven published ones where all have. */
  readonly overall: Drifts;
}

export interface RolloutCard {
  /** The measure that is told of, where nothing was rated; else it is the score. */
  readonly measure?: string;
  /** True turns in front of the rollouts: one number, unless the file holds several rollouts. */
  readonly starts: readonly number[];
  readonly domains: readonly (RolloutPart & { readonly domain: Domain })[];
  /** Over all rows, not over domains: few of these have rows at every distance. */
  readonly all: RolloutPart;
  /** Beside a teacher-forced run. */
  readonly drift?: DriftCard;
}
