// Made-up score cards, for tests of their output.

import { domainsOfMean } from '../../src/core/domains.js';
import type { DomainScore, Estimate, ScoreCard, ScoreSet } from '../../src/core/types.js';

export const estimate = (value: number): Estimate => ({
  value,
  rows: 9,
  clusters: 3,
  se: 1,
  df: 2,
  low: value - 4,
  high: value + 4,
});

const scores = (value: number): ScoreSet => ({
  format: estimate(value),
  factuality: estimate(value),
  consistency: estimate(value),
  realism: estimate(value),
  quality: estimate(value),
  total: estimate(value),
});

/** A domain in which every figure is `value`. */
export function domainScore(
  name: string,
  value: number | undefined,
  measures: DomainScore['measures'] = {},
): DomainScore {
  const set = value === undefined ? {} : scores(value);
  return {
    domain: name,
    chosen: 472,
    valid: 470,
    failed: 2,
    failures: {},
    coverage: 470 / 472,
    scores: set,
    withFailures: set,
    measures,
    flags: {},
  };
}

/** The card of these domains; every mean over them is 50. */
export function scoreCard(domains: readonly DomainScore[], measures: DomainScore['measures'] = {}): ScoreCard {
  const scored = domains.filter((score) => score.scores.total !== undefined);
  const set = scored.length === 0 ? {} : scores(50);
  return {
    domains,
    overall: set,
    macroOf: domainsOfMean(scored.map(({ domain }) => domain)).length,
    overallMicro: set,
    overallWithFailures: set,
    overallMeasures: measures,
    chosen: 2170,
    valid: 2100,
    failed: 70,
    coverage: 0.9,
  };
}
