// What a candidate may use: the limits that a policy can set.

import type { Comparison } from '../core/comparison.js';
import type { Cost } from '../core/costs.js';
import type { Provenance } from '../core/decision.js';
import { counted } from '../core/figures.js';
import { dollars } from '../core/money.js';
import type { Domain, ScoreCard } from '../core/types.js';
import { percent } from './coverage.js';
import type { RunRepeats } from './looks.js';

interface Limit {
  /** Its key in a policy and in JSON. */
  readonly name: string;
  /** What it is on, in a sentence. */
  readonly what: string;
  /** The greatest limit that makes sense, in its unit. */
  readonly most: number;
  /** A value in its unit, as it reads in a sentence and in a table. */
  text(value: number): string;
  /** What the candidate used, in its unit; undefined where nobody recorded it. */
  used(evidence: Evidence): Used | undefined;
}

/** What was used. Where some of it is not known, `value` is the least that it can be, and `lack` says what is not in it. */
interface Used {
  readonly value: number;
  readonly lack?: string;
}

/** The limits, in the order in which they are told: truncated predictions of all (0 to 1), completion tokens a row, US dollars for the run. */
export const LIMITS: readonly Limit[] = [
  { name: 'truncated_share', what: 'truncated predictions', most: 1, text: percent, used: truncatedShare },
  {
    name: 'tokens_per_row',
    what: 'completion tokens a row',
    most: Number.POSITIVE_INFINITY,
    text: (value) => String(Number(value.toFixed(1))),
    used: ({ usage }) => (usage?.tokensPerRow === undefined ? undefined : { value: usage.tokensPerRow }),
  },
  {
    name: 'cost',
    what: 'cost',
    most: Number.POSITIVE_INFINITY,
    text: dollars,
    used: ({ usage }) => usedOf(usage?.cost),
  },
  {
    name: 'judge_cost',
    what: "judge's cost",
    most: Number.POSITIVE_INFINITY,
    text: dollars,
    used: ({ usage }) => usedOf(usage?.judgeCost),
  },
];

function usedOf({ usd, unpriced }: Bill = { unpriced: 0 }): Used | undefined {
  if (usd === undefined) return undefined;
  return unpriced === 0 ? { value: usd } : { value: usd, lack: `${counted(unpriced, 'row')} not counted` };
}

function truncatedShare({ candidate }: Evidence): Used | undefined {
  const domains = candidate?.domains ?? [];
  const rows = domains.reduce((sum, { valid, failed }) => sum + valid + failed, 0);
  const truncated = domains.reduce((sum, { flags }) => sum + (flags.truncated ?? 0), 0);
  return rows === 0 ? undefined : { value: truncated / rows };
}

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
