// Tables of scored runs: ratings, measures and the meaning of their numbers, decision equivalence, scenarios, and rollouts (by distance from
// the last true observation, and drift).

import type { EstimateDocument } from '../core/document.js';
import { domainName, domainsOfMean, isPublished, meanName } from '../core/domains.js';
import { FACTS_RECALL } from '../core/judgement.js';
import { type Measure, type MeasureLookup, measureWords } from '../core/measures.js';
import { counted, intervalText, oneLine, signed, twoDecimals } from '../core/printable.js';
import {
  type Cell,
  type CellTable,
  type Column,
  columnsOf,
  figure,
  figureCell,
  intervalCell,
  NO_INTERVAL,
  NONE,
  type Table,
} from '../core/table.js';
import {
  DIMENSIONS,
  type DomainScore,
  type Estimate,
  LEAST_CLUSTERS,
  type ScoreCard,
  type ScoreSet,
} from '../core/types.js';
import { percent } from '../stats/coverage.js';
import type { Equivalence, EquivalenceCard } from '../stats/equivalence.js';
import type { DriftCard, Drifts, RolloutBin, RolloutCard } from '../stats/rollout.js';
import type { ScenarioFigures, ScenarioPart } from '../stats/scenarios.js';
import { pointsText } from './trust.js';

/** The most measures that have room for an interval each. */
const MOST_WITH_INTERVALS = 2;
/** Longest name of a measure that is not shortened. */
const NAME_COLUMNS = 16;

const SCORE_COLUMNS = columnsOf(
  '<Domain, Predictions|Pred., Format|Form., Factuality|Fact., Consistency|Cons., Realism|Real., Quality|Qual., Total, 95 % interval|95 %, Official',
);

/** The name of a card's mean over domains. */
export function overallName(card: ScoreCard, figures: 'withFailures' | 'scores' = 'withFailures'): string {
  const domains = card.domains.filter((score) => score[figures].total !== undefined).map(({ domain }) => domain);
  return meanName(domains, domainsOfMean(domains).length);
}

/** The domain of least coverage, if that is below the run's, such as `least: Web 90 %`. */
export function leastText({ domains, coverage }: Pick<ScoreCard, 'domains' | 'coverage'>): string | undefined {
  const [least] = [...domains].sort((a, b) => a.coverage - b.coverage);
  if (least === undefined || least.coverage >= coverage) return undefined;
  return `least: ${domainName(least.domain)} ${percent(least.coverage)}`;
}

/**
 * The table of ratings, with failures at rating 1: a row per domain, then the mean over domains. Each total has the official one next to
 * it, and the official script's mean over samples is below. Scores are 0-100 with two decimals. Undefined if rows were measured but none
 * was rated.
 */
export function scoreTable(card: ScoreCard): CellTable | undefined {
  if (card.overall.total === undefined && card.domains.some(hasMeasures)) return undefined;
  const name = overallName(card);
  const beside = besideMean(card);
  // The official script leaves out domains in which the model failed on every row, so its mean may be over fewer.
  const official = overallName(card, 'scores') === name ? card.overall.total : undefined;
  const recall = card.overallMeasures[FACTS_RECALL];
  return {
    columns: SCORE_COLUMNS,
    groups: [
      card.domains.map((score) =>
        scoreRow(domainName(score.domain), counts(score), score.withFailures, score.scores.total),
      ),
      [
        scoreRow(name, counts(card, beside), card.overallWithFailures, official),
        scoreRow('micro', counts(card), {}, card.overallMicro.total),
        ...(recall === undefined ? [] : [scoreRow('facts recall', String(recall.rows), { total: recall })]),
      ],
    ],
    footnotes: ['Failures of the model count as rating 1; Official leaves them out.', ...besideNote(beside)],
    legend: [
      'Predictions (Pred.): valid by the official script / chosen (rows times repeats).',
      'Total: mean of the five dimensions. 95 %: its interval, clustered by trajectory.',
      NO_INTERVAL,
      'Failures of the model: empty, refused and confusing predictions. Official: Total by the official script. micro: its mean over the samples of all domains.',
      name === 'Overall'
        ? 'Overall: mean of the seven domains.'
        : `${name}: mean of the domains; the published Overall needs all seven and no other.`,
      ...(recall === undefined
        ? []
        : ['facts recall: the share of determined facts that were met, 0-100, over the predictions that have any.']),
    ],
  };
}

