// A scored run, and the document of `--json`.

import { z } from 'zod';
import { documentOf, ESTIMATE, FIGURE, SPREAD } from '../core/document.js';
import { AGREEMENT, type Equivalence, type EquivalenceCard } from '../core/equivalence.js';
import { DIMENSIONS, type DomainScore, type ScoreCard, type ScoreSet } from '../core/types.js';
import type { RolloutCard } from '../stats/rollout.js';
import type { RunRecord } from '../store/runs.js';
import { COSTS, costsSource } from './costs.js';
import { rolloutDocument } from './rollout/tables.js';
import { TRUST, type Trust, trustDocument, VARIANCE, varianceSource } from './trust.js';

/** A run that was scored and stored. Its texts may be hostile. */
export interface ScoredRun {
  /** Its number in the SQLite file, and whether it stood there before. */
  readonly id: number;
  readonly replaced: boolean;
  /** `asked`: what its judge model is called; a judge where absent. */
  readonly run: RunRecord & { readonly asked?: 'judge' | 'agent' };
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

const TALLY = z.record(z.string(), z.number());
const MEASURES = z.record(z.string(), ESTIMATE);
/** The five dimensions and `total_score` as figures, null where no row counts, and under `intervals` what is known of their uncertainty. */
const SCORES = z.strictObject({
  format: FIGURE,
  factuality: FIGURE,
  consistency: FIGURE,
  realism: FIGURE,
  quality: FIGURE,
  total_score: FIGURE,
  intervals: z.record(z.string(), SPREAD),
});
export const COUNTS = z.strictObject({
  chosen: z.number(),
  valid: z.number(),
  failed: z.number(),
  coverage: z.number(),
});
const DOMAIN = z.strictObject({
  ...COUNTS.shape,
  failures: TALLY,
  flags: TALLY,
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
  overall: SCORES,
  overall_with_failures: SCORES,
  overall_micro: SCORES,
  variance: VARIANCE.nullable(),
  overall_measures: MEASURES,
  macro_of: z.number(),
});

const EQUIVALENCE = z.strictObject({
  rows: z.number(),
  clusters: z.number(),
  [AGREEMENT.predicted]: z.number(),
  [AGREEMENT.ceiling]: z.number(),
  [AGREEMENT.floor]: z.number(),
  ceiling_minus_floor: z.strictObject({ value: z.number(), low: FIGURE, high: FIGURE }),
  value: FIGURE,
  low: FIGURE,
  high: FIGURE,
  why_none: z.string().nullable(),
});

const RUN = z.strictObject({
  id: z.number(),
  replaced: z.boolean(),
  label: z.string().nullable(),
  kind: z.string(),
  source: z.string(),
  world_model: z.string().nullable(),
  judge_model: z.string().nullable(),
  rubric_pack: z.string().nullable(),
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

/** What the document of a run on scenarios has beside its figures. */
const { run, db, below_min_coverage } = SCORE.shape;
const ON_SCENARIOS = z.strictObject({ run, db, below_min_coverage, ...COUNTS.shape, costs: COSTS });

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
    rollout: rollout && rolloutDocument(rollout),
    costs: costsSource(run.costs),
  };
  if (run.scenarios === undefined) return documentOf(SCORE, source);
  return { ...run.scenarios, ...documentOf(ON_SCENARIOS, source) };
}

/** What `CARD` is made of. */
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
