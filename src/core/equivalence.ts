// Decision equivalence: how far a predicted observation leads an agent where the true one leads it. Its measures, and what it comes to.

import type { Interval } from './comparison.js';
import type { Domain } from './types.js';

/** The measures of a row that it is made of, each 0 to 100. */
export const AGREEMENT = {
  /** The action after the predicted observation beside the two after the true one. */
  predicted: 'agreement',
  /** The two after the true one beside each other: the agent's own noise. */
  ceiling: 'agent_ceiling',
  /** The action after another row's observation beside the two after the true one: what agrees whatever is seen. */
  floor: 'agent_floor',
} as const;

/** Why there is no equivalence: the agent was asked about too few trajectories, or it does not look at what it is shown. */
type NoEquivalence = 'few' | 'does not look';

/** A domain's, or that of all. */
export interface Equivalence {
  /** Means over the rows that have each, 0 to 100. */
  readonly predicted: number;
  readonly ceiling: number;
  readonly floor: number;
  readonly rows: number;
  readonly clusters: number;
  /** The 95 % interval of ceiling minus floor; absent with fewer than five trajectories. */
  readonly gap?: Interval;
  /**
   * `100 (predicted - floor) / (ceiling - floor)` with its 95 % interval, or why there is none. Without the interval where all draws
   * say the same and trajectories are few.
   */
  readonly found: { readonly value: number; readonly interval?: Interval } | NoEquivalence;
}

export interface EquivalenceCard {
  readonly domains: readonly (Equivalence & { readonly domain: Domain })[];
  /** The same of the unweighted means over domains. */
  readonly overall: Equivalence;
  /** Of how many domains these are. */
  readonly macroOf: number;
}
