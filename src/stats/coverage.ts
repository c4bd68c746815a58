// Coverage: the share of a run's chosen rows about which something is known, with one definition and one rounding wherever it is shown.

import type { DomainScore, ScoreCard } from '../core/types.js';

/** Default minimum coverage of every domain for comparing scores. */
export const LEAST_COVERAGE = 0.99;

/** Domains whose coverage is below the minimum, which keeps the run from being compared. */
export function shortDomains({ domains }: ScoreCard, least = LEAST_COVERAGE): DomainScore[] {
  return domains.filter(({ coverage }) => coverage < least);
}

/** Whether a run and each of its domains have the minimum coverage. */
export function isCovered(card: ScoreCard, least = LEAST_COVERAGE): boolean {
  return card.coverage >= least && shortDomains(card, least).length === 0;
}

/** A run among those with the same name; `at` is when it was judged, in ISO 8601. */
interface Namesake {
  readonly card: ScoreCard;
  readonly rates: boolean;
  readonly at: string;
  readonly number: number;
}

/**
 * Sorts runs with one name so that the one the name refers to is first: complete before incomplete, rated before measured, then the one
 * judged last.
 */
export function byStanding(a: Namesake, b: Namesake, least = LEAST_COVERAGE): number {
  const complete = Number(isCovered(b.card, least)) - Number(isCovered(a.card, least));
  const rated = Number(b.rates) - Number(a.rates);
  return complete || rated || (a.at === b.at ? b.number - a.number : a.at < b.at ? 1 : -1);
}

/** A share of 0 to 1 in percent, rounded down to a tenth: less than 99 % or 100 % never reads as 99 or 100. */
export function percent(share: number): string {
  // A share such as 0.29 is slightly smaller in binary.
  return `${Number((Math.floor(share * 1000 + 1e-9) / 10).toFixed(1))} %`;
}
