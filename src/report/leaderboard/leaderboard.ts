// Runs -> a leaderboard: blocks of runs that were judged alike, with what is best and what cannot be told from it.

import { domainName, domainsOfMean, isPublished } from '../../core/domains.js';
import { UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { canonicalJson } from '../../core/json.js';
import { oneLine, twoDecimals } from '../../core/printable.js';
import { NONE } from '../../core/table.js';
import { DOMAINS, LEAST_CLUSTERS } from '../../core/types.js';
import { isCovered, percent, shortDomains } from '../../stats/coverage.js';
import { PUBLISHED, PUBLISHED_SOURCE, type PublishedRow } from '../published.js';
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
  chosenRuns,
  type Entry,
  fewerRows,
  type Group,
  groupsOf,
  type IsTied,
  isOfficial,
  keyOfName,
  measuresIn,
  namesOf,
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
  // Published rows are figures of another counting, so they are not ranked among the runs but stand below them.
  const published = official && options.withPublished ? PUBLISHED.map(entryOfPublished).sort(order) : [];
  const shown = shownColumns(figures, own, published.length > 0, options, measure === undefined);
  const columns = [NAME_COLUMN, ...shown];
  const tested = columns.filter(({ isTested }) => isTested);
  const marks = marksOf(own, tested, rank, isTied);
  const entries = [...own, ...published];
  const trust = sharedTrust(runs, judgedWith.rates);
  const source = { entries, marks, columns: shown, group, options, measure };
  return {
    /** What stands above it. */
    heading: official ? `As published: ${title}` : title,
    title,
    judgedWith,
    /** Judged as the published rows were. */
    isOfficial: official,
    /** What is known of its judge; absent where none was asked. */
    trust,
    /** The same in a line; none where none was asked. */
    judge: trust === undefined ? [] : [trustText(trust)],
    /** Of a block of measured runs: which measure it shows. */
    measure,
    columns,
    /** The block's own runs, then the published rows. */
    rows: entries.map((entry) => ({
      ...entry,
      /** Ids of the columns in which it is best, or cannot be told from the best. */
      marked: marks.best.get(entry) ?? new Set<string>(),
      /** One for each column of the block, the name first. */
      texts: columns.map((column) => textIn(column, entry)),
    })),
    /** What a mark says, where there are marks. */
    markNote: marks.best.size > 0 ? MARK_NOTE : undefined,
    /** How to read any such block. */
    legend: legendFor(source),
    /** What a reader has to know of these very runs. */
    notes: notesOf(source),
  };
}

/** How to read a block, what a mark means first. */
export function legendOn({ markNote, legend }: Block, mark: string): string[] {
  return [...(markNote === undefined ? [] : [`${mark}: ${markNote}`]), ...legend];
}

/** All that is said below a block, what a mark means first. */
export function remarksOn(block: Block, mark: string): string[] {
  return [...legendOn(block, mark), ...block.notes];
}

/** Ids of the columns of figures. */
export function figureIds({ columns }: Block): string[] {
  return columns.filter(({ figure }) => figure !== undefined).map(({ id }) => id);
}

/** What is counted of a run. Its name and what it lacks depend on the runs that it stands beside. */
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

function textIn({ id, figure, textOf }: BoardColumn, entry: Entry): string {
  const found = entry.figures.get(id);
  if (figure === undefined) return textOf?.(entry) ?? NONE;
  if (found === undefined) return NONE;
  return (entry.run && textOf?.(entry, found)) ?? twoDecimals(found.value);
}

/**
 * What is known of the judge of all these runs. Where it is not known of each, or not the same, the block says nothing of any; and
 * nobody calibrated the judge of the published rows.
 */
function sharedTrust(runs: readonly BoardRun[], rates: boolean): Trust | undefined {
  if (runs.length === 0) return rates ? 'uncalibrated' : undefined;
  const isShared = new Set(runs.map(({ trust }) => canonicalJson(trust ?? null))).size === 1;
  return isShared ? runs[0]?.trust : 'uncalibrated';
}

const MARK_NOTE =
  'the best of a column, and what cannot be told from it: the paired difference on common rows does not show it worse (multiple comparisons with the best, Hsu, at 95 %; never narrower than the interval of awb compare).';

type Order = (a: Entry, b: Entry) => number;

