// Score cards -> tables of ratings and of measures, and their coverage as text.

import { leastCovered, percent } from '../coverage.js';
import { domainName, domainsBehindCard, isPublished, meanName } from '../domains.js';
import { type MeasureLookup, measureWords } from '../measures.js';
import { oneLine } from '../printable.js';
import { DIMENSIONS, type Domain, type DomainScore, type Estimate, type ScoreCard, type ScoreSet } from '../types.js';
import { capitalized, isLikeScore, measureText } from './measure-text.js';
import { type Column, figure, intervalCell, type Table, withoutIntervalNote } from './table.js';

/** So many measures have room for an interval each. */
const MOST_WITH_INTERVALS = 2;
/** Longest name of a measure that is shown whole. */
const NAME_COLUMNS = 16;

const SCORE_COLUMNS: readonly Column[] = [
  { heading: 'Domain', short: 'Domain', align: 'left' },
  { heading: 'Valid rows', short: 'Valid', align: 'right' },
  { heading: 'Format', short: 'Form.', align: 'right' },
  { heading: 'Factuality', short: 'Fact.', align: 'right' },
  { heading: 'Consistency', short: 'Cons.', align: 'right' },
  { heading: 'Realism', short: 'Real.', align: 'right' },
  { heading: 'Quality', short: 'Qual.', align: 'right' },
  { heading: 'Total', short: 'Total', align: 'right' },
  { heading: '95 % interval', short: '95 %', align: 'right' },
  { heading: 'With failures', short: 'w.fail', align: 'right' },
];

/** The name of a card's mean over domains. */
export function overallName(card: ScoreCard): string {
  return meanName(ratedDomains(card), card.macroOf);
}

function ratedDomains(card: ScoreCard): Domain[] {
  return card.domains.filter((score) => score.scores.total !== undefined).map((score) => score.domain);
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
 * The table of ratings: a row per domain, then the mean over domains and the mean over samples. Scores are 0-100 with two decimals.
 * Undefined where rows were measured and none was rated.
 */
export function scoreTable(card: ScoreCard): Table | undefined {
  if (card.overall.total === undefined && card.domains.some(hasMeasures)) return undefined;
  const overall = overallName(card);
  const beside = overall === 'Overall' ? card.domains.filter(({ domain }) => !isPublished(domain)) : [];
  const overallRows = [
    scoreRow(overall, counts(without(card, beside)), card.overall, card.overallWithFailures.total),
    scoreRow('micro', String(card.overallMicro.total?.rows ?? 0), card.overallMicro, undefined),
  ];
  return {
    columns: SCORE_COLUMNS,
    groups: [
      card.domains.map((score) =>
        scoreRow(domainName(score.domain), counts(score), score.scores, score.withFailures.total),
      ),
      overallRows,
    ],
    footnotes: [
      'Valid: rows with a judgement, of the rows the run chose. 95 %: interval of Total, clustered by trajectory.',
      ...withoutIntervalNote([...card.domains.map((score) => score.scores.total), card.overall.total]),
      'With failures (w.fail): Total with empty, refused and planted predictions at rating 1.',
      overall === 'Overall'
        ? `Overall: mean of the seven domains, as published. micro: mean over samples, as the official script prints.${besideNote(beside)}`
        : `${overall}: mean of the domains; the published Overall needs all seven and no other. micro: mean over samples.`,
    ],
  };
}

/** The table of measures: a column per measure. Undefined where nothing was measured. */
export function measureTable(card: ScoreCard, measureOf: MeasureLookup): Table | undefined {
  const names = measureNames(card);
  if (names.length === 0) return undefined;
  const measured = card.domains.filter(hasMeasures);
  const behind = domainsBehindCard(
    measured.map(({ domain }) => domain),
    card.macroOf,
  );
  const beside = measured.filter(({ domain }) => !behind.includes(domain));
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
      [row(`macro of ${behind.length}`, card.overallMeasures)],
    ],
    footnotes: [
      `${kindsOf(names, measureOf)}${except.length === names.length ? '' : ', 0-100'}; they are no ratings. A mean is over the domains that have it.${besideNote(beside)}`,
      ...(except.length === 0 ? [] : [`${except.join('; ')}.`]),
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

/** What is said of domains that stand outside the mean of the seven. */
function besideNote(domains: readonly DomainScore[]): string {
  if (domains.length === 0) return '';
  const names = domains.map(({ domain }) => domainName(domain));
  return ` Beside the seven, and not in Overall: ${names.join(', ')}.`;
}

function without(card: ScoreCard, domains: readonly DomainScore[]) {
  const left = (count: 'valid' | 'chosen') => domains.reduce((sum, domain) => sum - domain[count], card[count]);
  return { valid: left('valid'), chosen: left('chosen') };
}

function counts({ valid, chosen }: { readonly valid: number; readonly chosen: number }): string {
  return `${valid}/${chosen}`;
}

function scoreRow(name: string, rows: string, scores: ScoreSet, withFailures: Estimate | undefined): string[] {
  return [
    name,
    rows,
    ...DIMENSIONS.map((dimension) => figure(scores[dimension])),
    figure(scores.total),
    intervalCell(scores.total),
    figure(withFailures),
  ];
}
