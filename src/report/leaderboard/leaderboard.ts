// Makes a leaderboard of runs: blocks of runs that were judged alike, with the best and those that cannot be distinguished from it.

import { domainName, domainsOfMean } from '../../core/domains.js';
import { UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { canonicalJson } from '../../core/json.js';
import { oneLine, twoDecimals } from '../../core/printable.js';
import { NONE } from '../../core/table.js';
import { DOMAINS, LEAST_CLUSTERS } from '../../core/types.js';
import { isCovered, percent, shortDomains } from '../../stats/coverage.js';
import { PUBLISHED, PUBLISHED_NOTES, type PublishedRow } from '../published.js';
import { kindText, measureText } from '../score-table.js';
import { type Trust, trustText } from '../trust.js';
import {
  countedFigure,
  figureColumns,
  measuredFigure,
  NAME_COLUMN,
  requireColumns,
  shownColumns,
  TEXT_COLUMNS,
} from './columns.js';
import {
  type BoardColumn,
  type BoardFigure,
  type BoardOptions,
  type BoardRun,
  byMean,
  chosenRuns,
  compared,
  type Entry,
  fewerRows,
  fromBest,
  type Group,
  groupsOf,
  type IsTied,
  isOfficial,
  measuresIn,
  namesOf,
  type Order,
  type OwnEntry,
  type Rank,
  rankBy,
  shownMeasure,
  titled,
} from './runs.js';

export type Leaderboard = ReturnType<typeof leaderboard>;
/** Runs that may be compared with each other. */
export type Block = ReturnType<typeof blockOf>;
export type BoardRow = Block['rows'][number];

/**
 * The leaderboard of runs: a block for each way of judging, the official one first, then by size. Within a block, runs with the
 * published Overall come first. The others follow by the number of their domains, then runs over fewer rows, then incomplete ones.
 * @throws UserError (2) for an unknown column or measure.
 */
export function leaderboard(runs: readonly BoardRun[], options: BoardOptions, isTied: IsTied) {
  requireColumns(domainsIn(runs), options);
  const { measure } = options;
  const known = measuresIn(runs.filter(({ judgedWith }) => !judgedWith.rates));
  if (measure !== undefined && known.length > 0 && !known.includes(measure)) {
    throw new UserError(`unknown measure "${measure}"; the runs have ${known.join(', ')}`);
  }
  const groups = titled(groupsOf(runs, options), options);
  return { blocks: groups.map(([group, title]) => blockOf(group, title, options, isTied)) };
}

function domainsIn(runs: readonly BoardRun[]) {
  return runs.flatMap(({ card }) => card.domains.map(({ domain }) => domain));
}

function blockOf(group: Group, title: string, options: BoardOptions, isTied: IsTied) {
  const { judgedWith } = group;
  const official = isOfficial(judgedWith);
  const measure = shownMeasure(group, options);
  const rank = rankBy(options, measure);
  const figures = figureColumns(domainsIn(group.runs), measure);
  const all = group.runs.map((run) => entryOf(run, figures, options, measure));
  const chosen = chosenRuns(all, options, rank);
  const runs = chosen.map(({ run }) => run);
  const [names, fewerOf] = [namesOf(runs, options), fewerRows(chosen, options)];
  const order = orderOf(options, rank, figures);
  const own = chosen
    .map((entry) => ({ ...entry, name: names.get(entry.run) ?? '', fewer: fewerOf(entry) }))
    .sort(order);
  // Published rows use another counting, so they are not ranked among the runs but listed below them.
  const published = official && options.withPublished ? PUBLISHED.map(entryOfPublished).sort(order) : [];
  const shown = shownColumns(figures, own, published.length > 0, options, measure === undefined);
  const columns = [NAME_COLUMN, ...shown];
  const tested = columns.filter(({ isTested }) => isTested);
  const whole = own.filter((entry) => entry.isComplete && entry.fewer.length === 0);
  const marks = tested.flatMap((column) => marksIn(column, whole, rank, isTied));
  const best = marks.filter(({ mark }) => mark === 'best');
  const entries = [...own, ...published];
  const trust = sharedTrust(runs, judgedWith.rates);
  return {
    /** Its heading. */
    heading: official ? `As published: ${title}` : title,
    title,
    judgedWith,
    /** Judged as the published rows were. */
    isOfficial: official,
    /** The trust in its judge; absent if none was asked. */
    trust,
    /** The same as a line; empty if none was asked. */
    judge: trust === undefined ? [] : [trustText(trust)],
    /** The measure shown in a block of measured runs. */
    measure,
    columns,
    /** The block's own runs, then the published rows. */
    rows: entries.map((entry) => ({
      ...entry,
      /** Ids of the columns in which it is best, or cannot be distinguished from the best. */
      marked: new Set(best.filter((one) => one.entry.run === entry.run).map(({ column }) => column.id)),
      /** One for each column of the block, the name first. */
      texts: columns.map((column) => textIn(column, entry)),
    })),
    hasMarks: best.length > 0,
    /** How to read a block of this kind. */
    legend: [readingOf(measure, options), ...columns.flatMap(({ legend }) => legend ?? []), MARK_NOTE],
    /** Notes on these runs. */
    notes: [
      ...notesOf(own, group, options),
      ...notesOnMarks(marks, tested),
      ...(published.length > 0 ? PUBLISHED_NOTES : []),
    ],
  };
}

/** Ids of the columns of figures. */
export function figureIds({ columns }: Block): string[] {
  return columns.filter(({ figure }) => figure !== undefined).map(({ id }) => id);
}

/** The figures of a run. Its name and its missing rows depend on the other runs, and are set later. */
function entryOf(
  run: BoardRun,
  columns: readonly BoardColumn[],
  { minCoverage }: BoardOptions,
  measure: string | undefined,
): OwnEntry {
  const { domains, overall, overallWithFailures, overallMeasures } = run.card;
  const rows = new Map(
    domains.flatMap(({ domain, withFailures, measures }) => {
      const figure = measure === undefined ? withFailures.total : measuredFigure(measures, measure);
      return figure === undefined ? [] : [[domain, figure.rows] as const];
    }),
  );
  const mean =
    measure === undefined
      ? countedFigure(overallWithFailures, overall, 'total')
      : measuredFigure(overallMeasures, measure);
  const figures = columns.map(({ id, figureOf }) => [id, figureOf?.({ run, mean, rows })] as const);
  return {
    name: '',
    run,
    isComplete: isCovered(run.card, minCoverage),
    fewer: [],
    rows,
    macroOf: domainsOfMean([...rows.keys()]).length,
    mean,
    figures: new Map(figures.flatMap(([id, figure]) => (figure === undefined ? [] : [[id, figure]]))),
  };
}

/** The entry of a published row: figures of the official counting, without a run. */
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

function textIn({ id, figure, textOf }: BoardColumn, entry: Entry): string {
  const found = entry.figures.get(id);
  if (figure === undefined) return textOf?.(entry) ?? NONE;
  if (found === undefined) return NONE;
  return (entry.run && textOf?.(entry, found)) ?? twoDecimals(found.value);
}

/**
 * The trust in the judge of all these runs. If it is unknown for one, or differs, the block counts as uncalibrated. The judge of the
 * published rows was never calibrated.
 */
function sharedTrust(runs: readonly BoardRun[], rates: boolean): Trust | undefined {
  if (runs.length === 0) return rates ? 'uncalibrated' : undefined;
  const isShared = new Set(runs.map(({ trust }) => canonicalJson(trust ?? null))).size === 1;
  return isShared ? runs[0]?.trust : 'uncalibrated';
}

const MARK_NOTE =
  'Marked (bold, green or *): the best of a column, and runs that the paired difference on common rows does not show to be worse (multiple comparisons with the best, Hsu, at 95 %; never narrower than the interval of awb compare).';

/** By the requested column, then by the mean. */
function orderOf({ sort = 'overall' }: BoardOptions, rank: Rank, figures: readonly BoardColumn[]): Order {
  const mean = byMean(rank);
  const column = [NAME_COLUMN, ...TEXT_COLUMNS, ...figures].find(({ id }) => id === sort);
  if (column === undefined || sort === 'overall') return mean;
  if (column.figure === undefined) return (a, b) => compared(textIn(column, a), textIn(column, b)) || mean(a, b);
  const place = (figure: BoardFigure | undefined) => figure && (rank(figure) ?? figure.value);
  const order = (a: BoardFigure | undefined, b: BoardFigure | undefined) =>
    column.isLowerBetter ? fromLeast(a, b) : fromBest(place(a), place(b));
  return (a, b) => order(a.figures.get(sort), b.figures.get(sort)) || mean(a, b);
}

/** Ascending. Figures that are only partly known come after known ones, whatever their value. */
function fromLeast(a: BoardFigure | undefined, b: BoardFigure | undefined): number {
  const unknown = (figure: BoardFigure | undefined) => (figure === undefined ? 2 : figure.isLeast ? 1 : 0);
  return unknown(a) - unknown(b) || (a?.value ?? 0) - (b?.value ?? 0);
}

/**
 * A run in a column in which it is best or cannot be distinguished from the best; in which it could not be tested against the best; or in
 * which its figure is better than the best's, but another run beats it on their common rows.
 */
interface Mark {
  readonly entry: OwnEntry;
  readonly column: BoardColumn;
  readonly mark: 'best' | 'untested' | 'behind';
}

/** Marks the best run of a column and its ties; none if a measure has no better direction. @param entries runs with all rows and domains */
function marksIn(column: BoardColumn, entries: readonly OwnEntry[], rank: Rank, isTied: IsTied): Mark[] {
  const { id, figure, isMean } = column;
  // A mean over fewer domains is another quantity: if there are runs with Overall, only those are compared.
  const whole = entries.filter(({ figures }) => figures.has('overall'));
  const ranked = (isMean && id !== 'macro' && whole.length > 0 ? whole : entries).flatMap((entry) => {
    const own = entry.figures.get(id);
    const place = own && rank(own);
    return own === undefined || place === undefined ? [] : [{ entry, place, hasError: own.se !== undefined }];
  });
  const marked = (mark: Mark['mark'], some: readonly OwnEntry[]) =>
    some.map((entry): Mark => ({ entry, column, mark }));
  // A figure from too few trajectories has no standard error and is left out, whether large or small.
  const bare = marked(
    'untested',
    ranked.filter(({ hasError }) => !hasError).map(({ entry }) => entry),
  );
  const tested = ranked.filter(({ hasError }) => hasError).sort((a, b) => b.place - a.place);
  const having = tested.map(({ entry }) => entry);
  const [first] = having;
  const domainSets = new Set(having.map(({ rows }) => canonicalJson([...domainsOfMean([...rows.keys()])].sort())));
  if (figure === undefined || first === undefined || having.length < 2 || (isMean && domainSets.size > 1)) return bare;
  const isTiedWith = (best: OwnEntry, { run }: OwnEntry) => isTied(best.run, run, figure, having.length);
  // A run may have the best figure on its own rows, but be behind another run on their common rows.
  const isBehind = (entry: OwnEntry) => having.some((one) => one !== entry && isTiedWith(one, entry) === false);
  const best = having.find((entry) => !isBehind(entry)) ?? first;
  const place = having.indexOf(best);
  const ties = having.map((entry) => (entry === best ? undefined : isTiedWith(best, entry)));
  const untested = marked(
    'untested',
    having.filter((entry, at) => entry !== best && ties[at] === undefined),
  );
  // If no run can be tested, the best one only has the best number, so it is not marked.
  if (ties.every((tied) => tied === undefined)) return [...bare, ...untested];
  return [
    ...[...bare, ...untested],
    ...marked(
      'best',
      having.filter((entry, at) => entry === best || (at > place && ties[at] === true)),
    ),
    ...marked('behind', having.slice(0, place)),
  ];
}

/** How to read the figures of a block. */
function readingOf(measure: string | undefined, { measureOf }: BoardOptions): string {
  if (measure === undefined)
    return 'Scores count failures of the model (empty, refused, confusing) as rating 1, so failing never pays.';
  return `${oneLine(measure, 20)}: ${kindText(measureOf(measure))}, ${measureText(measureOf(measure))}; not a rating.`;
}

/** The texts whose condition holds. */
function said(...texts: readonly (string | false)[]): string[] {
  return texts.flatMap((text) => text || []);
}

/** Notes on these runs. */
function notesOf(own: readonly OwnEntry[], { runs, isRecorded }: Group, options: BoardOptions): string[] {
  const { minCoverage, assumeSame, show } = options;
  const incomplete = own.flatMap(({ name, run, isComplete }) => {
    const short = shortDomains(run.card, minCoverage);
    const shares = short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`);
    return isComplete ? [] : `${name} (${shares.join(', ')})`;
  });
  const fewer = own.flatMap(({ name, rows, fewer: domains, isComplete }) => {
    const counts = domains.map((domain) => `${domainName(domain)} ${rows.get(domain) ?? 0}`);
    return isComplete && counts.length > 0 ? `${name} (${counts.join(', ')})` : [];
  });
  return said(
    incomplete.length > 0 &&
      `A domain's coverage is below ${percent(minCoverage)}, so the run is neither tested nor marked: ${incomplete.join('; ')}.`,
    fewer.length > 0 &&
      `Scored over fewer rows, so ranked after the others and neither tested nor marked: ${fewer.join('; ')}.`,
    !isRecorded &&
      (assumeSame
        ? 'Not everything about how these runs were made was recorded; --assume-same assumes that it is the same for all.'
        : 'Not everything about how this run was made was recorded, so it has its own block; --assume-same joins such runs.'),
    show === 'best' &&
      own.length < runs.length &&
      'The best of several runs of one name: choosing the best biases a score upwards.',
  );
}

/** Which runs are not marked, and in which columns if not in all. */
function notesOnMarks(marks: readonly Mark[], tested: readonly BoardColumn[]): string[] {
  const [behind, untested] = (['behind', 'untested'] as const).map((mark) => {
    const byRun = groupBy(
      marks.filter((one) => one.mark === mark),
      ({ entry }) => entry.name,
    );
    const places = [...byRun].map(([name, some]) => {
      const where = some.length === tested.length ? '' : ` (${some.map(({ column }) => column.heading).join(', ')})`;
      return [name, where] as const;
    });
    const byPlace = [...groupBy(places, ([, where]) => where)];
    return byPlace.map(([where, some]) => some.map(([name]) => name).join(', ') + where).join('; ');
  });
  return [
    ...(behind
      ? [`Larger figures, but on other rows; behind another run on common rows, so not marked: ${behind}.`]
      : []),
    ...(untested
      ? [`Fewer than ${LEAST_CLUSTERS} trajectories, or too few in common with the best, so not tested: ${untested}.`]
      : []),
  ];
}
