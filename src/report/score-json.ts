// A scored run as JSON.

import type { RunCosts } from '../costs.js';
import type { EquivalenceCard } from '../equivalence.js';
import type { RolloutCard } from '../rollout-card.js';
import type { ScenarioFigures } from '../score/scenarios.js';
import { DIMENSIONS, type DomainScore, type Estimate, type ScoreCard, type ScoreSet } from '../types.js';
import { costsDocument } from './cost-json.js';
import { equivalenceDocument } from './equivalence/json.js';
import { estimateDocument, spreadDocument } from './estimate-json.js';
import { rolloutDocument } from './rollout/json.js';
import { type Trust, trustDocument } from './trust.js';
import { varianceDocument } from './variance.js';

/** A run that was scored and stored. Its texts may be hostile. */
export interface ScoredRun {
  /** Its number in the SQLite file, and whether it stood there before. */
  readonly id: number;
  readonly replaced: boolean;
  readonly run: {
    readonly label?: string | undefined;
    /** How it was judged: `rubric`, `metrics` ... */
    readonly kind: string;
    readonly source: string;
    readonly worldModel?: string | undefined;
    readonly judgeModel?: string | undefined;
    readonly rubricPack?: string | undefined;
    readonly meta: Readonly<Record<string, unknown>>;
    readonly costs?: RunCosts | undefined;
    /** Of an agent's decisions: how far predictions lead where the truth leads. */
    readonly equivalence?: EquivalenceCard | undefined;
    /** What its judge model is called; a judge where absent. */
    readonly asked?: 'judge' | 'agent';
    /** Of a run on scenarios. */
    readonly scenarios?: ScenarioFigures | undefined;
  };
  /** The SQLite file. */
  readonly db: string;
  readonly card: ScoreCard;
  /** Of a rollout: its curves. */
  readonly rollout?: RolloutCard | undefined;
  /** What is known of its judge; absent where it asked none. */
  readonly trust?: Trust | undefined;
  /** Domains below the least coverage. */
  readonly short: readonly DomainScore[];
}

/** The document of `--json`. Figures are unrounded; a score that no row counts for is null. A run on scenarios has one of its own form. */
export function scoreDocument(scored: ScoredRun) {
  const { run, db, card, rollout, trust, short } = scored;
  const below = { below_min_coverage: short.map((score) => score.domain) };
  if (run.scenarios !== undefined) {
    const { chosen, valid, failed, coverage } = card;
    const counts = { chosen, valid, failed, coverage };
    return { ...run.scenarios, run: runDocument(scored), db, ...below, ...counts, costs: costsDocument(run.costs) };
  }
  return {
    schema: 'awb.score/1',
    run: runDocument(scored),
    db,
    judge_trust: trustDocument(trust),
    ...below,
    ...cardDocument(card),
    ...(run.equivalence === undefined ? {} : { decision_equivalence: equivalenceDocument(run.equivalence) }),
    ...(rollout === undefined ? {} : { rollout: rolloutDocument(rollout) }),
    costs: costsDocument(run.costs),
  };
}

function runDocument({ id, replaced, run }: ScoredRun) {
  return {
    id,
    replaced,
    label: run.label ?? null,
    kind: run.kind,
    source: run.source,
    world_model: run.worldModel ?? null,
    judge_model: run.judgeModel ?? null,
    rubric_pack: run.rubricPack ?? null,
    meta: run.meta,
  };
}

/** A score card: counts, and the figures by domain and over all. */
export function cardDocument(card: ScoreCard) {
  return {
    chosen: card.chosen,
    valid: card.valid,
    failed: card.failed,
    coverage: card.coverage,
    ...(card.judgements === undefined ? {} : { judgements: card.judgements }),
    domains: Object.fromEntries(card.domains.map((score) => [score.domain, domainDocument(score)])),
    overall: scoresDocument(card.overall),
    overall_with_failures: scoresDocument(card.overallWithFailures),
    overall_micro: scoresDocument(card.overallMicro),
    variance: varianceDocument(card.variance),
    overall_measures: measuresDocument(card.overallMeasures),
    macro_of: card.macroOf,
  };
}

function domainDocument(score: DomainScore) {
  return {
    chosen: score.chosen,
    valid: score.valid,
    failed: score.failed,
    coverage: score.coverage,
    failures: score.failures,
    flags: score.flags,
    ...scoresDocument(score.scores),
    with_failures: scoresDocument(score.withFailures),
    variance: varianceDocument(score.variance),
    measures: measuresDocument(score.measures),
  };
}

/** The five dimensions and `total_score` as figures, and under `intervals` what is known of their uncertainty. */
function scoresDocument(scores: ScoreSet) {
  const estimates = [
    ...DIMENSIONS.map((name) => [name, scores[name]] as const),
    ['total_score', scores.total] as const,
  ];
  return {
    ...Object.fromEntries(estimates.map(([name, estimate]) => [name, estimate?.value ?? null])),
    intervals: Object.fromEntries(
      estimates.flatMap(([name, estimate]) => (estimate === undefined ? [] : [[name, spreadDocument(estimate)]])),
    ),
  };
}

function measuresDocument(measures: Readonly<Record<string, Estimate>>) {
  return Object.fromEntries(Object.entries(measures).map(([name, estimate]) => [name, estimateDocument(estimate)]));
}
