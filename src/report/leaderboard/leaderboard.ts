// Runs -> a leaderboard: blocks of runs that were judged alike, with what is best and what cannot be told from it.

import { canonicalJson } from '../../json.js';
import { PUBLISHED } from '../published.js';
import type { Trust } from '../trust.js';
import {
  type Block,
  type BoardOptions,
  type BoardRun,
  type Entry,
  type Group,
  type IsTied,
  type JudgedWith,
  type Leaderboard,
  shownMeasure,
} from './board.js';
import { chosenRuns, domainsWithFewer, mostRows } from './chosen.js';
import {
  type AnyColumn,
  columnsById,
  columnsOf,
  type FigureColumn,
  requireColumns,
  requireMeasure,
} from './columns.js';
import { entryOfPublished, entryOfRun, rowOf } from './entries.js';
import { rankBy } from './figures.js';
import { groupsOf, isOfficial, titled } from './groups.js';
import { marksOf } from './marks.js';
import { named } from './names.js';
import { wordsOn } from './notes.js';
import { orderOf } from './order.js';

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
  const columns = columnsOf(runs, published.length > 0, options, measure);
  const figures: readonly FigureColumn[] = [...columnsById(runs, measure).values()];
  const order = orderOf(options, measure, runs);
  // Published rows are figures of another counting, so they are not ranked among the runs but stand below them.
  const own = named(runs, options)
    .map(([run, name]) =>
      entryOfRun(run, name, figures, domainsWithFewer(run, most, options, measure), options, measure),
    )
    .sort(order);
  const below = published.map(entryOfPublished).sort(order);
  const entries: readonly Entry[] = [...own, ...below];
  const { marks, untested, behind } = marksOf(
    own,
    columns.filter(isFigureColumn),
    measure,
    rankBy(options, measure),
    isTied,
  );
  const rows = [
    ...own.map((entry) => rowOf(entry, columns, marks.get(entry) ?? new Set())),
    ...below.map((entry) => rowOf(entry, columns, new Set())),
  ];
  const hasMarks = rows.some((row) => row.marked.size > 0);
  const judged = { judgedWith: group.judgedWith, isOfficial: official };
  return {
    title,
    ...judged,
    trust: sharedTrust(runs, group.judgedWith),
    ...(measure === undefined ? {} : { measure }),
    columns: [{ id: 'name', heading: 'Run', short: 'Run', align: 'left', isFigure: false }, ...columns],
    rows,
    ...(hasMarks ? { markNote: MARK_NOTE } : {}),
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

function isFigureColumn(column: AnyColumn): column is FigureColumn {
  return column.isFigure;
}
