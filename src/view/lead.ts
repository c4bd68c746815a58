// What a report leads with: the score with the model's failures at rating 1, or where nothing was rated a measure, by domain and over all.

import { domainName } from '../core/domains.js';
import { DEFAULT_MEASURE, type Measure, type MeasureLookup } from '../core/measures.js';
import type { DomainScore, Estimate, ScoreCard } from '../core/types.js';
import { leadingMeasure, overallName } from '../report/score-table.js';
import { type ChartLine, samplesHref } from './charts.js';
import type { Report } from './contents.js';

/** What the numbers mean that the report leads with. Scores are read like a measure that nobody declares. */
export function leadOf({ run, measureOf }: Report): Measure {
  const name = leadingMeasure(run.card, measureOf);
  return name === undefined ? DEFAULT_MEASURE : measureOf(name);
}

/** The mean over domains. */
export function leadingFigure(card: ScoreCard, measureOf: MeasureLookup): Estimate | undefined {
  return meanOf(card, leadingMeasure(card, measureOf));
}

function meanOf(card: ScoreCard, measure: string | undefined): Estimate | undefined {
  return measure === undefined ? card.overallWithFailures.total : card.overallMeasures[measure];
}

/** Each domain's figure, then the mean over them, each beside that of another run. */
export function leadingLines(card: ScoreCard, other: ScoreCard | undefined, measureOf: MeasureLookup): ChartLine[] {
  const measure = leadingMeasure(card, measureOf);
  const figure = (score: DomainScore | undefined) =>
    measure === undefined ? score?.withFailures.total : score?.measures[measure];
  const domains = card.domains.map((score) => ({
    name: domainName(score.domain),
    estimate: figure(score),
    other: figure(other?.domains.find(({ domain }) => domain === score.domain)),
    href: samplesHref({ domain: domainName(score.domain) }),
  }));
  const mean = { estimate: meanOf(card, measure), other: other && meanOf(other, measure) };
  return [...domains, { name: overallName(card), ...mean, isSum: true }];
}
