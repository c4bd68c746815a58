// What a candidate may use: the limits that a policy can set.

import { percent } from '../coverage.js';
import { counted } from '../figures.js';
import { dollars } from '../money.js';
import type { Bill, Evidence } from './evidence.js';

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
