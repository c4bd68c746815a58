// A scored run as the document of `--json` and as text: its tables, what is missing, where it is stored, and the next commands.

import { z } from 'zod';
import { documentOf, ESTIMATE, FIGURE, keyed, SPREAD, TEXT } from '../core/document.js';
import { domainName } from '../core/domains.js';
import { AGREEMENT } from '../core/equivalence.js';
import type { MeasureLookup } from '../core/measures.js';
import { counted, oneLine } from '../core/printable.js';
import { type Look, legendOf, terminal, wrapped } from '../core/terminal.js';
import { DIMENSIONS, type DomainScore, type ScoreCard, type ScoreSet } from '../core/types.js';
import { percent } from '../stats/coverage.js';
import type { Equivalence, EquivalenceCard } from '../stats/equivalence.js';
import type { RolloutCard } from '../stats/rollout.js';
import type { RunRecord } from '../store/runs.js';
import { askedNames, COSTS, costsSource, costTable } from './costs.js';
import {
  equivalenceTable,
  leastText,
  measureTable,
  officialTable,
  rolloutTables,
  scenarioDomainTable,
  scenarioTable,
  scoreTable,
} from './score-table.js';
import { TRUST, type Trust, trustDocument, trustText, VARIANCE, varianceSource, varianceText } from './trust.js';

/** A run that was scored and stored. Its texts may be hostile. */
interface ScoredRun {
  /** Its number in the SQLite file, and whether it was already there. */
  readonly id: number;
  readonly replaced: boolean;
  /** `asked`: the role of its judge model; a judge if absent. */
  readonly run: RunRecord & { readonly asked?: 'judge' | 'agent' };
  /** The SQLite file. */
  readonly db: string;
  readonly card: ScoreCard;
  /** The curves of a rollout. */
  readonly rollout?: RolloutCard | undefined;
  /** The trust in its judge; absent if it asked none. */
  readonly trust?: Trust | undefined;
  /** Domains below the least coverage. */
  readonly short: readonly DomainScore[];
}

const TALLY = z.record(z.string(), z.number());
const MEASURES = z.record(z.string(), ESTIMATE);
/** The five dimensions and `total_score` as figures, null if no row counts, with their uncertainty under `intervals`. */
const SCORES = z.strictObject({
  ...keyed(FIGURE, ...DIMENSIONS, 'total_score'),
  intervals: z.record(z.string(), SPREAD),
});
export const COUNTS = z.strictObject(keyed(z.number(), 'chosen', 'valid', 'failed', 'coverage'));
const DOMAIN = z.strictObject({
  ...COUNTS.shape,
  ...keyed(TALLY, 'failures', 'flags'),
  ...SCORES.shape,
  with_failures: SCORES,
  variance: VARIANCE.nullable(),
  measures: MEASURES,
});

/** A score card: counts, and the figures by domain and over all, unrounded. */
export const CARD = z.strictObject({
  ...COUNTS.shape,
  judgements: z.strictObject({ count: z.number(), failures: TALLY }).optional(),
  domains: z.record(z.string(), DOMAIN),
  ...keyed(SCORES, 'overall', 'overall_with_failures', 'overall_micro'),
  variance: VARIANCE.nullable(),
  overall_measures: MEASURES,
  macro_of: z.number(),
});

const EQUIVALENCE = z.strictObject({
  ...keyed(z.number(), 'rows', 'clusters', AGREEMENT.predicted, AGREEMENT.ceiling, AGREEMENT.floor),
  ceiling_minus_floor: z.strictObject({ value: z.number(), ...keyed(FIGURE, 'low', 'high') }),
  ...keyed(FIGURE, 'value', 'low', 'high'),
  why_none: TEXT,
});

const RUN = z.strictObject({
  id: z.number(),
  replaced: z.boolean(),
  label: TEXT,
  ...keyed(z.string(), 'kind', 'source'),
  ...keyed(TEXT, 'world_model', 'judge_model', 'rubric_pack'),
  meta: z.record(z.string(), z.unknown()),
});

