// Score cards -> tables of ratings and of measures, and their coverage as text.

import { domainName, domainsOfMean, isPublished, meanName } from '../core/domains.js';
import { FACTS_RECALL } from '../core/judgement.js';
import { type MeasureLookup, measureWords } from '../core/measures.js';
import { oneLine } from '../core/printable.js';
import { type Column, figure, intervalCell, type Table, withoutIntervalNote } from '../core/table.js';
import { DIMENSIONS, type DomainScore, type Estimate, type ScoreCard, type ScoreSet } from '../core/types.js';
import { leastCovered, percent } from '../stats/coverage.js';
import { capitalized, isLikeScore, measureText } from './measure-text.js';

/** So many measures have room for an interval each. */
const MOST_WITH_INTERVALS = 2;
/** Longest name of a measure that is shown whole. */
const NAME_COLUMNS = 16;

const SCORE_COLUMNS: readonly Column[] = [
  { heading: 'Domain', short: 'Domain', align: 'left' },
  { heading: 'Predictions', short: 'Pred.', align: 'right' },
  { heading: 'Format', short: 'Form.', align: 'right' },
  { heading: 'Factuality', short: 'Fact.', align: 'right' },
  { heading: 'Consistency', short: 'Cons.', align: 'right' },
  { heading: 'Realism', short: 'Real.', align: 'right' },
  { heading: 'Quality', short: 'Qual.', align: 'right' },
  { heading: 'Total', short: 'Total', align: 'right' },
  { heading: '95 % interval', short: '95 %', align: 'right' },
  { heading: 'Official', short: 'Official', align: 'right' },
];

const FIGURES = [...DIMENSIONS, 'total'] as const;

/** The name of a card's mean over domains. */
export function overallName(card: ScoreCard, figures: 'withFailures' | 'scores' = 'withFailures'): string {
  const domains = card.domains.filter((score) => score[figures].total !== undefined).map(({ domain }) => domain);
  return meanName(domains, domainsOfMean(domains).length);
}

/** A run's coverage, and where that is less the coverage of the domain that has least, such as `98 % (least: Web 90 %)`. */
export function coverageText(card: ScoreCard): string {
  const least = leastText(card);
  return `${percent(card.coverage)}${least === undefined ? '' : ` (${least})`}`;
}

/** The domain that has least coverage, where that is less than the whole run's. */
export function leastText(card: ScoreCard): string | undefined {
  const least = leastCovered(card);
  return least && `least: ${domainName(least.domain)} ${percent(least.coverage)}`;
}

/**
 * The table of ratings, with failures at rating 1: a row per domain, then the mean over domains. Beside each total stands the official
 * one, and below all of them the official script's mean over samples. Scores are 0-100 with two decimals. Undefined where rows were
 * measured and none was rated.
 */
export function scoreTable(card: ScoreCard): Table | undefined {
  if (card.overall.total === undefined && card.domains.some(hasMeasures)) return undefined;
  const overall = overallName(card);
  const beside = besideMean(card);
  // Of a domain in which the model failed on every row, the official script knows nothing: its mean is of fewer.
  const official = overallName(card, 'scores') === overall ? card.overall.total : undefined;
  const recall = card.overallMeasures[FACTS_RECALL];
  const overallRows = [
    scoreRow(overall, counts(without(card, beside)), card.overallWithFailures, official),
    scoreRow('micro', counts(card), {}, card.overallMicro.total),
    ...(recall === undefined ? [] : [scoreRow('facts recall', String(recall.rows), { total: recall }, undefined)]),
  ];
  return {
    columns: SCORE_COLUMNS,
    groups: [
      card.domains.map((score) =>
        scoreRow(domainName(score.domain), counts(score), score.withFailures, score.scores.total),
      ),
      overallRows,
    ],
    footnotes: ['Failures of the model count at rating 1; Official leaves them out.', ...besideNote(beside)],
    legend: [
      'Predictions (Pred.): those that are valid to the official script, of those chosen (rows times repeats).',
      'Total: mean of the five dimensions. 95 %: its interval, clustered by trajectory.',
      ...withoutIntervalNote([
        ...card.domains.map((score) => score.withFailures.total),
        card.overallWithFailures.total,
      ]),
      'Failures of the model: empty, refused and confusing predictions. Official: Total as the official script counts it. micro: its mean over samples, of all domains.',
      overall === 'Overall'
        ? 'Overall: mean of the seven domains.'
        : `${overall}: mean of the domains; the published Overall needs all seven and no other.`,
      ...(recall === undefined
        ? []
        : ['facts recall: the share of determined facts that were met, 0-100, of the predictions that have any.']),
    ],
  };
}

/** What the official script counts otherwise: the domains in which a failure of the model changed a figure, and the means. */
export function officialTable(card: ScoreCard): Table | undefined {
  const differing = card.domains.filter(({ scores, withFailures }) =>
    FIGURES.some((name) => figure(scores[name]) !== figure(withFailures[name])),
  );
  if (differing.length === 0) return undefined;
  const row = (name: string, predictions: string, scores: ScoreSet) =>
    scoreRow(name, predictions, scores, undefined).slice(0, -1);
  return {
    columns: [{ heading: 'Official', short: 'Official', align: 'left' }, ...SCORE_COLUMNS.slice(1, -1)],
    groups: [
      differing.map((score) => row(domainName(score.domain), counts(score), score.scores)),
      [
        row(overallName(card, 'scores'), counts(without(card, besideMean(card))), card.overall),
        row('micro', counts(card), card.overallMicro),
      ],
    ],
    footnotes: [],
  };
}