/** By the column that is asked for, then by the mean: whole and complete runs first, then from the best on. */
function orderOf({ sort = 'overall' }: BoardOptions, rank: Rank, figures: readonly BoardColumn[]): Order {
  // Where neither way is better, figures fall.
  const place = (figure: BoardFigure | undefined) =>
    figure === undefined ? Number.NEGATIVE_INFINITY : (rank(figure) ?? figure.value);
  const fromBest = (a: BoardFigure | undefined, b: BoardFigure | undefined) => place(b) - place(a) || 0;
  const byMean: Order = (a, b) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(b.figures.has('overall')) - Number(a.figures.has('overall')) ||
    b.macroOf - a.macroOf ||
    fromBest(a.mean, b.mean) ||
    compared(a.name, b.name);
  const column = [NAME_COLUMN, ...TEXT_COLUMNS, ...figures].find(({ id }) => id === sort);
  if (column === undefined || sort === 'overall') return byMean;
  if (column.figure === undefined) return (a, b) => compared(textIn(column, a), textIn(column, b)) || byMean(a, b);
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

/**
 * Ids of columns by entry: those in which it is best, or cannot be told from the best; in which it could not be tested against the best;
 * and in which its figure is better than the best's, but it is behind another on the rows of both.
 */
type Marks = Readonly<Record<'best' | 'untested' | 'behind', Map<Entry, Set<string>>>>;

/**
 * Marks the best run of each column and its ties. Incomplete runs and runs over fewer rows are left out, and so are all where
 * neither way of a measure is better.
 */
function marksOf(entries: readonly OwnEntry[], columns: readonly BoardColumn[], rank: Rank, isTied: IsTied): Marks {
  const marks: Marks = { best: new Map(), untested: new Map(), behind: new Map() };
  const tested = entries.filter((entry) => entry.isComplete && entry.fewer.length === 0);
  for (const column of columns) {
    for (const [entry, mark] of marksIn(column, tested, rank, isTied)) {
      marks[mark].set(entry, (marks[mark].get(entry) ?? new Set()).add(column.id));
    }
  }
  return marks;
}

function* marksIn(
  { id, figure, isMean }: BoardColumn,
  entries: readonly OwnEntry[],
  rank: Rank,
  isTied: IsTied,
): Generator<readonly [Entry, keyof Marks]> {
  // A mean over fewer domains is another quantity: where there are runs with Overall, they are compared with each other.
  const whole = entries.filter(({ figures }) => figures.has('overall'));
  const ranked = (isMean && id !== 'macro' && whole.length > 0 ? whole : entries).flatMap((entry) => {
    const own = entry.figures.get(id);
    const place = own && rank(own);
    return own === undefined || place === undefined ? [] : [{ entry, place, hasError: own.se !== undefined }];
  });
  // A figure of too few trajectories has no standard error: it takes no part, whether it is large or small.
  for (const { entry, hasError } of ranked) if (!hasError) yield [entry, 'untested'];
  const tested = ranked.filter(({ hasError }) => hasError).sort((a, b) => b.place - a.place);
  const having = tested.map(({ entry }) => entry);
  const [first] = having;
  const domainSets = new Set(having.map(({ rows }) => canonicalJson([...domainsOfMean([...rows.keys()])].sort())));
  if (figure === undefined || first === undefined || having.length < 2 || (isMean && domainSets.size > 1)) return;
  const isTiedWith = (best: OwnEntry, { run }: OwnEntry) => isTied(best.run, run, figure, having.length);
  // Over other rows a run may have the best figure, and be behind on those that it shares with another.
  const isBehind = (entry: OwnEntry) => having.some((one) => one !== entry && isTiedWith(one, entry) === false);
  const best = having.find((entry) => !isBehind(entry)) ?? first;
  const place = having.indexOf(best);
  const ties = having.map((entry) => (entry === best ? undefined : isTiedWith(best, entry)));
  // The best of runs of which none can be tested is the best number, and no more than that.
  const isAnyTested = ties.some((tied) => tied !== undefined);
  for (const [at, entry] of having.entries()) {
    if (entry !== best && ties[at] === undefined) yield [entry, 'untested'];
    if (isAnyTested && (entry === best || (at > place && ties[at] === true))) yield [entry, 'best'];
    if (isAnyTested && at < place) yield [entry, 'behind'];
  }
}

/** What notes are made of. */
interface NoteSource {
  readonly entries: readonly Entry[];
  readonly marks: Marks;
  readonly columns: readonly BoardColumn[];
  readonly group: Group;
  readonly options: BoardOptions;
  readonly measure: string | undefined;
}

/** The texts that are to be said. */
function said(...texts: readonly (string | false | undefined)[]): string[] {
  return texts.flatMap((text) => text || []);
}

/** How to read any such block. */
function legendFor({ entries, options, measure, columns }: NoteSource): string[] {
  const hasRuns = entries.some(({ run }) => run !== undefined);
  const isRated = measure === undefined;
  const beside = columns.filter(({ figure }) => figure?.domain !== undefined && !isPublished(figure.domain));
  const besideText = `; ${beside.map(({ heading }) => heading).join(', ')} ${beside.length === 1 ? 'stands' : 'stand'} beside it`;
  const shown = new Set(columns.map(({ id }) => id));
  const priced = ['cost', 'judge-cost'].filter((id) => shown.has(id));
  const who = priced.map((id) => (id === 'cost' ? "the world model's" : "the judge's")).join(' and ');
  const isLeast = entries.some(({ figures }) => priced.some((id) => figures.get(id)?.isLeast));
  const ofRuns = (id: string) => hasRuns && shown.has(id);
  return said(
    !isRated &&
      `${oneLine(measure, 20)}: ${kindText(options.measureOf(measure))}, ${measureText(options.measureOf(measure))}; it is no rating.`,
    ofRuns('overall') &&
      `${isRated ? 'Overall' : 'Mean'}: mean of the seven domains${beside.length === 0 ? '' : besideText}.`,
    shown.has('interval') && '95 %: interval of the mean over domains, clustered by trajectory.',
    ofRuns('coverage') && 'Coverage: predictions with a rating, and those that failed by the model, of those chosen.',
    ofRuns('rows') &&
      'Predictions (Pred.): those that are valid to the official script, of those chosen (rows times repeats).',
    shown.has('macro') &&
      entries.some(({ figures }) => figures.has('macro')) &&
      'macro of K: mean of K domains; Overall needs all seven and no other.',
    isRated &&
      hasRuns &&
      'Scores count what the model failed (empty, refused, confusing) at rating 1, so that no run rises by failing.',
    shown.has('official') &&
      'Official: the same as the official script counts it, which leaves such predictions out; never ranked.',
    priced.length > 0 &&
      `Cost: US dollars of ${who} calls, those that failed among them${isLeast ? '; ≥: the cost of some rows is not known' : ''}.`,
    shown.has('tokens') && 'Tokens a row: output of the world model, thinking included, as its server counted.',
  );
}

/** What a reader has to know of these very runs. */
function notesOf(source: NoteSource): string[] {
  const { entries, marks, columns, group, options } = source;
  const { minCoverage, assumeSame } = options;
  const incomplete = entries.flatMap(({ name, run, isComplete }) => {
    if (run === undefined || isComplete) return [];
    const short = shortDomains(run.card, minCoverage);
    return `${name} (${short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ')})`;
  });
  const fewer = entries.flatMap(({ name, run, rows, fewer: domains, isComplete }) => {
    if (run === undefined || !isComplete || domains.length === 0) return [];
    const isEverywhere = domains.length === run.card.domains.length;
    const counts = domains.map((domain) => `${domainName(domain)} ${rows.get(domain) ?? 0}`);
    return `${name} (${isEverywhere ? sum(rows.values()) : counts.join(', ')})`;
  });
  const tested = columns.filter(({ isTested }) => isTested);
  const [behind, untested] = [marks.behind, marks.untested].map((own) => {
    const byColumns = groupBy(own, ([, ids]) => {
      if (ids.size === tested.length) return '';
      const isEachDomain = tested.every(({ id, figure }) => ids.has(id) === (figure?.domain !== undefined));
      const names = tested.filter(({ id }) => ids.has(id)).map(({ heading }) => heading);
      return ` (${isEachDomain ? 'each domain' : names.join(', ')})`;
    });
    return [...byColumns].map(([where, some]) => some.map(([{ name }]) => name).join(', ') + where).join('; ');
  });
  return said(
    incomplete.length > 0 &&
      `A domain's coverage is below ${percent(minCoverage)}, so the run is neither tested nor marked: ${incomplete.join('; ')}.`,
    fewer.length > 0 &&
      `Over fewer rows, so ranked behind the others and neither tested nor marked: ${fewer.join('; ')}.`,
    behind &&
      `Larger figures over other rows, and behind another run on the rows that both have, so not marked: ${behind}.`,
    untested &&
      `Fewer than ${LEAST_CLUSTERS} trajectories, or too few in common with the best, so not tested: ${untested}.`,
    !group.isRecorded &&
      (assumeSame
        ? 'Not everything was recorded of how these runs came about; --assume-same takes it to be the same in all of them.'
        : 'Not everything was recorded of how this run came about, so it stands alone; --assume-same puts such runs together.'),
    ...selectionNotes(source),
    ...publishedNotes(entries),
  );
}

function selectionNotes({ entries, group, options }: NoteSource): string[] {
  const counts = entries.map(({ run, rows }) => (run === undefined ? PUBLISHED_SOURCE.rows : sum(rows.values())));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const alike = [...groupBy(group.runs, (run) => keyOfName(run, options.per)).values()].map(({ length }) => length);
  return said(
    least < most && `Figures are over different numbers of rows: ${least} to ${most}.`,
    options.show === 'best' &&
      alike.length < group.runs.length &&
      `The best of up to ${Math.max(...alike)} runs each: such a choice lifts a score above its true value.`,
  );
}

function sum(counts: Iterable<number>): number {
  return [...counts].reduce((total, count) => total + count, 0);
}

function publishedNotes(entries: readonly Entry[]): string[] {
  const rows = entries.flatMap(({ published }) => published ?? []);
  if (rows.length === 0) return [];
  const odd = rows.flatMap(({ model, scores, overall }) => {
    const [is, would] = [twoDecimals(overall), twoDecimals(sum(scores.values()) / scores.size)];
    return is === would ? [] : [`${model}: its Overall is published as ${is}, the mean of its columns is ${would}.`];
  });
  return [
    `published: ${PUBLISHED_SOURCE.text}, judge ${PUBLISHED_SOURCE.judge}; official figures, neither ranked, tested nor marked.`,
    ...odd,
  ];
}