/** The official counting where it differs: the domains in which a failure of the model changed a figure, and the means. */
export function officialTable(card: ScoreCard): CellTable | undefined {
  const differing = card.domains.filter(({ scores, withFailures }) =>
    [...DIMENSIONS, 'total' as const].some((name) => figure(scores[name]) !== figure(withFailures[name])),
  );
  if (differing.length === 0) return undefined;
  const row = (name: string, predictions: string, scores: ScoreSet) => scoreRow(name, predictions, scores).slice(0, -1);
  const mean = row(overallName(card, 'scores'), counts(card, besideMean(card)), card.overall);
  return {
    columns: [...columnsOf('<Official'), ...SCORE_COLUMNS.slice(1, -1)],
    groups: [
      differing.map((score) => row(domainName(score.domain), counts(score), score.scores)),
      [mean, row('micro', counts(card), card.overallMicro)],
    ],
  };
}

/** The table of measures: one column per measure. Undefined if nothing was measured. */
export function measureTable(card: ScoreCard, measureOf: MeasureLookup): CellTable | undefined {
  const names = measureNames(card);
  if (names.length === 0) return undefined;
  const measured = card.domains.filter(hasMeasures);
  const behind = domainsOfMean(measured.map(({ domain }) => domain));
  const isFew = names.length <= MOST_WITH_INTERVALS;
  const row = (name: string, estimates: DomainScore['measures']) => [
    name,
    String(Math.max(0, ...Object.values(estimates).map((estimate) => estimate.rows))),
    ...names.flatMap((measure) => [
      figureCell(estimates[measure], decimalsOf(measureOf(measure))),
      ...(isFew ? [intervalCell(estimates[measure])] : []),
    ]),
  ];
  const others = names.filter((name) => !isLikeScore(measureOf(name)));
  const except = others.map((name) => `${oneLine(name, NAME_COLUMNS)}: ${measureText(measureOf(name))}`);
  return {
    columns: [
      ...columnsOf('<Domain, Rows'),
      ...names.flatMap((name): Column[] => {
        const heading = oneLine(name, NAME_COLUMNS);
        return [{ heading, short: heading, align: 'right' }, ...(isFew ? columnsOf('95 % interval|95 %') : [])];
      }),
    ],
    groups: [
      measured.map((score) => row(domainName(score.domain), score.measures)),
      [row('macro', card.overallMeasures)],
    ],
    footnotes: [
      ...(except.length === 0 ? [] : [`${except.join('; ')}.`]),
      ...besideNote(measured.filter(({ domain }) => !behind.includes(domain))),
    ],
    legend: [
      'Measures are not ratings; 0-100 unless stated otherwise. A mean (macro) is over the domains that have the measure.',
      ...(isFew ? [NO_INTERVAL] : []),
    ],
  };
}

/** The measures of a card, in order of appearance. */
export function measureNames(card: ScoreCard): string[] {
  return [...new Set(card.domains.flatMap((score) => Object.keys(score.measures)))];
}

/** The main measure of a run without ratings: the declared one, else the first; undefined if there are ratings. */
export function leadingMeasure(card: ScoreCard, measureOf: MeasureLookup): string | undefined {
  if (card.overall.total !== undefined) return undefined;
  const names = Object.keys(card.overallMeasures);
  return names.find((name) => measureOf(name).leads) ?? names[0];
}

function hasMeasures(score: DomainScore): boolean {
  return Object.keys(score.measures).length > 0;
}

/** The domains that are not part of Overall. */
function besideMean(card: ScoreCard): DomainScore[] {
  return overallName(card) === 'Overall' ? card.domains.filter(({ domain }) => !isPublished(domain)) : [];
}

/** The note on domains that are not part of the mean of the seven. */
function besideNote(domains: readonly DomainScore[]): string[] {
  const names = domains.map(({ domain }) => domainName(domain)).join(', ');
  return domains.length === 0 ? [] : [`Not among the seven, so not in the mean: ${names}.`];
}

/** Valid and chosen predictions, without those of some domains. */
function counts(
  { valid, chosen }: Pick<DomainScore, 'valid' | 'chosen'>,
  without: readonly DomainScore[] = [],
): string {
  const [left, all] = without.reduce(([a, b], domain) => [a - domain.valid, b - domain.chosen], [valid, chosen]);
  return `${left}/${all}`;
}

function scoreRow(name: string, predictions: string, scores: ScoreSet, official?: Estimate): Cell[] {
  const figures = [...DIMENSIONS, 'total' as const].map((figure) => figureCell(scores[figure]));
  return [name, predictions, ...figures, intervalCell(scores.total), figure(official)];
}

/** The text in place of a missing equivalence, and the reason. */
const MISSING = {
  'does not look': [
    'none',
    'None: the interval of ceiling minus floor contains 0 or is below it. The agent does not visibly react to what it is shown, so it says nothing about predictions.',
  ],
  few: ['too few', `Too few: fewer than ${LEAST_CLUSTERS} trajectories (for the mean of domains: in any of them).`],
} as const;