/** The table of measures: a column per measure. Undefined where nothing was measured. */
export function measureTable(card: ScoreCard, measureOf: MeasureLookup): Table | undefined {
  const names = measureNames(card);
  if (names.length === 0) return undefined;
  const measured = card.domains.filter(hasMeasures);
  const behind = domainsOfMean(measured.map(({ domain }) => domain));
  const beside = measured.filter(({ domain }) => !behind.includes(domain));
  const having = (name: string) => measured.filter((one) => behind.includes(one.domain) && one.measures[name]).length;
  const counts = [...new Set(names.map(having))].sort((a, b) => a - b);
  const macro = `macro of ${counts.length < 3 ? counts.join(' or ') : `${counts[0]} to ${counts.at(-1)}`}`;
  const isFew = names.length <= MOST_WITH_INTERVALS;
  const row = (name: string, estimates: DomainScore['measures']) => [
    name,
    String(Math.max(0, ...Object.values(estimates).map((estimate) => estimate.rows))),
    ...names.flatMap((measure) => [figure(estimates[measure]), ...(isFew ? [intervalCell(estimates[measure])] : [])]),
  ];
  const align = 'right';
  const estimates = [...measured.map(({ measures }) => measures), card.overallMeasures];
  const others = names.filter((name) => !isLikeScore(measureOf(name)));
  const except = others.map((name) => `${oneLine(name, NAME_COLUMNS)}: ${measureText(measureOf(name))}`);
  return {
    columns: [
      { heading: 'Domain', short: 'Domain', align: 'left' },
      { heading: 'Rows', short: 'Rows', align },
      ...names.flatMap((name): Column[] => {
        const heading = oneLine(name, NAME_COLUMNS);
        const column = { heading, short: heading, align } as const;
        return isFew ? [column, { heading: '95 % interval', short: '95 %', align }] : [column];
      }),
    ],
    groups: [
      measured.map((score) => row(domainName(score.domain), score.measures)),
      [row(macro, card.overallMeasures)],
    ],
    footnotes: [...(except.length === 0 ? [] : [`${except.join('; ')}.`]), ...besideNote(beside)],
    legend: [
      `${kindsOf(names, measureOf)}${except.length === names.length ? '' : ', 0-100'}; they are no ratings. A mean is over the domains that have it.`,
      ...(isFew ? withoutIntervalNote(estimates.flatMap((own) => names.flatMap((name) => own[name] ?? []))) : []),
    ],
  };
}

/** The measures of a card, in the order in which they are met. */
export function measureNames(card: ScoreCard): string[] {
  return [...new Set(card.domains.flatMap((score) => Object.keys(score.measures)))];
}

/** What the measures are called, such as `Text measures of prediction against ground truth`. */
function kindsOf(names: readonly string[], measureOf: MeasureLookup): string {
  const kinds = names
    .map((name) => measureWords(measureOf(name)))
    .map(({ many, of }) => (of === undefined ? many : `${many} ${of}`));
  return capitalized([...new Set(kinds)].join(' and '));
}

/** The measure that stands for a run of which nothing was rated: one that is declared to, else the first; undefined where there are ratings. */
export function leadingMeasure(card: ScoreCard, measureOf: MeasureLookup): string | undefined {
  if (card.overall.total !== undefined) return undefined;
  const names = Object.keys(card.overallMeasures);
  return names.find((name) => measureOf(name).leads) ?? names[0];
}

function hasMeasures(score: DomainScore): boolean {
  return Object.keys(score.measures).length > 0;
}

/** The domains that Overall leaves out. */
function besideMean(card: ScoreCard): DomainScore[] {
  return overallName(card) === 'Overall' ? card.domains.filter(({ domain }) => !isPublished(domain)) : [];
}

/** What is said of domains that stand outside the mean of the seven. */
function besideNote(domains: readonly DomainScore[]): string[] {
  if (domains.length === 0) return [];
  return [`Beside the seven, and not in the mean: ${domains.map(({ domain }) => domainName(domain)).join(', ')}.`];
}

function without(card: ScoreCard, domains: readonly DomainScore[]) {
  const left = (count: 'valid' | 'chosen') => domains.reduce((sum, domain) => sum - domain[count], card[count]);
  return { valid: left('valid'), chosen: left('chosen') };
}

function counts({ valid, chosen }: { readonly valid: number; readonly chosen: number }): string {
  return `${valid}/${chosen}`;
}

function scoreRow(name: string, predictions: string, scores: ScoreSet, official: Estimate | undefined): string[] {
  return [
    name,
    predictions,
    ...DIMENSIONS.map((dimension) => figure(scores[dimension])),
    figure(scores.total),
    intervalCell(scores.total),
    figure(official),
  ];
}
