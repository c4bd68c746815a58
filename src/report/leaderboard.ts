// Runs -> a leaderboard: blocks of runs that were judged alike, with what is best and what cannot be told from it.

import { shortDomains } from '../coverage.js';
import { twoDecimals } from '../figures.js';
import { canonicalJson } from '../json.js';
import { DOMAINS, type Domain } from '../types.js';
import {
  type Block,
  type BoardOptions,
  type BoardRow,
  type BoardRun,
  type Entry,
  type Figure,
  type Group,
  type IsTied,
  isMeasured,
  type Leaderboard,
} from './board/board.js';
import {
  type AnyColumn,
  columnsById,
  columnsOf,
  domainsOf,
  type FigureColumn,
  meanOf,
  requireColumns,
  requireMeasure,
  rowsOf,
  TEXT_COLUMNS,
} from './board/columns.js';
import { groupsOf, isOfficial, titlesOf } from './board/groups.js';
import { keyOfName, named } from './board/names.js';
import { notesOf } from './board/notes.js';
import { PUBLISHED, type PublishedRow } from './published.js';
import { NONE } from './table.js';

/**
 * The leaderboard of runs: a block for each way of judging, the official one first, then by size. Within a block, runs with the
 * published Overall come first, the others follow by the number of their domains, then those over fewer rows, and incomplete ones
 * last.
 * @throws UserError (2) for an unknown column or measure.
 */
export function leaderboard(runs: readonly BoardRun[], options: BoardOptions, isTied: IsTied): Leaderboard {
  requireColumns(runs, options);
  requireMeasure(runs, options.measure);
  const groups = groupsOf(runs, options);
  const titles = titlesOf(groups, options);
  const blocks = groups.map((group, index) => blockOf(group, titles[index] as string, options, isTied));
  return { blocks };
}

function blockOf(group: Group, title: string, options: BoardOptions, isTied: IsTied): Block {
  const official = isOfficial(group.judgedWith);
  const measure = isMeasured(group.judgedWith) ? options.measure : undefined;
  const runs = chosenRuns(group.runs, options, measure);
  const most = mostRows(runs, measure);
  const published = official && options.withPublished ? PUBLISHED : [];
  const columns = columnsOf(runs, published.length > 0, options, measure);
  const figures: readonly FigureColumn[] = [...columnsById(runs, measure).values()];
  const order = orderOf(options, measure, runs);
  // Published rows are figures of another counting, so they are not ranked among the runs but stand below them.
  const own = named(runs, options).map(([run, name]) => {
    const fewer = domainsWithFewer(run, most, options, measure);
    return entryOfRun(run, name, figures, fewer, options, measure);
  });
  const entries = [...own.sort(order), ...published.map(entryOfPublished).sort(order)];
  const { marks, untested, behind } = marksOf(own, columns.filter(isFigureColumn), measure, isTied);
  const rows = entries.map((entry) => rowOf(entry, columns, marks.get(entry) ?? new Set()));
  const hasMarks = rows.some((row) => row.marked.size > 0);
  const judged = { judgedWith: group.judgedWith, isOfficial: official };
  return {
    title,
    ...judged,
    ...(measure === undefined ? {} : { measure }),
    columns: [{ id: 'name', heading: 'Run', short: 'Run', align: 'left', isFigure: false }, ...columns],
    rows,
    ...(hasMarks ? { markNote: MARK_NOTE } : {}),
    notes: notesOf({ entries, untested, behind, columns, group, options, measure }),
  };
}

const MARK_NOTE =
  'the best of a column, and what cannot be told from it: the paired difference on common rows does not show it worse (multiple comparisons with the best, Hsu, at 95 %; never narrower than the interval of awb compare).';

function isFigureColumn(column: AnyColumn): column is FigureColumn {
  return column.isFigure;
}

