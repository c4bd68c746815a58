// The page of a run: the results of `awb score`, with details.

import { basename } from 'node:path';
import { ASKED, type RunCosts, sumOf } from '../core/costs.js';
import { domainName, domainsOfMean, meanName } from '../core/domains.js';
import { present } from '../core/errors.js';
import { DEFAULT_MEASURE, type Measure } from '../core/measures.js';
import { countedPoints, isRated, possibleRating } from '../core/points.js';
import { costCell } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { dimensionName } from '../core/table.js';
import {
  askedName,
  DIMENSIONS,
  type DomainScore,
  type Estimate,
  type JudgedRow,
  type ScoreCard,
} from '../core/types.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { askedNames, costTable } from '../report/costs.js';
import {
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
import type { KeyFigure, NamedText, Page, PageBlock, RunDocument, ScaleEnds, ShownTable } from './documents.js';
import { count, DASH, figureColumns, number, rangeBelow, scoreChart, withNotes } from './figures.js';
import { leadingOf } from './listed-run.js';

export interface Extras {
  /** The run that predicted a rollout's rows with true histories. */
  readonly forced?: ReadRun | undefined;
  /** Further warnings. */
  readonly notes?: readonly string[];
  /** Whether its judge's calibration is also shown. */
  readonly isCalibrated?: boolean;
  /** Whether the manifest is left out. */
  readonly scoresOnly?: boolean;
}

/** @param ref the viewer's name for it */
export function runDocument(run: ReadRun, ref: string, extras: Extras = {}): RunDocument {
  const { name, made, rows, trust, manifest, costs } = run;
  const { notes = [], isCalibrated = false, scoresOnly = false } = extras;
  const equivalence = equivalenceCard(rows);
  const names = askedNames(equivalence);
  const costsTable = costTable(costs, { byDomain: true, names });
  const page: Page = {
    title: name,
    facts: factsOf(run),
    lines: [
      ...(trust === undefined ? [] : [trustText(trust)]),
      ...(isCalibrated ? [{ text: 'its calibration', link: `#/calibration/${ref}` }] : []),
      ...(manifest?.panel === undefined ? [] : [{ text: 'how its judges agree', link: `#/panel/${ref}` }]),
    ],
    warnings: [...warningsOn(run), ...notes],
    figures: [...keyFigures(run), ...tokenFigure(costs, names)],
    blocks: [
      // Scenario runs have their own blocks.
      ...(made.mode === 'scenarios' ? [] : figureBlocks(run, ref, equivalence, extras.forced)),
      ...(costsTable === undefined
        ? []
        : [{ title: 'Tokens and cost', note: COST_NOTE, tables: [{ ...costsTable, firstSum: 0 }] }]),
      ...(manifest === undefined || scoresOnly ? [] : [manifestBlock(manifest)]),
    ],
  };
  return { ref, mode: made.mode, page };
}

const COST_NOTE =
  'Counted by the servers, including failed rows and retried replies; prompt tokens include cached ones, output tokens include reasoning.';

function manifestBlock(manifest: NonNullable<ReadRun['manifest']>): PageBlock {
  const text = JSON.stringify(manifest, null, 2);
  return { folds: [{ title: 'Manifest', about: ['how this run was made'], blocks: [{ text }] }] };
}

/** The name of the mean over the domains with a figure: `Overall`, or the number of domains. */
export function meanIn(card: ScoreCard): string {
  const having = leadingOf(card).domains.flatMap(({ domain, estimate }) => (estimate === null ? [] : [domain]));
  return meanName(having, domainsOfMean(having).length);
}

function keyFigures({ card }: ReadRun): KeyFigure[] {
  const { lead, overall } = leadingOf(card);
  const mean = meanIn(card);
  const rated = mean === 'Overall' ? mean : `Score (${mean})`;
  const isRated = leadingMeasure(card, measureOf) === undefined;
  const official = isRated ? card.overall.total?.value : undefined;
  const isOther = official !== undefined && overall !== null && Math.abs(official - overall.value) >= 0.05;
  const failed = card.domains.reduce((sum, { failures }) => sum + (failures['not-judged'] ?? 0), card.failed);
  return [
    {
      title: lead.name === mean ? rated : `${lead.name} (${mean})`,
      figure: number(overall, lead.decimals),
      under: [
        rangeBelow(overall, (value) => value.toFixed(lead.decimals)),
        ...(isOther ? [`official: ${official.toFixed(1)}`] : []),
      ],
    },
    { title: 'Coverage', figure: percent(card.coverage), under: [leastText(card) ?? 'in every domain'] },
    { title: 'Predictions', figure: count(card.valid), under: [`valid, of ${count(card.chosen)} chosen`] },
    {
      title: 'Failed or missing',
      figure: count(failed),
      under: [failed === 0 ? 'none' : `${((failed / Math.max(1, card.chosen)) * 100).toFixed(1)} % of the rows`],
    },
  ];
}

/** Figures with their details. */
function figureBlocks(
  run: ReadRun,
  ref: string,
  equivalence: ReturnType<typeof equivalenceCard>,
  forced: ReadRun | undefined,
): PageBlock[] {
  const { card, rows, excerpts } = run;
  const { lead, overall, domains } = leadingOf(card);
  const measure = leadingMeasure(card, measureOf);
  const partner = forced !== undefined && isForcedPartner(run, forced) ? forced : undefined;
  const rollout = rolloutOf(rows, card, partner?.rows);
  const mean = meanIn(card);
  const ends = [lead.from, lead.to] as const;
  const lines = domains.map(({ domain, name, estimate }) => ({
    name: { text: name, link: samplesOf(ref, 'domain', domain) },
    figure: estimate,
  }));
  const scored = { measure, range: (measure === undefined ? DEFAULT_MEASURE : measureOf(measure)).range };
  const part = (title: string, note: string, first: string, bins: readonly Bin[]): PageBlock[] =>
    bins.length < 2 ? [] : [{ title, note, tables: [scoreChart(first, ends, bins, { decimals: lead.decimals })] }];
  const parts = [
    ...part(
      'Score by turn',
      'Position of the predicted turn in its trajectory; mean over samples.',
      'Turn',
      binsOf(rows, ({ turnIdx }) => turnIdx, scored),
    ),
    ...part(
      'Score by context length',
      'Characters sent to the world model: system prompt, history and action; mean over samples.',
      'Characters',
      binsOf(rows, (row) => excerpts?.get(rowIdOf(row))?.chars, scored),
    ),
  ];
  const isOnScale = measureNames(card).every((each) => isLikeScore(measureOf(each)));
  return [
    {
      title: `${lead.name === mean ? 'Scores' : lead.name} by domain`,
      note: 'Dots are scores, lines their 95 % intervals, clustered by trajectory: turns of one trajectory are not independent.',
      tables: [scoreChart('Domain', ends, lines, { sum: { name: mean, figure: overall }, decimals: lead.decimals })],
    },
    {
      title: 'What lowers the score',
      note: 'See What went wrong for groups of unmet facts, failures and flags.',
      pair: [
        tallyBlock(
          card,
          ['Failures', 'Failure', 'failure'],
          'Rows without a score, by cause. Empty, refused and confusing predictions are the model’s failures; the others are missing data.',
          ref,
        ),
        tallyBlock(card, ['Flags', 'Flag', 'flag'], 'Oddities of a prediction that do not make it a failure.', ref),
      ],
    },
    ...(equivalence === undefined
      ? []
      : [{ title: 'Decision equivalence', tables: [withNotes(equivalenceTable(equivalence))] }]),
    ...(rollout === undefined ? [] : [rolloutBlock(rollout, ends, partner?.name)]),
    {
      title: 'Dimensions',
      note: `Each figure${isOnScale ? ' on a scale of 0 to 100,' : ','} its 95 % interval below it.`,
      tables: figureTables(card),
    },
    ...(measure === undefined ? [ratingsBlock(rows)] : []),
    ...(parts.length === 0 ? [] : [{ pair: parts }]),
  ];
}

/** How a run was made, as far as recorded. */
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
    // The user's facts about the checkpoint: its step, its recipe, its cost.
    ...Object.entries(meta),
    ['file', basename(source)],
  ];
  return facts.flatMap(([name, text]) => (text === undefined || text === '' ? [] : [[name, text] as const]));
}

