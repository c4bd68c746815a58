// What a leaderboard takes of its runs: what they are called, what is counted of them, and which of them are shown.

import { coversBenchmark, domainsOfMean, isPublished } from '../../core/domains.js';
import { goodness } from '../../core/measures.js';
import { oneLine } from '../../core/printable.js';
import type { Domain, Estimate, ScoreCard, ScoreSet } from '../../core/types.js';
import { byStanding, isCovered } from '../../stats/coverage.js';
import type { BoardFigure, BoardOptions, BoardRun } from './board.js';

/** Longest name that is shown whole. */
export const NAME_COLUMNS = 100;

/** A run's own name, of one line. */
export function nameOf(run: BoardRun, per: BoardOptions['per']): string {
  const names = per === 'label' ? [run.label, run.worldModel] : [run.worldModel, run.label];
  const name = names.map((text) => oneLine(text ?? '', NAME_COLUMNS)).find((text) => text !== '');
  return name ?? oneLine(run.source.split(/[/\\]/).slice(-2).join('/'), NAME_COLUMNS);
}

/** Each run with its name. Behind a name that several runs have stands what tells them apart: step, date or number. */
export function named(runs: readonly BoardRun[], { per }: BoardOptions): (readonly [BoardRun, string])[] {
  const byRun = runs.map((run) => [run, nameOf(run, per)] as const);
  return byRun.map(([run, name]) => {
    const alike = byRun.filter(([, other]) => other === name).map(([other]) => other);
    return [run, alike.length === 1 ? name : `${name} (${detailsOf(run, alike)})`];
  });
}

function detailsOf(run: BoardRun, alike: readonly BoardRun[]): string {
  const sameFile = new Set(alike.map(({ db }) => db)).size === 1;
  const details = (one: BoardRun) => [
    one.step === undefined ? undefined : `step ${oneLine(one.step, 20)}`,
    one.at.slice(0, 10),
    `run ${one.number}${sameFile ? '' : ` of ${oneLine(one.db, 40)}`}`,
  ];
  const own = details(run);
  const apart = own.findIndex((detail, place) =>
    alike.every((other) => other === run || (detail !== undefined && details(other)[place] !== detail)),
  );
  return own.filter((detail, place) => detail !== undefined && (apart === -1 || place === apart)).join(', ');
}

/** What a run's name is compared by: as it is, not as it is shown. */
export function keyOfName({ label, worldModel, source }: BoardRun, per: BoardOptions['per']): string {
  return (per === 'label' ? (label ?? worldModel) : (worldModel ?? label)) ?? `file ${source}`;
}

/** A figure of our own counting, with the model's failures at rating 1, beside the official one. */
export function countedFigure(own: ScoreSet, official: ScoreSet, name: keyof ScoreSet): BoardFigure | undefined {
  const [figure, asPublished] = [own[name], official[name]];
  return figure && { ...figure, official: asPublished?.value };
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

/** One run for each name, or all. Names are compared as they are, not as they are shown. */
export function chosenRuns(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined): BoardRun[] {
  if (options.show === 'all') return [...runs];
  const byName = new Map<string, BoardRun>();
  const isBetter = betterOf(runs, options, measure);
  const goesFirst = (a: BoardRun, b: BoardRun) => byStanding(standing(a), standing(b), options.minCoverage) < 0;
  for (const run of runs) {
    const name = keyOfName(run, options.per);
    const before = byName.get(name);
    const wins = before === undefined || (options.show === 'best' ? isBetter(run, before) : goesFirst(run, before));
    if (wins) byName.set(name, run);
  }
  return [...byName.values()];
}

function standing({ card, at, number, judgedWith: { rates } }: BoardRun) {
  return { card, at, number, rates };
}

/** Whether one run is better than another: first by what it lacks, then by its domains, then by its figure. */
function betterOf(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined) {
  const most = mostRows(runs, measure);
  const rank = rankBy(options, measure);
  const value = ({ card }: BoardRun) => {
    const mean = meanOf(card, measure);
    return (mean && rank(mean)) ?? Number.NEGATIVE_INFINITY;
  };
  const isWholeRun = (run: BoardRun) => domainsWithFewer(run, most, options, measure).length === 0;
  return (a: BoardRun, b: BoardRun) => {
    const [isCoveredA, isCoveredB] = [a, b].map(({ card }) => isCovered(card, options.minCoverage));
    if (isCoveredA !== isCoveredB) return isCoveredA === true;
    if (isWholeRun(a) !== isWholeRun(b)) return isWholeRun(a);
    const domains = domainsOf(a.card, measure).length - domainsOf(b.card, measure).length;
    return domains === 0 ? value(a) > value(b) : domains > 0;
  };
}

/** The most rows that any of the runs has in a domain. */
export function mostRows(runs: readonly BoardRun[], measure: string | undefined): ReadonlyMap<Domain, number> {
  const most = new Map<Domain, number>();
  for (const { card } of runs) {
    for (const [domain, rows] of rowsOf(card, measure)) most.set(domain, Math.max(rows, most.get(domain) ?? 0));
  }
  return most;
}

/**
 * The domains in which a run has so many fewer rows than another that its figures are no longer comparable: its share of the most
 * rows is below the least coverage. Otherwise a run that was asked the easy rows alone would stand above all others.
 */
export function domainsWithFewer(
  { card }: BoardRun,
  most: ReadonlyMap<Domain, number>,
  { minCoverage }: BoardOptions,
  measure: string | undefined,
): Domain[] {
  return rowsOf(card, measure)
    .filter(([domain, rows]) => rows < minCoverage * (most.get(domain) ?? 0))
    .map(([domain]) => domain);
}