/** Decision equivalence as a table: the three raw figures, and the result. */
export function equivalenceTable({ domains, overall, macroOf }: EquivalenceCard): Table {
  const row = (name: string, { rows, predicted, ceiling, floor, found }: Equivalence) => {
    const raw = [name, String(rows), ...[predicted, ceiling, floor].map(twoDecimals)];
    if (typeof found === 'string') return [...raw, MISSING[found][0], NONE];
    return [...raw, twoDecimals(found.value), intervalCell(found.interval)];
  };
  const names = domains.map(({ domain }) => domain);
  return {
    columns: columnsOf(
      '<Domain, Rows, Predicted|Pred., Ceiling|Ceil., Floor, Decision eq.|Dec. eq., 95 % interval|95 %',
    ),
    groups: [domains.map((own) => row(domainName(own.domain), own)), [row(meanName(names, macroOf), overall)]],
    footnotes: Object.entries(MISSING).flatMap(([reason, [, why]]) =>
      [...domains, overall].some(({ found }) => found === reason) ? [why] : [],
    ),
    legend: [
      'Decision eq.: (predicted - floor) / (ceiling - floor), of 100. It shows how far an agent acts the same after the predicted observation as after the true one, the part of transfer that needs no training.',
      'Predicted: how often the agent acts the same after the prediction as after the truth. Ceiling: after the truth, asked twice. Floor: after the observation of another row.',
    ],
  };
}

/** The kind of a measure and what it measures, such as `text measure of prediction against ground truth`. */
export function kindText(measure: Measure): string {
  const { one, of } = measureWords(measure);
  return of === undefined ? one : `${one} ${of}`;
}

/** Its range and which direction is better, such as `0-100` (larger is better) or `from 0 on, smaller is better`. */
export function measureText({ range: [low, high], better }: Measure): string {
  const ways = { larger: '', smaller: ', smaller is better', neither: ', neither direction better' };
  const way = typeof better === 'object' ? `, best at ${better.target}` : ways[better];
  if (!Number.isFinite(low)) return `${Number.isFinite(high) ? `up to ${high}` : 'unbounded'}${way}`;
  return `${Number.isFinite(high) ? `${low}-${high}` : `${low} or more`}${way}`;
}

/** Whether it reads like a score: from 0 to 100, larger is better. */
export function isLikeScore({ range: [low, high], better }: Measure): boolean {
  return low === 0 && high === 100 && better === 'larger';
}

/** Decimals of its values on a page: one for 0 to 100, else two. */
export function decimalsOf({ range: [low, high] }: Measure): number {
  return low === 0 && high === 100 ? 1 : 2;
}

/** A text with its first letter in upper case. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Longest name of a scenario that a table does not shorten. */
const SCENARIO_COLUMNS = 28;

/** The measures in the order of the columns. */
const SHOWN = ['followed', 'leaked', 'undisturbed'] as const;
const FIGURE_COLUMNS = 'Rows, Followed|Foll., 95 %, Leaked|Leak., 95 %, Undisturbed|Undist., 95 %, Twin';

/** One row per domain, and the mean of the domains. */
export function scenarioDomainTable({ domains, overall }: ScenarioFigures): Table {
  const names = Object.keys(domains);
  return {
    columns: columnsOf(`<Domain, ${FIGURE_COLUMNS}`),
    groups: [
      Object.entries(domains).map(([domain, part]) => scenarioRow(domainName(domain), part)),
      [scenarioRow(meanName(names, domainsOfMean(names).length), overall)],
    ],
    legend: [
      "Rows: benchmark rows under a scenario, or the suite's own steps. Followed: everything asked for is there. Leaked: the prediction mentions the instruction. Undisturbed: the rest is as near to the truth as without the instruction. Twin: how often the same row without the instruction would count as followed. All in percent, with 95 % intervals clustered by trajectory.",
      NO_INTERVAL,
    ],
  };
}

/** One row per scenario. */
export function scenarioTable({ scenarios }: ScenarioFigures): Table {
  return {
    columns: columnsOf(`<Scenario, ${FIGURE_COLUMNS}`),
    groups: [Object.entries(scenarios).map(([name, part]) => scenarioRow(oneLine(name, SCENARIO_COLUMNS), part))],
  };
}

function scenarioRow(name: string, part: ScenarioPart): string[] {
  const cells = SHOWN.flatMap((measure) => [pointsCell(part[measure]), wholeInterval(part[measure] ?? {})]);
  return [name, String(part.samples), ...cells, pointsCell(part.twin_false_positives)];
}

function pointsCell(estimate: EstimateDocument | null): string {
  return estimate === null ? NONE : pointsText(estimate.value);
}

