// What a rollout scores by step and by distance from the last true observation: the words of those who reckon it and who show it.

import type { Domain, Estimate } from './types.js';

/** Rows at some steps, or at some distances from the last true observation. */
export interface RolloutBin {
  /** The first and the last of them. */
  readonly from: number;
  readonly to: number;
  /** The mean over these rows, the model's failures at rating 1. */
  readonly score: Estimate;
  /** The same without what is off-script; absent where nothing is, or where nothing is left. */
  readonly onScript?: Estimate;
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

export interface RolloutCard {
  /** The measure that is told of, where nothing was rated; else it is the score. */
  readonly measure?: string;
  /** True turns in front of the rollouts: one number, unless the file holds several rollouts. */
  readonly starts: readonly number[];
  readonly domains: readonly (RolloutPart & { readonly domain: Domain })[];
  /** Over all rows, not over domains: few of these have rows at every distance. */
  readonly all: RolloutPart;
}
