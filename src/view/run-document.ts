// The page of a run as data: what `awb score` says of it, and what is behind that.

import { basename } from 'node:path';
import { FIGURES } from '../core/comparison.js';
import { ASKED, type RunCosts, sumOf } from '../core/costs.js';
import { domainName, domainsOfMean, meanName } from '../core/domains.js';
import { present } from '../core/errors.js';
import { DEFAULT_MEASURE, type Measure } from '../core/measures.js';
import { countedPoints, isRated, possibleRating } from '../core/points.js';
import { costCell, type Ends, grouped, intervalText } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { dimensionName, notesBelow, type Table } from '../core/table.js';
import { askedName, DIMENSIONS, type DomainScore, type JudgedRow, type ScoreCard } from '../core/types.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { askedNames, costTable } from '../report/costs.js';
import {
  decimalsOf,
  equivalenceTable,
  isLikeScore,
  leadingMeasure,
  leastText,
  measureNames,
  measureTable,
  rolloutTables,
  scoreTable,
} from '../report/score-table.js';
import { trustText } from '../report/trust.js';
import { isForcedPartner, rolloutOf } from '../results/comparability.js';
import { type ReadRun, warningsOn } from '../results/read-run.js';
import { meanFigure, predictionsOf } from '../stats/aggregate.js';
import { clusteredEstimate } from '../stats/clusters.js';
import { percent } from '../stats/coverage.js';
import { equivalenceCard } from '../stats/equivalence.js';
import type { RolloutCard } from '../stats/rollout.js';
import type { Bin, FigureTable, NamedText, RatingCounts, RolloutCurves, RunDocument } from './documents.js';
import { leadingOf } from './listed-run.js';

export interface Extras {
  /** The run that predicted the rows of a rollout with true histories. */
  readonly forced?: ReadRun | undefined;
  /** Further warnings. */
  readonly notes?: readonly string[];
  /** Whether the calibration of its judge is shown, too. */
  readonly isCalibrated?: boolean;
}

/** @param ref by what the viewer knows it */
export function runDocument(run: ReadRun, ref: string, extras: Extras = {}): RunDocument {
  const { name, made, card, rows, trust, manifest, costs, excerpts } = run;
  const { forced, notes = [], isCalibrated = false } = extras;
  const measure = leadingMeasure(card, measureOf);
  const leading = leadingOf(card);
  const { overall, domains } = leading;
  const having = domains.flatMap(({ domain, estimate }) => (estimate === null ? [] : [domain]));
  const official = measure === undefined ? card.overall.total?.value : undefined;
  const scored = { measure, range: (measure === undefined ? DEFAULT_MEASURE : measureOf(measure)).range };
  const equivalence = equivalenceCard(rows);
  const partner = forced !== undefined && isForcedPartner(run, forced) ? forced : undefined;
  const rollout = rolloutOf(rows, card, partner?.rows);
  return {
    ref,
    name,
    mode: made.mode,
    facts: factsOf(run),
    trust: trust === undefined ? null : trustText(trust),
    judgePages: [
      ...(isCalibrated ? [['calibration', 'its calibration'] as const] : []),
      ...(manifest?.panel === undefined ? [] : [['panel', 'how its judges agree'] as const]),
    ],
    warnings: [...warningsOn(run), ...notes],
    lead: leadingOf(card).lead,
    ...{ overall, domains },
    mean: meanName(having, domainsOfMean(having).length),
    official:
      official !== undefined && overall !== null && Math.abs(official - overall.value) >= 0.05 ? official : null,
    coverage: percent(card.coverage),
    least: leastText(card) ?? null,
    chosen: card.chosen,
    valid: card.valid,
    failed: card.domains.reduce((sum, { failures }) => sum + (failures['not-judged'] ?? 0), card.failed),
    tokens: tokensIn(costs, askedNames(equivalence)),
    figures: figureTables(card),
    isOnScale: measureNames(card).every((each) => isLikeScore(measureOf(each))),
    ratings: measure === undefined ? ratingCounts(rows) : [],
    turns: binsOf(rows, ({ turnIdx }) => turnIdx, scored),
    contexts: binsOf(rows, (row) => excerpts?.get(rowIdOf(row))?.chars, scored),
    failures: tallyTable('Failure', card, ({ failures }) => failures),
    flags: tallyTable('Flag', card, ({ flags }) => flags),
    equivalence: equivalence === undefined ? null : withNotes(equivalenceTable(equivalence)),
    rollout: rollout === undefined ? null : rolloutCurves(rollout, partner?.name),
    costs: costTable(costs, { byDomain: true, names: askedNames(equivalence) }) ?? null,
    manifest: manifest === undefined ? null : JSON.stringify(manifest, null, 2),
  };
}