/** All tokens, and who used them; empty if no model was asked. */
function tokenFigure(costs: RunCosts, names: ReturnType<typeof askedNames>): KeyFigure[] {
  const asked = ASKED.flatMap((who) => {
    const total = costs[who]?.total;
    return total === undefined || total.rows + total.unpriced === 0 ? [] : [{ name: names[who].toLowerCase(), total }];
  });
  const { usage, usd } = sumOf(asked.map(({ total }) => total));
  const tokens = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
  const each = asked.map(({ name, total }) => (usd === undefined ? name : `${name} ${costCell(total)}`));
  const under = [each.join(usd === undefined ? ' and ' : ', ')];
  return tokens === 0 ? [] : [{ title: 'Tokens', figure: inShort(tokens), under }];
}

function inShort(tokens: number): string {
  if (tokens < 10_000) return count(tokens);
  const [size, unit] = tokens < 1e6 ? [tokens / 1e3, 'k'] : tokens < 1e9 ? [tokens / 1e6, 'M'] : [tokens / 1e9, 'G'];
  return `${size.toFixed(1)} ${unit}`;
}

/** All tables of `awb score`, without the interval columns, since intervals are below the figures. */
function figureTables(card: ScoreCard): ShownTable[] {
  return [scoreTable(card), measureTable(card, measureOf)].flatMap((table) => {
    if (table === undefined) return [];
    const isKept = (_: unknown, column: number) => table.columns[column]?.heading !== '95 % interval';
    return {
      ...withNotes(table),
      columns: table.columns.filter(isKept),
      groups: table.groups.map((rows) => rows.map((cells) => cells.filter(isKept))),
    };
  });
}

