// How fast a rollout falls behind the teacher-forced predictions of the same rows, by domain and over all.

import { domainsOfMean, inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import type { Drift, DriftCard, Drifts } from '../../rollout-card.js';
import type { Estimate } from '../../types.js';
import { clusteredEstimate, meanOfEstimates } from '../clusters.js';
import {
  isOnScript,
  type Partners,
  pairsOf,
  type RolloutFigure,
  type RowPair,
  type SteppedRow,
  valuesOf,
} from './placed.js';
import { slopeWithin } from './slope.js';

/** The drift of a rollout beside a teacher-forced run. */
export function driftCard(rows: readonly SteppedRow[], partners: Partners, figure: RolloutFigure): DriftCard {
  const byDomain = [...groupBy(rows, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  const isOffScript = rows.some((row) => !isOnScript(row));
  const domains = byDomain.map(([domain, own]) => ({
    domain,
    ...namedDrift('all', pairsOf(own, partners, figure)),
    ...(isOffScript ? namedDrift('onScript', pairsOf(own.filter(isOnScript), partners, figure)) : {}),
  }));
  const paired = pairsOf(rows, partners, figure).length;
  return {
    paired,
    unpaired: valuesOf(rows, figure).size - paired,
    domains,
    overall: { ...meanOf(domains, 'all'), ...meanOf(domains, 'onScript') },
  };
}

function namedDrift(name: keyof Drifts, pairs: readonly RowPair[]): Drifts {
  if (pairs.length === 0) return {};
  const slope = slopeWithin(
    pairs.map(({ row: { rollout, trajectory }, difference }) => ({
      ...{ x: rollout.distance, y: difference, chain: rollout.chain, cluster: trajectory },
    })),
  );
  const differences = pairs.map(({ row, difference }) => ({ value: difference, cluster: row.trajectory }));
  return { [name]: { ...(slope && { slope }), difference: clusteredEstimate(differences) } };
}

function meanOf(domains: DriftCard['domains'], name: keyof Drifts): Drifts {
  const mean = (of: (drift: Drift) => Estimate | undefined) => {
    const having = domains.flatMap(({ domain, [name]: drift }) => {
      const estimate = drift && of(drift);
      return estimate === undefined ? [] : [{ domain, estimate }];
    });
    const counting = domainsOfMean(having.map(({ domain }) => domain));
    const estimates = having.flatMap(({ domain, estimate }) => (counting.includes(domain) ? [estimate] : []));
    return estimates.length === 0 ? undefined : meanOfEstimates(estimates);
  };
  const slope = mean((drift) => drift.slope);
  const difference = mean((drift) => drift.difference);
  return difference === undefined ? {} : { [name]: { ...(slope && { slope }), difference } };
}