export const SCORE = z.strictObject({
  schema: z.literal('awb.score/1'),
  run: RUN,
  db: z.string(),
  judge_trust: TRUST.nullable(),
  below_min_coverage: z.array(z.string()),
  ...CARD.shape,
  decision_equivalence: z
    .strictObject({ domains: z.record(z.string(), EQUIVALENCE), overall: EQUIVALENCE, macro_of: z.number() })
    .optional(),
  rollout: z.record(z.string(), z.unknown()).optional(),
  costs: COSTS,
});

/** The part of the document of a run on scenarios other than its figures. */
const { run, db, below_min_coverage } = SCORE.shape;
export const ON_SCENARIOS = z.strictObject({ run, db, below_min_coverage, ...COUNTS.shape, costs: COSTS });

/** The document of `--json`. A run on scenarios has one of its own form. */
export function scoreDocument({ run, card, rollout, trust, short, ...scored }: ScoredRun) {
  const source = {
    schema: 'awb.score/1' as const,
    run: { ...run, ...scored },
    db: scored.db,
    judgeTrust: trustDocument(trust),
    belowMinCoverage: short.map(({ domain }) => domain),
    ...cardSource(card),
    decisionEquivalence: run.equivalence && equivalenceSource(run.equivalence),
    rollout,
    costs: costsSource(run.costs),
  };
  if (run.scenarios === undefined) return documentOf(SCORE, source);
  return { ...run.scenarios, ...documentOf(ON_SCENARIOS, source) };
}

/** The input of `CARD`, with camelCase names. */
export function cardSource(card: ScoreCard) {
  return {
    ...card,
    domains: Object.fromEntries(
      card.domains.map(({ domain, scores, withFailures, variance, ...score }) => [
        domain,
        {
          ...score,
          ...scoresSource(scores),
          withFailures: scoresSource(withFailures),
          variance: varianceSource(variance),
        },
      ]),
    ),
    overall: scoresSource(card.overall),
    overallWithFailures: scoresSource(card.overallWithFailures),
    overallMicro: scoresSource(card.overallMicro),
    variance: varianceSource(card.variance),
  };
}

function scoresSource({ total, ...scores }: ScoreSet) {
  const figures = [...DIMENSIONS.map((name) => [name, scores[name]] as const), ['total_score', total] as const];
  return {
    ...Object.fromEntries(DIMENSIONS.map((name) => [name, scores[name]?.value])),
    totalScore: total?.value,
    intervals: Object.fromEntries(figures.flatMap(([name, found]) => (found === undefined ? [] : [[name, found]]))),
  };
}

function equivalenceSource({ domains, overall, macroOf }: EquivalenceCard) {
  const source = ({ predicted, ceiling, floor, gap, found, ...counts }: Equivalence) => ({
    ...{ ...counts, agreement: predicted, agentCeiling: ceiling, agentFloor: floor },
    ceilingMinusFloor: { value: ceiling - floor, ...gap },
    ...(typeof found === 'string' ? { whyNone: found } : { value: found.value, ...found.interval }),
  });
  const byDomain = domains.map(({ domain, ...own }) => [domain, source(own)]);
  return { domains: Object.fromEntries(byDomain), overall: source(overall), macroOf };
}

/** How a scored run is shown. */
interface Showing {
  /** The next commands, one per line. */
  readonly steps: readonly string[];
  /** The SQLite file's path as shown to people. */
  readonly db: string;
  readonly measureOf: MeasureLookup;
  readonly look: Look;
  /** Whether costs are also shown by domain. */
  readonly byDomain: boolean;
}

