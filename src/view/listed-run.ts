// A run as the viewer lists it: what it leads with.

import { domainName } from '../core/domains.js';
import { DEFAULT_MEASURE } from '../core/measures.js';
import type { ScoreCard } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { decimalsOf, leadingMeasure, overallName } from '../report/score-table.js';
import type { DomainFigure, Lead, ListedRun } from './documents.js';

/** What a run leads with, as `awb score` does, and its figures by domain and over all. */
export function leadOf(card: ScoreCard): { lead: Lead; overall: ListedRun['overall']; domains: DomainFigure[] } {
  const name = leadingMeasure(card, measureOf);
  const measure = name === undefined ? DEFAULT_MEASURE : measureOf(name);
  const [from = 0, to = 0] = measure.range;
  const { better } = measure;
  return {
    lead: {
      name: name ?? overallName(card),
      decimals: decimalsOf(measure),
      from: Number.isFinite(from) ? from : null,
      to: Number.isFinite(to) ? to : null,
      better: typeof better === 'string' ? better : 'neither',
    },
    overall: (name === undefined ? card.overallWithFailures.total : card.overallMeasures[name]) ?? null,
    domains: card.domains.map(({ domain, withFailures, measures }) => ({
      domain,
      name: domainName(domain),
      estimate: (name === undefined ? withFailures.total : measures[name]) ?? null,
    })),
  };
}
