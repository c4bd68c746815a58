// Runs -> a leaderboard: blocks of runs that were judged alike, with what is best and what cannot be told from it.

import { UserError } from '../../core/errors.js';
import { twoDecimals } from '../../core/figures.js';
import { canonicalJson } from '../../core/json.js';
import { NONE } from '../../core/table.js';
import { DOMAINS } from '../../core/types.js';
import { PUBLISHED, type PublishedRow } from '../published.js';
import { type Trust, trustText } from '../trust.js';
import type {
  Block,
  BoardFigure,
  BoardOptions,
  BoardRow,
  BoardRun,
  Entry,
  IsTied,
  JudgedWith,
  Leaderboard,
} from './board.js';
import {
  columnsOf,
  type FigureColumn,
  figureColumns,
  requireColumns,
  TEXT_COLUMNS,
  type TextColumn,
} from './columns.js';
import { type Group, groupsOf, isOfficial, measuresIn, shownMeasure, titled } from './groups.js';
import { legendOf, notesOf } from './notes.js';
import { chosenRuns, countedRun, domainsOf, fewerRows, namesOf, type Rank, rankBy } from './runs.js';

/**
 * The leaderboard of runs: a block for each way of judging, the official one first, then by size. Within a block, runs with the
 * published Overall come first. The others follow by the number of their domains, then runs over fewer rows, then incomplete ones.
 * @throws UserError (2) for an unknown column or measure.
 */
export function leaderboard(runs: readonly BoardRun[], options: BoardOptions, isTied: IsTied): Leaderboard {
  requireColumns(
    runs.flatMap(({ card }) => card.domains.map(({ domain }) => domain)),
    options,
  );
  const { measure } = options;
  const known = measuresIn(runs.filter(({ judgedWith }) => !judgedWith.rates));
  if (measure !== undefined && known.length > 0 && !known.includes(measure)) {
    throw new UserError(`unknown measure "${measure}"; the runs have ${known.join(', ')}`);
  }
  const groups = titled(groupsOf(runs, options), options);
  return { blocks: groups.map(([group, title]) => blockOf(group, title, options, isTied)) };
}

function blockOf(group: Group, title: string, options: BoardOptions, isTied: IsTied): Block {
  const { judgedWith } = group;
  const official = isOfficial(judgedWith);
  const measure = shownMeasure(group, options);
  const rank = rankBy(options, measure);
  const all = group.runs.map((run) => countedRun(run, options, measure));
  const runs = chosenRuns(all, options, rank);
  const published = official && options.withPublished ? PUBLISHED : [];
  const figures = figureColumns(runs, measure);
  const columns = columnsOf(figures, runs, published.length > 0, options, measure);
  const names = namesOf(
    runs.map(({ run }) => run),
    options,
  );
  const fewerOf = fewerRows(runs, options);
  const order = orderOf(options, rank, figures);
  // Published rows are figures of another counting, so they are not ranked among the runs but stand below them.
  const own = runs
    .map((counted): Entry => {
      const found = figures.flatMap((column) => {
        const figure = column.figureOf(counted);
        return figure === undefined ? [] : [[column.id, figure] as const];
      });
      return {
        ...counted,
        name: names.get(counted.run) ?? '',
        fewer: fewerOf(counted),
        macroOf: domainsOf(counted).length,
        figures: new Map(found),
      };
    })
    .sort(order);
  const entries = [...own, ...published.map(entryOfPublished).sort(order)];
  const tested = columns.filter((column) => isTested(column));
  const marks = marksOf(own, tested, rank, isTied);
  const rows = entries.map((entry) => rowOf(entry, columns, marks.best.get(entry) ?? new Set()));
  const trust = sharedTrust(
    runs.map(({ run }) => run),
    judgedWith,
  );
  const source = { entries, marks, columns, tested, group, options, measure };
  return {
    heading: official ? `As published: ${title}` : title,
    title,
    judgedWith,
    isOfficial: official,
    trust,
    judge: trust === undefined ? [] : [trustText(trust)],
    measure,
    columns: [{ id: 'name', heading: 'Run', short: 'Run', align: 'left' }, ...columns],
    rows,
    markNote: marks.best.size > 0 ? MARK_NOTE : undefined,
    legend: legendOf(source),
    notes: notesOf(source),
  };
}

function isTested(column: FigureColumn | TextColumn): column is FigureColumn {
  return 'figureOf' in column && column.isTested;
}

/**
 * What is known of the judge of all these runs. Where it is not known of each, or not the same, the block says nothing of any; and
 * nobody calibrated the judge of the published rows.
 */
function sharedTrust(runs: readonly BoardRun[], { rates }: JudgedWith): Trust | undefined {
  if (runs.length === 0) return rates ? 'uncalibrated' : undefined;
  const isShared = new Set(runs.map(({ trust }) => canonicalJson(trust ?? null))).size === 1;
  return isShared ? runs[0]?.trust : 'uncalibrated';
}

const MARK_NOTE =
  'the best of a column, and what cannot be told from it: the paired difference on common rows does not show it worse (multiple comparisons with the best, Hsu, at 95 %; never narrower than the interval of awb compare).';

/** A published row: figures of the official counting, and no run. */
function entryOfPublished(published: PublishedRow): Entry {
  const mean = { value: published.overall };
  const scores = [...published.scores].map(([domain, value]) => [domain, { value }] as const);
  return {
    name: published.model,
    published,
    isComplete: true,
    fewer: [],
    rows: new Map(),
    macroOf: DOMAINS.length,
    mean,
    figures: new Map<string, BoardFigure>([...scores, ['overall', mean], ['official', mean]]),
  };
}