/** The interval without decimals, so that the table keeps its width; an end shown as 0 or 100 may be rounded. */
function wholeInterval({ low, high }: Partial<EstimateDocument>): string {
  return low == null || high == null ? NONE : `${low.toFixed(0)}–${high.toFixed(0)}`;
}

/** The curves over all rows; if wanted, also by domain. */
export function rolloutTables(card: RolloutCard, byDomain: boolean): Table[] {
  const [start = 0] = card.from;
  const domains = Object.entries(byDomain ? card.domains : {}).map(
    ([domain, part]) => [`${domainName(domain)} `, part] as const,
  );
  const parts = [...domains, ['', card] as const];
  return [
    {
      columns: columnsUnder(card),
      groups: parts.map(([name, part]) =>
        part.by_distance.map((bin) => binRow(`${name}${rangeText(bin)}`, bin, card, part.off_script === 0)),
      ),
      legend: [
        `Distance: turns since the last true observation; 1 if the complete history was true. With one start, a turn's number is its distance plus ${start}.`,
        `${card.measure === null ? 'Score: Total, mean' : 'Means'} over rows. Only long trajectories reach large distances, so the rows differ between distances.`,
        `On script: without the ${counted(card.off_script, 'prediction')} of ${card.predictions} whose recorded action refers to something that the rollout never showed (off-script).`,
        'Forced: the same rows predicted with true histories. Change: rollout minus forced, row by row.',
        NO_INTERVAL,
      ],
    },
    ...(card.drift === undefined ? [] : [driftTable(card.drift, card.measure)]),
  ];
}

const INTERVAL = '95 % interval|95 %';
const ON_SCRIPT = 'On script|On scr.';

function columnsUnder({ measure, off_script, drift }: RolloutCard): Column[] {
  const heading = measure === null ? 'Score' : oneLine(measure, 16);
  const further = [
    INTERVAL,
    ...(off_script > 0 ? [ON_SCRIPT] : []),
    ...(drift === undefined ? [] : ['Forced', 'Change', INTERVAL]),
  ];
  return [
    ...columnsOf('<Distance, Rows'),
    { heading, short: heading, align: 'right' },
    ...columnsOf(further.join(', ')),
  ];
}

/** @param isAllOnScript whether no row of its part is off-script, so that the on-script figure is the score */
function binRow(name: string, bin: RolloutBin, { off_script, drift }: RolloutCard, isAllOnScript: boolean): string[] {
  const { score, on_script, teacher_forced: forced, difference } = bin;
  return [
    ...[name, String(score.rows), figure(score), intervalCell(score)],
    ...(off_script > 0 ? [figure(isAllOnScript ? score : on_script)] : []),
    ...(drift === undefined ? [] : [figure(forced), ...signedCells(difference)]),
  ];
}

function rangeText({ from, to }: RolloutBin): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

/** One line per domain, and one for their mean. @param measure the measure shown if nothing was rated */
function driftTable(drift: DriftCard, measure: string | null): Table {
  const hasOnScript = drift.overall.on_script !== undefined;
  const having = Object.entries(drift.domains).flatMap(([domain, { slope }]) => (slope === null ? [] : [domain]));
  const row = (name: string, { slope, difference, on_script }: Drifts) => [
    ...[name, String(slope?.rows ?? 0), String(slope?.clusters ?? 0), ...signedCells(slope)],
    ...(hasOnScript ? [signedCells(on_script?.slope)[0]] : []),
    ...signedCells(difference),
  ];
  return {
    columns: columnsOf(
      `<Drift, Rows, Traj., Per step, ${INTERVAL}, ${hasOnScript ? `${ON_SCRIPT}, ` : ''}Change, ${INTERVAL}`,
    ),
    groups: [
      Object.entries(drift.domains).map(([domain, drifts]) => row(domainName(domain), drifts)),
      [row(meanName(having, domainsOfMean(having).length), drift.overall)],
    ],
    footnotes:
      drift.unpaired === 0
        ? []
        : [`${counted(drift.unpaired, 'row')} of the rollout without a teacher-forced partner, left out here.`],
    legend: [
      `Per step: how many points${measure === null ? '' : ` of ${oneLine(measure, 16)}`} the rollout loses (below 0) or gains per step against the teacher-forced predictions of the same rows: the slope of the paired difference within trajectories, with its interval clustered by trajectory. Change: the paired difference, mean over rows.`,
      NO_INTERVAL,
    ],
  };
}

/** A difference and its interval. */
function signedCells(estimate: EstimateDocument | null | undefined): [string, string] {
  if (!estimate) return [NONE, NONE];
  return [signed(estimate.value), intervalText(estimate, signed) ?? NONE];
}