/** What made a run; what nobody recorded is left out. */
function factsOf({ made, manifest, source }: ReadRun): NamedText[] {
  const { mode, meta } = made;
  const suite = manifest?.identity?.suite;
  const facts: (readonly [string, string | undefined])[] = [
    ['world model', made.worldModel],
    ['suite', typeof suite === 'string' ? suite : undefined],
    [askedWord(mode), made.judgeName],
    ['rubrics', made.rubricPack],
    ['verdicts', made.verdicts],
    ['protocol', askedName(made.protocol, made.rollout)],
    [mode === 'scenarios' ? 'asked' : 'judged', made.startedAt?.slice(0, 10)],
    // What the user said of the checkpoint: its step, its recipe, its cost.
    ...Object.entries(meta),
    ['file', basename(source)],
  ];
  return facts.flatMap(([name, text]) => (text === undefined || text === '' ? [] : [[name, text] as const]));
}

function tokensIn(costs: RunCosts, names: ReturnType<typeof askedNames>): RunDocument['tokens'] {
  const asked = ASKED.flatMap((who) => {
    const total = costs[who]?.total;
    return total === undefined || total.rows + total.unpriced === 0 ? [] : [{ name: names[who].toLowerCase(), total }];
  });
  const { usage, usd } = sumOf(asked.map(({ total }) => total));
  const count = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
  const each = asked.map(({ name, total }) => (usd === undefined ? name : `${name} ${costCell(total)}`));
  return count === 0 ? null : { count, each: each.join(usd === undefined ? ' and ' : ', ') };
}

function figureTables(card: ScoreCard): FigureTable[] {
  const rated = scoreTable(card);
  const measured = measureTable(card, measureOf);
  const names = measureNames(card);
  const measuresIn = card.domains.map(({ measures }) => measures).filter((own) => Object.keys(own).length > 0);
  const ratedIn = [...card.domains.map(({ withFailures }) => withFailures), card.overallWithFailures];
  return [
    ...(rated === undefined ? [] : [figureTable(rated, FIGURES, ratedIn, () => 1)]),
    ...(measured === undefined
      ? []
      : [figureTable(measured, names, [...measuresIn, card.overallMeasures], (name) => decimalsOf(measureOf(name)))]),
  ];
}

/** A table of a name, of rows, and of these figures, whose intervals leave their columns and stand below the figures. */
function figureTable<Name extends string>(
  shown: Table,
  names: readonly Name[],
  sets: readonly Readonly<Partial<Record<Name, Ends>>>[],
  decimalsIn: (name: Name) => number,
): FigureTable {
  const isKept = (_: unknown, column: number) => shown.columns[column]?.heading !== '95 % interval';
  const groups = shown.groups.map((rows) => rows.map((row) => row.filter(isKept)));
  const intervals = groups.flat().map((row, at) =>
    row.map((_, column) => {
      const name = names[column - 2];
      const ends = name && sets[at]?.[name];
      return (ends && intervalText(ends, (value) => value.toFixed(decimalsIn(name)))) ?? null;
    }),
  );
  return { table: withNotes({ ...shown, columns: shown.columns.filter(isKept), groups }), intervals };
}

function ratingCounts(rows: readonly JudgedRow[]): RatingCounts[] {
  return DIMENSIONS.map((dimension) => {
    const given = rows.flatMap((row) => possibleRating(row, dimension) ?? []);
    const counts = [1, 2, 3, 4, 5].map((rating) => given.filter((each) => Math.round(each) === rating).length);
    const mean = given.reduce((sum, rating) => sum + rating, 0) / given.length;
    return { name: dimensionName(dimension), counts, mean: given.length === 0 ? null : mean };
  });
}

