// Runs -> a leaderboard: blocks of runs that were judged alike, with what is best and what cannot be told from it.

import { twoDecimals } from '../../core/figures.js';
import { canonicalJson } from '../../core/json.js';
import { NONE } from '../../core/table.js';
import { DOMAINS } from '../../core/types.js';
import { isCovered } from '../../stats/coverage.js';
import { PUBLISHED, type PublishedRow } from '../published.js';
import type { Trust } from '../trust.js';
import {
  type Block,
  type BoardFigure,
  type BoardOptions,
  type BoardRow,
  type BoardRun,
  type Entry,
  type Group,
  type IsTied,
  type JudgedWith,
  type Leaderboard,
  type OwnEntry,
  shownMeasure,
} from './board.js';
import {
  type AnyColumn,
  columnsOf,
  type FigureColumn,
  figureColumns,
  requireColumns,
  requireMeasure,
  TEXT_COLUMNS,
} from './columns.js';
import { groupsOf, isOfficial, titled } from './groups.js';
import { isWholeEntry, marksOf } from './marks.js';
import { wordsOn } from './notes.js';
import { chosenRuns, domainsOf, domainsWithFewer, meanOf, mostRows, named, rankBy } from './runs.js';

/**
 * The leaderboard of runs: a block for each way of judging, the official one first, then by size. Within a block, runs with the
 * published Overall come first. The others follow by the number of their domains, then runs over fewer rows, then incomplete ones.
 * @throws UserError (2) for an unknown column or measure.
 */
export function leaderboard(runs: readonly BoardRun[], options: BoardOptions, isTied: IsTied): Leaderboard {
  requireColumns(runs, options);
  requireMeasure(runs, options.measure);
  const groups = groupsOf(runs, options);
  return { blocks: titled(groups, options).map(([group, title]) => blockOf(group, title, options, isTied)) };
}

function blockOf(group: Group, title: string, options: BoardOptions, isTied: IsTied): Block {
  const official = isOfficial(group.judgedWith);
  const measure = shownMeasure(group, options);
  const runs = chosenRuns(group.runs, options, measure);
  const most = mostRows(runs, measure);
  const published = official && options.withPublished ? PUBLISHED : [];
  const figures = figureColumns(runs, measure);
  const columns = columnsOf(figures, runs, published.length > 0, options, measure);
  const order = orderOf(options, measure, figures);
  // Published rows are figures of another counting, so they are not ranked among the runs but stand below them.
  const own = named(runs, options)
    .map(([run, name]): OwnEntry => {
      const found = figures.flatMap((column) => {
        const figure = column.of(run);
        return figure === undefined ? [] : [[column.id, figure] as const];
      });
      return {
        name,
        run,
        isComplete: isCovered(run.card, options.minCoverage),
        fewer: domainsWithFewer(run, most, options, measure),
        macroOf: domainsOf(run.card, measure).length,
        figures: new Map(found),
        mean: meanOf(run.card, measure),
      };
    })
    .sort(order);
  const entries: readonly Entry[] = [...own, ...published.map(entryOfPublished).sort(order)];
  const tested = columns.filter((column) => column.isFigure);
  const { marks, untested, behind } = marksOf(own, tested, measure, rankBy(options, measure), isTied);
  const rows = entries.map((entry) => rowOf(entry, columns, marks.get(entry) ?? new Set()));
  return {
    title,
    judgedWith: group.judgedWith,
    isOfficial: official,
    trust: sharedTrust(runs, group.judgedWith),
    measure,
    columns: [{ id: 'name', heading: 'Run', short: 'Run', align: 'left', isFigure: false }, ...columns],
    rows,
    markNote: rows.some((row) => row.marked.size > 0) ? MARK_NOTE : undefined,
    ...wordsOn({ entries, untested, behind, columns, group, options, measure }),
  };
}

/**
 * What is known of the judge of all these runs. Where it is not known of each, or not the same, the block says nothing of any; and
 * nobody calibrated the judge of the published rows.
 */
function sharedTrust(runs: readonly BoardRun[], { rates }: JudgedWith): Trust | undefined {
  const [first, ...others] = runs.map(({ trust }) => trust);
  if (runs.length === 0) return rates ? 'uncalibrated' : undefined;
  const isShared = others.every((trust) => canonicalJson(trust ?? null) === canonicalJson(first ?? null));
  return isShared ? first : 'uncalibrated';
}

const MARK_NOTE =
  'the best of a column, and what cannot be told from it: the paired difference on common rows does not show it worse (multiple comparisons with the best, Hsu, at 95 %; never narrower than the interval of awb compare).';

/** A published row: figures of the official counting, and no run. */
function entryOfPublished(published: PublishedRow): Entry {
  const mean = { value: published.overall };
  const scores = [...published.scores].map(([domain, value]) => [domain, { value }] as const);
  const figures = new Map<string, BoardFigure>([...scores, ['overall', mean], ['official', mean]]);
  return { name: published.model, published, isComplete: true, fewer: [], macroOf: DOMAINS.length, figures, mean };
}

/** An entry as the block shows it: a text for its name, then for each column. */
function rowOf(entry: Entry, columns: readonly AnyColumn[], marked: ReadonlySet<string>): BoardRow {
  const textOf = (column: AnyColumn) => {
    if (!column.isFigure) return column.of(entry);
    const figure = entry.figures.get(column.id);
    if (figure === undefined) return NONE;
    return (entry.run && column.textOf?.(figure, entry.run)) ?? twoDecimals(figure.value);
  };
  return { ...entry, marked, texts: [entry.name, ...columns.map(textOf)] };
}

type Order = (a: Entry, b: Entry) => number;

/** By the column that is asked for, then by the mean: whole and complete runs first, then from the best on. */
function orderOf(options: BoardOptions, measure: string | undefined, columns: readonly FigureColumn[]): Order {
  const { sort } = options;
  const rank = rankBy(options, measure);
  // Where neither way is better, figures fall.
  const place = (figure: BoardFigure | undefined) =>
    figure === undefined ? Number.NEGATIVE_INFINITY : (rank(figure) ?? figure.value);
  const fromBest = (a: BoardFigure | undefined, b: BoardFigure | undefined) => place(b) - place(a) || 0;
  const byMean: Order = (a, b) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(isWholeEntry(b)) - Number(isWholeEntry(a)) ||
    b.macroOf - a.macroOf ||
    fromBest(a.mean, b.mean) ||
    byName(a, b);
  if (sort === undefined || sort === 'overall') return byMean;
  if (sort === 'name') return byName;
  const text = TEXT_COLUMNS.find(({ id }) => id === sort);
  if (text !== undefined) return (a, b) => compared(text.of(a), text.of(b)) || byMean(a, b);
  const column = columns.find(({ id }) => id === sort);
  if (column === undefined) return byMean;
  const order = column.isLowerBetter ? fromLeast : fromBest;
  return (a, b) => order(a.figures.get(sort), b.figures.get(sort)) || byMean(a, b);
}

/** From the least on. What is not known whole stands behind what is, whatever is known of it. */
function fromLeast(a: BoardFigure | undefined, b: BoardFigure | undefined): number {
  const unknown = (figure: BoardFigure | undefined) => (figure === undefined ? 2 : figure.isLeast ? 1 : 0);
  return unknown(a) - unknown(b) || (a?.value ?? 0) - (b?.value ?? 0);
}

function byName(a: Entry, b: Entry): number {
  return compared(a.name, b.name);
}

function compared(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