/** How often each rating from 1 to 5 was given. Fractions, as panels give them, count as the nearest integer, but enter the mean exactly. */
function ratingsBlock(rows: readonly JudgedRow[]): PageBlock {
  const ratings = DIMENSIONS.map((dimension) => {
    const given = rows.flatMap((row) => possibleRating(row, dimension) ?? []);
    const counts = [1, 2, 3, 4, 5].map((rating) => given.filter((each) => Math.round(each) === rating).length);
    const mean = given.reduce((sum, rating) => sum + rating, 0) / given.length;
    return {
      counts,
      cells: [dimensionName(dimension), ...counts.map(count), given.length === 0 ? DASH : mean.toFixed(2)],
    };
  });
  const columns = figureColumns(['Dimension', '1', '2', '3', '4', '5', 'Mean']);
  return {
    title: 'Ratings',
    note: 'How often the judge gave each rating from 1 to 5, over valid rows.',
    tables: [
      {
        columns: columns.map((column, at) => ({ ...column, isWide: at > 0 && at < columns.length - 1 })),
        groups: [ratings.map(({ cells }) => cells)],
        drawings: { counts: ratings.map(({ counts }) => counts) },
      },
    ],
  };
}

/** Names without samples to link to. */
const UNLISTED = ['not-judged', 'unstated'];

/** Counts by name and domain, the largest first. */
function tallyBlock(
  { domains }: ScoreCard,
  [title, first, filter]: readonly [title: string, first: string, filter: 'failure' | 'flag'],
  note: string,
  ref: string,
): PageBlock {
  const tallyOf = (domain: DomainScore) => (filter === 'flag' ? domain.flags : domain.failures);
  const names = [...new Set(domains.flatMap((domain) => Object.keys(tallyOf(domain))))];
  const tallies = names
    .map((name) => {
      const counts = domains.map((domain) => tallyOf(domain)[name] ?? 0);
      return { name, counts, sum: counts.reduce((sum, times) => sum + times, 0) };
    })
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.sum - a.sum);
  if (tallies.length === 0) return { title, note: 'None.' };
  const rows = tallies.map(({ name, counts, sum }) => [
    UNLISTED.includes(name) ? name : { text: name, link: samplesOf(ref, filter, name) },
    ...[sum, ...counts].map((times) => count(times)),
  ]);
  const columns = figureColumns([first, 'All', ...domains.map(({ domain }) => domainName(domain))]);
  return { title, note, tables: [{ columns, groups: [rows] }] };
}

/** Address of a run's samples under a filter. */
function samplesOf(ref: string, filter: string, value: string): string {
  return `#/run/${ref}/samples?${new URLSearchParams({ [filter]: value })}`;
}

/** A figure over a part of the rows. */
interface Bin {
  readonly name: string;
  readonly figure: Estimate;
}

/** Number of bins, of about equal size, for turns and context lengths. */
const BINS = 6;

/**
 * Scores in bins of a quantity, with about the same number of predictions each; equal values share a bin. The judgements of a
 * prediction are averaged first. Rows without a score or with an unknown quantity are left out.
 */
export function binsOf(
  rows: readonly JudgedRow[],
  quantity: (row: JudgedRow) => number | undefined,
  { measure, range }: { readonly measure: string | undefined; readonly range: Measure['range'] },
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
    bins.push({ name, figure: clusteredEstimate(bin, range) });
    from = to;
  }
  return bins;
}

function inWords(quantity: number): string {
  return quantity < 1000 ? String(quantity) : `${(quantity / 1000).toFixed(quantity < 10_000 ? 1 : 0)}k`;
}

/** Score by distance as curves with bands, and the tables of `awb score` with the figures and the drift. */
function rolloutBlock(card: RolloutCard, ends: ScaleEnds, forced: string | undefined): PageBlock {
  const parts = [
    { name: 'All rows', bins: card.by_distance, isSum: true },
    ...Object.entries(card.domains).map(([domain, part]) => ({
      ...{ name: domainName(domain), bins: part.by_distance, isSum: false },
    })),
  ];
  const curves = parts.flatMap(({ name, bins, isSum }) => {
    const middles = bins.map(({ from, to }) => (from + to) / 2);
    const [least = 0, most = 0] = [middles[0], middles.at(-1)];
    const points = bins.map(({ from, to, score, teacher_forced: forced }) => ({
      at: ((from + to) / 2 - least) / (most - least),
      label: from === to ? String(from) : `${from}–${to}`,
      figure: score,
      other: forced?.value,
    }));
    return bins.length > 1 ? [{ name, isSum, points }] : [];
  });
  const dashed = forced === undefined ? '' : ` Dashed: the same rows predicted with true histories (${forced}).`;
  return {
    title: 'Score by distance from the last true observation',
    note: `Distance 1 has only true history. Bands are 95 % intervals, clustered by trajectory.${dashed}`,
    curves: { ends, curves },
    tables: rolloutTables(card, false).map(withNotes),
  };
}