export function scoreText(scored: ScoredRun, { steps, db, measureOf, look, byDomain }: Showing): string {
  const { run, card, trust, id, replaced, rollout } = scored;
  const title = [
    run.label,
    run.worldModel && `world model ${run.worldModel}`,
    run.judgeModel && `${run.asked ?? 'judge'} ${run.judgeModel}`,
    run.rubricPack && `rubrics ${run.rubricPack}`,
  ].filter((part) => part !== undefined);
  const head = [
    ...(title.length === 0 ? [] : [oneLine(title.join(', '), 400)]),
    ...(trust === undefined ? [] : wrapped(trustText(trust), look.columns)),
  ];
  const lines = [
    ...countLines(card),
    `stored: ${db} (SQLite; run ${id}${replaced ? ', replaced' : ''})`,
    ...steps.map((step, index) => `${index === 0 ? 'next: ' : '      '}${step}`),
  ];
  const tables = cardTables({ ...run, card, rollout }, { measureOf, look, byDomain });
  return [...(head.length === 0 ? [] : [`${head.join('\n')}\n`]), ...tables, `${lines.join('\n')}\n`].join('\n');
}

/** The figures for tables. In a run on scenarios, their figures replace its measures. */
type Figures = Partial<Pick<RunRecord, 'costs' | 'equivalence' | 'scenarios'>> & Pick<ScoredRun, 'card' | 'rollout'>;

/** The tables of a run that it has data for (ratings, measures, rollout, costs), and how to read them. */
export function cardTables(
  { costs, card, equivalence, rollout, scenarios }: Figures,
  { measureOf, look, byDomain }: Pick<Showing, 'measureOf' | 'look' | 'byDomain'>,
): string[] {
  const figures =
    scenarios === undefined
      ? [
          ...[scoreTable(card), officialTable(card), measureTable(card, measureOf)],
          equivalence && equivalenceTable(equivalence),
          ...(rollout === undefined ? [] : rolloutTables(rollout, byDomain)),
        ]
      : [scenarioDomainTable(scenarios), scenarioTable(scenarios)];
  const tables = [...figures, costTable(costs, { byDomain, names: askedNames(equivalence) })];
  const shown = tables.filter((table) => table !== undefined);
  const legends = shown.flatMap((table) => table.legend ?? []);
  const texts = [...shown.map((table) => terminal(table, look)), legendOf(legends, look)];
  return texts.filter((text) => text !== '');
}

/** Coverage, failures and flags, one line each. Counts are of predictions; those of judgements have their own line. */
export function countLines({ coverage, judgements, variance, ...card }: ScoreCard): string[] {
  const least = leastText({ coverage, ...card });
  const talliesOf = (name: 'failures' | 'flags') => card.domains.map((domain) => domain[name]);
  const failed = judgements && tallyLine('failed', [judgements.failures]);
  const splits = card.domains.flatMap((domain) => domain.variance ?? []);
  // The parts of the variance of the mean over domains, if anything was repeated.
  const parts = varianceText(variance, splits);
  return [
    `coverage: ${percent(coverage)}${least === undefined ? '' : ` (${least})`}`,
    tallyLine('failed', talliesOf('failures')),
    judgements && `judgements: ${judgements.count}${failed === undefined ? '' : ` (${failed})`}`,
    parts && `variance: ${parts}`,
    tallyLine('flags', talliesOf('flags')),
  ].filter((line) => line !== undefined);
}

/** Counts by name over all domains, largest first; undefined if there are none. */
function tallyLine(heading: string, tallies: readonly Readonly<Record<string, number>>[]): string | undefined {
  const sums = new Map<string, number>();
  for (const [name, count] of tallies.flatMap((tally) => Object.entries(tally))) {
    if (count > 0) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  const shown = [...sums].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${oneLine(name, 40)} ${count}`);
  return shown.length === 0 ? undefined : `${heading}: ${shown.join(', ')}`;
}

/** The lines of a warning that names the domains below the least coverage (a share of 0 to 1); none if there are none. */
export function shortLines(short: readonly DomainScore[], least: number): string[] {
  if (short.length === 0) return [];
  const rows = short.map((score) => {
    const failures = tallyLine('not valid', [score.failures]);
    return `  ${domainName(score.domain)}: ${percent(score.coverage)} of ${counted(score.chosen, 'prediction')}${failures ? ` (${failures})` : ''}`;
  });
  return [`INCOMPLETE: coverage below ${percent(least)}; these scores must not be compared with others:`, ...rows];
}
