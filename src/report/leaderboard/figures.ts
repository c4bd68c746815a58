// What a leaderboard counts of a run: its figures, the rows and domains behind them, and which of two is better.

import { coversBenchmark, domainsOfMean, isPublished } from '../../domains.js';
import { goodness } from '../../measures.js';
import type { Domain, Estimate, ScoreCard, ScoreSet } from '../../types.js';
import type { BoardFigure, BoardOptions } from './board.js';

/** A figure of our own counting, with the model's failures at rating 1, beside the official one. */
export function countedFigure(own: ScoreSet, official: ScoreSet, name: keyof ScoreSet): BoardFigure | undefined {
  const [figure, asPublished] = [own[name], official[name]];
  return figure && { ...figure, ...(asPublished === undefined ? {} : { official: asPublished.value }) };
}

/** A measure's figure; undefined where there is none. */
export function measuredFigure(figures: Readonly<Record<string, Estimate>>, name: string): Estimate | undefined {
  return Object.hasOwn(figures, name) ? figures[name] : undefined;
}

/** The mean over domains, by which runs are chosen, sorted and tested. The model's failures are at rating 1, so that no run rises by failing. */
export function meanOf(card: ScoreCard, measure: string | undefined): BoardFigure | undefined {
  return measure === undefined
    ? countedFigure(card.overallWithFailures, card.overall, 'total')
    : measuredFigure(card.overallMeasures, measure);
}

/** The rows behind each domain's figure; repeats are not counted. */
export function rowsOf(card: ScoreCard, measure: string | undefined): readonly (readonly [Domain, number])[] {
  return card.domains.flatMap(({ domain, withFailures, measures }) => {
    const figure = measure === undefined ? withFailures.total : measuredFigure(measures, measure);
    return figure === undefined ? [] : [[domain, figure.rows] as const];
  });
}

/** The domains that have the figure; of further ones than the seven, those too that stand beside the mean. */
export function domainsHaving(card: ScoreCard, measure: string | undefined): readonly Domain[] {
  return rowsOf(card, measure).map(([domain]) => domain);
}

/** The domains behind a run's mean. */
export function domainsOf(card: ScoreCard, measure: string | undefined): readonly Domain[] {
  return domainsOfMean(domainsHaving(card, measure));
}

/** The published Overall is of the seven domains and no other. */
export function isWhole(card: ScoreCard, measure: string | undefined): boolean {
  const domains = domainsOf(card, measure);
  return coversBenchmark(domains) && domains.every(isPublished);
}

/** Whether the official counting gives another figure than ours anywhere in the run. */
export function failuresMatter({ overall, overallWithFailures, domains }: ScoreCard): boolean {
  const sets = [{ scores: overall, withFailures: overallWithFailures }, ...domains];
  return sets.some(
    ({ scores, withFailures }) => Math.abs((scores.total?.value ?? 0) - (withFailures.total?.value ?? 0)) >= 0.005,
  );
}

/** How good a figure is, as a number that grows with it; undefined where neither way is better. */
export type Rank = (figure: BoardFigure) => number | undefined;

/** Scores are better the larger they are, measures as they are declared. */
export function rankBy({ measureOf }: BoardOptions, measure: string | undefined): Rank {
  return ({ value }) => (measure === undefined ? value : goodness(measureOf(measure), value));
}
