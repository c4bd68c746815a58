// What a gate looks at.

import type { Comparison } from '../comparison.js';
import type { Cost } from '../costs.js';
import type { Provenance } from '../decision.js';
import type { Domain, ScoreCard } from '../types.js';
import type { RunRepeats } from './looks.js';

/** US dollars; where the cost of some rows is not known, they are at least that. */
export type Bill = Pick<Cost, 'usd' | 'unpriced'>;

/** All that a gate may look at. What is absent fails only the critical rules that need it. */
export interface Evidence {
  /** Against the base; without it `max_drop` has nothing to hold. */
  readonly comparison?: Comparison;
  /** The candidate's own scores, for `min_score`, for the truncated share and for a published base. */
  readonly candidate?: ScoreCard;
  /** What the candidate's run took: completion tokens a row, reasoning included, and the cost of world model and judge. */
  readonly usage?: { readonly tokensPerRow?: number; readonly cost?: Bill; readonly judgeCost?: Bill };
  /** What the two runs share; one that is absent is unknown. */
  readonly shared?: Readonly<Partial<Record<Provenance, 'equal' | 'different'>>>;
  /** How many rows have ratings outside 1 to 5, which no judge can have meant. A run that has any passes nothing. */
  readonly impossible?: { readonly base: number; readonly candidate: number };
  /** How many repeats the runs have; what a schedule of looks goes by. */
  readonly repeats?: RunRepeats;
  /** A published row in place of a base run: totals of 0-100 by domain. Against it every rule is advisory. */
  readonly published?: { readonly name: string; readonly scores: Readonly<Record<Domain, number>> };
}