/** One run for each name, or all. Names are compared as they are, not as they are shown. */
function chosenRuns(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined): BoardRun[] {
  if (options.show === 'all') return [...runs];
  const byName = new Map<string, BoardRun>();
  const most = mostRows(runs, measure);
  const value = (run: BoardRun) => meanOf(run.card, measure)?.value ?? Number.NEGATIVE_INFINITY;
  const isBetter = (a: BoardRun, b: BoardRun) => {
    const [complete, otherComplete] = [a, b].map((run) => isCovered(run, options));
    if (complete !== otherComplete) return complete === true;
    const [whole, otherWhole] = [a, b].map((run) => domainsWithFewer(run, most, options, measure).length === 0);
    if (whole !== otherWhole) return whole === true;
    const domains = domainsOf(a.card, measure).length - domainsOf(b.card, measure).length;
    return domains === 0 ? value(a) > value(b) : domains > 0;
  };
  const isLater = (a: BoardRun, b: BoardRun) => (a.at === b.at ? a.number > b.number : a.at > b.at);
  for (const run of runs) {
    const name = keyOfName(run, options.per);
    const before = byName.get(name);
    const wins = before === undefined || (options.show === 'best' ? isBetter(run, before) : isLater(run, before));
    if (wins) byName.set(name, run);
  }
  return [...byName.values()];
}

function entryOfRun(
  run: BoardRun,
  name: string,
  columns: readonly FigureColumn[],
  fewer: readonly Domain[],
  options: BoardOptions,
  measure: string | undefined,
): Entry {
  const figures = columns.flatMap((column) => {
    const figure = column.of(run.card);
    return figure === undefined ? [] : [[column.id, figure] as const];
  });
  return {
    name,
    run,
    published: undefined,
    isComplete: isCovered(run, options),
    fewer,
    macroOf: domainsOf(run.card, measure).length,
    figures: new Map(figures),
    mean: meanOf(run.card, measure),
  };
}

function entryOfPublished(published: PublishedRow): Entry {
  const scores = [...published.scores].map(([domain, value]) => [domain, { value }] as const);
  const mean = { value: published.overall };
  const figures: ReadonlyMap<string, Figure> = new Map<string, Figure>([
    ...scores,
    ['overall', mean],
    ['official', mean],
  ]);
  return {
    name: published.model,
    run: undefined,
    published,
    isComplete: true,
    fewer: [],
    macroOf: DOMAINS.length,
    figures,
    mean,
  };
}

/** Whether the run and each of its domains reach the least coverage. */
function isCovered({ card }: BoardRun, { minCoverage }: BoardOptions): boolean {
  return card.coverage >= minCoverage && shortDomains(card, minCoverage).length === 0;
}

/** The most rows that any of the runs has in a domain. */
function mostRows(runs: readonly BoardRun[], measure: string | undefined): ReadonlyMap<Domain, number> {
  const most = new Map<Domain, number>();
  for (const { card } of runs) {
    for (const [domain, rows] of rowsOf(card, measure)) most.set(domain, Math.max(rows, most.get(domain) ?? 0));
  }
  return most;
}

/**
 * The domains in which a run has so many rows less than another that its figures say something else: its share of the most rows is
 * below the least coverage. A run that was asked the easy rows alone would otherwise stand above all others.
 */
function domainsWithFewer(
  { card }: BoardRun,
  most: ReadonlyMap<Domain, number>,
  { minCoverage }: BoardOptions,
  measure: string | undefined,
): Domain[] {
  return rowsOf(card, measure)
    .filter(([domain, rows]) => rows < minCoverage * (most.get(domain) ?? 0))
    .map(([domain]) => domain);
}

function orderOf({ sort }: BoardOptions, measure: string | undefined, runs: readonly BoardRun[]) {
  const text = TEXT_COLUMNS.find(({ id }) => id === sort);
  const isFigure = sort !== undefined && sort !== 'overall' && columnsById(runs, measure).has(sort);
  const byName = (a: Entry, b: Entry) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1);
  const fallen = (a: Figure | undefined, b: Figure | undefined) =>
    (b?.value ?? Number.NEGATIVE_INFINITY) - (a?.value ?? Number.NEGATIVE_INFINITY) || 0;
  const byMean = (a: Entry, b: Entry) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(isWholeEntry(b)) - Number(isWholeEntry(a)) ||
    b.macroOf - a.macroOf ||
    fallen(a.mean, b.mean) ||
    byName(a, b);
  return (a: Entry, b: Entry) => {
    if (sort === 'name') return byName(a, b);
    if (text !== undefined) {
      const [first, second] = [text.of(a), text.of(b)];
      return first === second ? byMean(a, b) : first < second ? -1 : 1;
    }
    return (isFigure ? fallen(a.figures.get(sort), b.figures.get(sort)) : 0) || byMean(a, b);
  };
}

