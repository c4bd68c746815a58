// What a leaderboard takes of its runs: what they are called, what is counted of them, and which of them are shown.

import { coversBenchmark, domainsOfMean } from '../../core/domains.js';
import { groupBy } from '../../core/groups.js';
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

/** The names of runs. Behind one that several have stands what tells them apart: step, date or number. */
export function namesOf(runs: readonly BoardRun[], { per }: BoardOptions): ReadonlyMap<BoardRun, string> {
  const named = [...groupBy(runs, (run) => nameOf(run, per))].flatMap(([name, alike]) =>
    alike.map((run) => [run, alike.length === 1 ? name : `${name} (${detailsOf(run, alike)})`] as const),
  );
  return new Map(named);
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

/** A run with what is counted of it. */
export interface Counted {
  readonly run: BoardRun;
  /** The mean over domains, by which runs are chosen, sorted and tested: failures are at rating 1, so that no run rises by failing. */
  readonly mean: BoardFigure | undefined;
  /** The rows behind each domain's figure, those too that stand beside the mean; repeats are not counted. */
  readonly rows: ReadonlyMap<Domain, number>;
  readonly isComplete: boolean;
}

/** The domains behind a run's mean. */
export function domainsOf({ rows }: Pick<Counted, 'rows'>): readonly Domain[] {
  return domainsOfMean([...rows.keys()]);
}

/** Whether its mean is over the seven published domains: Overall, as it is published. */
export function isWhole({ rows }: Pick<Counted, 'rows'>): boolean {
  return coversBenchmark([...rows.keys()]);
}

export function countedRun(run: BoardRun, { minCoverage }: BoardOptions, measure: string | undefined): Counted {
  const { domains, overall, overallWithFailures, overallMeasures } = run.card;
  const rows = domains.flatMap(({ domain, withFailures, measures }) => {
    const figure = measure === undefined ? withFailures.total : measuredFigure(measures, measure);
    return figure === undefined ? [] : [[domain, figure.rows] as const];
  });
  const mean =
    measure === undefined
      ? countedFigure(overallWithFailures, overall, 'total')
      : measuredFigure(overallMeasures, measure);
  return { run, mean, rows: new Map(rows), isComplete: isCovered(run.card, minCoverage) };
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
export function chosenRuns(runs: readonly Counted[], options: BoardOptions, rank: Rank): readonly Counted[] {
  const { show, per, minCoverage } = options;
  if (show === 'all') return runs;
  const fewerOf = fewerRows(runs, options);
  const value = ({ mean }: Counted) => (mean && rank(mean)) ?? Number.NEGATIVE_INFINITY;
  const namesake = ({ run: { card, at, number, judgedWith } }: Counted) => ({
    card,
    at,
    number,
    rates: judgedWith.rates,
  });
  // First by what they lack, then by their domains, then by their figures.
  const byFigure = (a: Counted, b: Counted) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(fewerOf(a).length > 0) - Number(fewerOf(b).length > 0) ||
    domainsOf(b).length - domainsOf(a).length ||
    value(b) - value(a);
  const byLatest = (a: Counted, b: Counted) => byStanding(namesake(a), namesake(b), minCoverage);
  const order = show === 'best' ? byFigure : byLatest;
  return [...groupBy(runs, ({ run }) => keyOfName(run, per)).values()].map((alike) =>
    alike.reduce((first, one) => (order(one, first) < 0 ? one : first)),
  );
}

/**
 * The domains in which a run has so many fewer rows than another that its figures are no longer comparable: its share of the most
 * rows is below the least coverage. Otherwise a run that was asked the easy rows alone would stand above all others.
 */
export function fewerRows(
  runs: readonly Counted[],
  { minCoverage }: BoardOptions,
): (run: Counted) => readonly Domain[] {
  const most = (domain: Domain) => Math.max(...runs.map(({ rows }) => rows.get(domain) ?? 0));
  return ({ rows }) => [...rows].flatMap(([domain, own]) => (own < minCoverage * most(domain) ? [domain] : []));
}