/** An entry as the block shows it: a text for its name, then for each column. */
function rowOf(entry: Entry, columns: readonly (FigureColumn | TextColumn)[], marked: ReadonlySet<string>): BoardRow {
  const texts = columns.map((column) => {
    if ('of' in column) return column.of(entry);
    const figure = entry.figures.get(column.id);
    if (figure === undefined) return NONE;
    return (entry.run && column.textOf?.(figure, entry)) ?? twoDecimals(figure.value);
  });
  return { ...entry, marked, texts: [entry.name, ...texts] };
}

type Order = (a: Entry, b: Entry) => number;

/** By the column that is asked for, then by the mean: whole and complete runs first, then from the best on. */
function orderOf({ sort = 'overall' }: BoardOptions, rank: Rank, columns: readonly FigureColumn[]): Order {
  // Where neither way is better, figures fall.
  const place = (figure: BoardFigure | undefined) =>
    figure === undefined ? Number.NEGATIVE_INFINITY : (rank(figure) ?? figure.value);
  const fromBest = (a: BoardFigure | undefined, b: BoardFigure | undefined) => place(b) - place(a) || 0;
  const byName: Order = (a, b) => compared(a.name, b.name);
  const byMean: Order = (a, b) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(b.figures.has('overall')) - Number(a.figures.has('overall')) ||
    b.macroOf - a.macroOf ||
    fromBest(a.mean, b.mean) ||
    byName(a, b);
  if (sort === 'name') return byName;
  const text = TEXT_COLUMNS.find(({ id }) => id === sort);
  if (text !== undefined) return (a, b) => compared(text.of(a), text.of(b)) || byMean(a, b);
  const column = columns.find(({ id }) => id === sort);
  if (column === undefined || sort === 'overall') return byMean;
  const order = column.isLowerBetter ? fromLeast : fromBest;
  return (a, b) => order(a.figures.get(sort), b.figures.get(sort)) || byMean(a, b);
}

/** From the least on. What is not known whole stands behind what is, whatever is known of it. */
function fromLeast(a: BoardFigure | undefined, b: BoardFigure | undefined): number {
  const unknown = (figure: BoardFigure | undefined) => (figure === undefined ? 2 : figure.isLeast ? 1 : 0);
  return unknown(a) - unknown(b) || (a?.value ?? 0) - (b?.value ?? 0);
}

function compared(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Ids of columns by entry. */
interface Marks {
  /** In which they are best, or cannot be told from the best. */
  readonly best: Map<Entry, Set<string>>;
  /** In which they could not be tested against the best. */
  readonly untested: Map<Entry, Set<string>>;
  /** In which their figures are better than the best's, and they are behind another on the rows of both. */
  readonly behind: Map<Entry, Set<string>>;
}

/**
 * Marks the best run of each column and its ties. Incomplete runs and runs over fewer rows are left out, and so are all where
 * neither way of a measure is better.
 */
function marksOf(entries: readonly Entry[], columns: readonly FigureColumn[], rank: Rank, isTied: IsTied): Marks {
  const marks: Marks = { best: new Map(), untested: new Map(), behind: new Map() };
  const tested = entries.filter((entry) => entry.isComplete && entry.fewer.length === 0);
  for (const column of columns) markColumn(column, tested, rank, isTied, marks);
  return marks;
}

function markColumn(
  { id, figure, isMean }: FigureColumn,
  entries: readonly Entry[],
  rank: Rank,
  isTied: IsTied,
  marks: Marks,
) {
  const put = (where: keyof Marks, some: readonly Entry[]) => {
    for (const entry of some) marks[where].set(entry, (marks[where].get(entry) ?? new Set()).add(id));
  };
  // A mean over fewer domains is another quantity: where there are runs with Overall, they are compared with each other.
  const whole = entries.filter(({ figures }) => figures.has('overall'));
  const ranked = (isMean && id !== 'macro' && whole.length > 0 ? whole : entries).flatMap((entry) => {
    const own = entry.figures.get(id);
    const place = own && rank(own);
    return own === undefined || place === undefined ? [] : [{ entry, place, hasError: own.se !== undefined }];
  });
  // A figure of too few trajectories has no standard error: it takes no part, whether it is large or small.
  put(
    'untested',
    ranked.filter(({ hasError }) => !hasError).map(({ entry }) => entry),
  );
  const having = ranked
    .filter(({ hasError }) => hasError)
    .sort((a, b) => b.place - a.place)
    .map(({ entry }) => entry);
  const [first] = having;
  const isComparable =
    !isMean || new Set(having.map((entry) => canonicalJson([...domainsOf(entry)].sort()))).size === 1;
  if (first === undefined || having.length < 2 || !isComparable) return;
  const isTiedWith = (best: Entry, { run }: Entry) => best.run && run && isTied(best.run, run, figure, having.length);
  // Over other rows a run may have the best figure, and be behind on those that it shares with another.
  const isBehind = (entry: Entry) => having.some((one) => one !== entry && isTiedWith(one, entry) === false);
  const best = having.find((entry) => !isBehind(entry)) ?? first;
  const place = having.indexOf(best);
  const ties = new Map(having.filter((entry) => entry !== best).map((entry) => [entry, isTiedWith(best, entry)]));
  put(
    'untested',
    [...ties.keys()].filter((entry) => ties.get(entry) === undefined),
  );
  // The best of runs of which none can be tested is the best number, and no more than that.
  if ([...ties.values()].every((tied) => tied === undefined)) return;
  put('best', [best, ...having.slice(place + 1).filter((entry) => ties.get(entry) === true)]);
  put('behind', having.slice(0, place));
}