/** Marks the best run of each column and its ties; published rows, incomplete runs and runs over fewer rows are left out. */
function marksOf(
  entries: readonly Entry[],
  columns: readonly FigureColumn[],
  measure: string | undefined,
  isTied: IsTied,
) {
  const marks = new Map<Entry, Set<string>>();
  /** Columns in which an entry could not be tested against the best. */
  const untested = new Map<Entry, Set<string>>();
  /** Columns in which an entry has a larger figure than the best, and is behind another on the rows of both. */
  const behind = new Map<Entry, Set<string>>();
  const tested = entries.filter((entry) => entry.isComplete && entry.fewer.length === 0);
  for (const { id, figure, isMean, isTested } of columns) {
    if (!isTested) continue;
    // A mean over fewer domains is another quantity: where there are runs with Overall, they are compared with each other.
    const comparable = isMean && id !== 'macro' && tested.some(isWholeEntry) ? tested.filter(isWholeEntry) : tested;
    // A figure of too few trajectories has no standard error: it takes no part, whether it is large or small.
    const having = comparable.filter((entry) => entry.figures.get(id)?.se !== undefined);
    for (const entry of comparable.filter((one) => one.figures.has(id) && !having.includes(one)))
      add(untested, entry, id);
    if (having.length < 2 || (isMean && !haveSameDomains(having, measure))) continue;
    const figureIn = (entry: Entry) => entry.figures.get(id)?.value as number;
    const isTiedWith = (best: Entry, entry: Entry) =>
      isTied(best.run as BoardRun, entry.run as BoardRun, figure, having.length);
    // Over other rows a run may have the largest figure, and be behind on those that it shares with another.
    const ranked = [...having].sort((a, b) => figureIn(b) - figureIn(a));
    const isBehind = (entry: Entry) => ranked.some((one) => one !== entry && isTiedWith(one, entry) === false);
    const best = ranked.find((entry) => !isBehind(entry)) ?? (ranked[0] as Entry);
    const others = ranked.filter((entry) => entry !== best);
    const ties = others.map((entry) => isTiedWith(best, entry));
    for (const [index, entry] of others.entries()) {
      if (ties[index] === undefined) add(untested, entry, id);
    }
    // The best of runs of which none can be tested is the largest number, and no more than that.
    if (ties.every((tied) => tied === undefined)) continue;
    const after = ranked.indexOf(best);
    for (const entry of ranked.slice(0, after)) add(behind, entry, id);
    for (const entry of [best, ...others.filter((_, index) => index >= after && ties[index] === true)]) {
      add(marks, entry, id);
    }
  }
  return { marks, untested, behind };
}

function add(columns: Map<Entry, Set<string>>, entry: Entry, id: string): void {
  columns.set(entry, (columns.get(entry) ?? new Set()).add(id));
}

function isWholeEntry({ figures }: Entry): boolean {
  return figures.has('overall');
}

function haveSameDomains(entries: readonly Entry[], measure: string | undefined): boolean {
  const sets = entries.map(({ run }) => canonicalJson([...domainsOf((run as BoardRun).card, measure)].sort()));
  return new Set(sets).size === 1;
}

function rowOf(entry: Entry, columns: readonly AnyColumn[], marked: ReadonlySet<string>): BoardRow {
  const { name, run, isComplete, fewer, figures, macroOf } = entry;
  const textOf = (column: AnyColumn) => {
    if (!column.isFigure) return column.of(entry);
    const figure = figures.get(column.id);
    if (figure === undefined) return NONE;
    return run === undefined || column.textOf === undefined
      ? twoDecimals(figure.value)
      : column.textOf(figure, run.card);
  };
  const texts = [name, ...columns.map(textOf)];
  const hasFewerRows = fewer.length > 0;
  return { name, ...(run === undefined ? {} : { run }), isComplete, hasFewerRows, figures, marked, macroOf, texts };
}
