// Coverage: the share of a run's chosen rows of which something is known, with one definition and one rounding for all who tell of it.

import type { DomainScore, ScoreCard } from '../core/types.js';

/** Least coverage of every domain at which scores may be compared, where nobody asks for another. */
export const LEAST_COVERAGE = 0.99;

/** Domains whose coverage is below the least, and which thereby keep the run from being compared. */
export function shortDomains({ domains }: ScoreCard, least = LEAST_COVERAGE): DomainScore[] {
  return domains.filter(({ coverage }) => coverage < least);
}

/** Whether a run and each of its domains have the least coverage. */
export function isCovered(card: ScoreCard, least = LEAST_COVERAGE): boolean {
  return card.coverage >= least && shortDomains(card, least).length === 0;
}

/** A run among those of its name; `at` is when it was judged, in ISO 8601. */
interface Namesake {
  readonly card: ScoreCard;
  readonly rates: boolean;
  readonly at: string;
  readonly number: number;
}

/** Sorts the runs of one name, the one that it means first: complete before incomplete, rated before measured, then the one judged last. */
export function byStanding(a: Namesake, b: Namesake, least = LEAST_COVERAGE): number {
  const complete = Number(isCovered(b.card, least)) - Number(isCovered(a.card, least));
  const rated = Number(b.rates) - Number(a.rates);
  return complete || rated || (a.at === b.at ? b.number - a.number : a.at < b.at ? 1 : -1);
}

/** A share of 0 to 1 in percent, rounded down to a tenth: what falls short of 99 % or of all never reads as 99 or 100. */
export function percent(share: number): string {
  // A share such as 0.29 is a hair below itself in binary.
  return `${Number((Math.floor(share * 1000 + 1e-9) / 10).toFixed(1))} %`;
}