/** Counts by name and domain, the largest first; null where nothing was counted. */
function tallyTable(
  first: string,
  { domains }: ScoreCard,
  tallyOf: (domain: DomainScore) => Readonly<Record<string, number>>,
): Table | null {
  const names = [...new Set(domains.flatMap((domain) => Object.keys(tallyOf(domain))))];
  const tallies = names
    .map((name) => {
      const counts = domains.map((domain) => tallyOf(domain)[name] ?? 0);
      return { name, counts, sum: counts.reduce((sum, times) => sum + times, 0) };
    })
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum);
  const heads = ['All', ...domains.map(({ domain }) => domainName(domain))];
  const columns = heads.map((heading) => ({ heading, short: heading, align: 'right' as const }));
  const rows = tallies.map(({ name, counts, sum }) => [name, ...[sum, ...counts].map((times) => grouped(times))]);
  return rows.length === 0
    ? null
    : { columns: [{ heading: first, short: first, align: 'left' }, ...columns], groups: [rows] };
}

/** What of a row is averaged: its rating in points, or where nothing was rated a measure. A score ends where the range does. */
interface Scored {
  readonly measure: string | undefined;
  readonly range: Measure['range'];
}

/** Parts of about equal size that turns and context lengths are cut into. */
const BINS = 6;

/**
 * Scores over parts of the rows by some quantity, each part with about as many predictions, one value never in two of them.
 * The judgements of a prediction are averaged first. Rows without a score or of an unknown quantity are left out.
 */
export function binsOf(
  rows: readonly JudgedRow[],
  quantity: (row: JudgedRow) => number | undefined,
  { measure, range }: Scored,
): Bin[] {
  const scoreOf = (row: JudgedRow) => {
    if (isRated(row)) return countedPoints(row, 'total');
    return measure !== undefined && row.failed === undefined ? row.measures?.[measure] : undefined;
  };
  const scored = predictionsOf(rows)
    .flatMap((judgements) => {
      const value = meanFigure(judgements, scoreOf);
      const at = quantity(judgements[0]);
      return value === undefined || at === undefined ? [] : [{ value, cluster: judgements[0].trajectory, at }];
    })
    .sort((a, b) => a.at - b.at);
  const bins: Bin[] = [];
  for (let from = 0; from < scored.length; ) {
    let to = Math.min(scored.length, from + Math.max(1, Math.round((scored.length - from) / (BINS - bins.length))));
    while (to < scored.length && scored[to]?.at === scored[to - 1]?.at) to++;
    const bin = scored.slice(from, to);
    const [first, last] = [present(bin[0]).at, present(bin.at(-1)).at];
    const name = first === last ? inWords(first) : `${inWords(first)} to ${inWords(last)}`;
    bins.push({ name, estimate: clusteredEstimate(bin, range) });
    from = to;
  }
  return bins;
}

function inWords(quantity: number): string {
  return quantity < 1000 ? String(quantity) : `${(quantity / 1000).toFixed(quantity < 10_000 ? 1 : 0)}k`;
}

function rolloutCurves(card: RolloutCard, forced: string | undefined): RolloutCurves {
  const parts = [
    { name: 'All rows', bins: card.all.distances, isSum: true },
    ...card.domains.map(({ domain, distances }) => ({ name: domainName(domain), bins: distances, isSum: false })),
  ];
  return {
    curves: parts
      .filter(({ bins }) => bins.length > 1)
      .map(({ name, bins, isSum }) => ({
        name,
        isSum,
        points: bins.map(({ from, to, score, paired }) => ({
          distance: (from + to) / 2,
          label: from === to ? String(from) : `${from}–${to}`,
          figure: score,
          forced: paired?.forced.value ?? null,
        })),
      })),
    tables: rolloutTables(card, false).map(withNotes),
    forced: forced ?? null,
  };
}

/** A table that says below itself how to read it. */
export function withNotes({ columns, groups, ...notes }: Table): Table {
  return { columns, groups, footnotes: notesBelow(notes) };
}
