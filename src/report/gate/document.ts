// What a gate decided, with all that is told of it: its headline, who was held against whom, which rules need words, and the JSON report.

import { z } from 'zod';
import type { Comparison } from '../../core/comparison.js';
import {
  againstText,
  type BoundResult,
  domainOf,
  type GateDecision,
  type RuleResult,
  TIERS,
} from '../../core/decision.js';
import { asciiJson, documentOf, FIGURE } from '../../core/document.js';
import { oneLine } from '../../core/printable.js';
import type { Policy } from '../../stats/policy.js';
import { COMPARISON, comparisonSource, RUN, runSource, type ShownRun } from '../comparison/document.js';
import { trustTexts } from '../trust.js';

/** A gate's decision with all that is told of it. Names and domains may be hostile. */
export interface GateReport extends GateDecision {
  readonly exitCode: number;
  readonly policy: {
    /** Where it came from: a file's name, or `flags and defaults`. */
    readonly from: string;
    /** SHA-256 hex of the policy with its defaults filled in. */
    readonly fingerprint: string;
    readonly rules: Policy;
  };
  /** Absent where there is no base. */
  readonly base?: ShownRun | undefined;
  readonly candidate: ShownRun;
  readonly comparison?: Comparison | undefined;
  readonly notes: readonly string[];
}

/** The verdict and how many rules it rests on, such as `NO-GO: 2 of 8 rules broken`. */
export function headlineOf({ verdict, rules, summary }: GateReport): string {
  // The summary of the gate says what the advisory rules come to.
  if (verdict === 'ADVICE') return summary;
  const tests = rules.filter((rule) => rule.counts || isTest(rule));
  const all = verdict === 'INCOMPLETE' ? tests : tests.filter(isTest);
  if (verdict === 'GO' && all.length === 1) return 'GO: the one rule holds';
  const against = verdict === 'GO' ? 0 : all.filter((rule) => rule.counts && rule.verdict === verdict).length;
  return `${verdict}: ${againstText({ verdict, against, rules: all.length })}`;
}

/** Whether a rule is on a figure; the others are conditions for testing at all. */
export function isTest(rule: RuleResult): rule is BoundResult {
  return !rule.isCondition;
}

/** Whether a reader has to be told in words: what stands against a GO, and what is broken without counting. */
export function isReason({ verdict, counts }: RuleResult): boolean {
  return verdict !== 'GO' && (counts || verdict !== 'INCONCLUSIVE');
}

/** Lines that name the runs, their judge and how far it can be trusted, the policy, and what decides. */
export function factsOf({ verdict, base, candidate, policy, level }: GateReport): string[] {
  const runs = [`candidate ${candidate.name}`, ...(base === undefined ? [] : [`base ${base.name}`])];
  const { judge = '', rubricPack = '' } = candidate;
  const judged = [
    ...(judge === '' ? [] : [`judge ${judge}`]),
    ...(rubricPack === '' ? [] : [`rubric pack ${rubricPack}`]),
  ];
  return [
    [...runs, ...judged].map((part) => oneLine(part, 200)).join(', '),
    ...trustTexts(base?.trust, candidate.trust),
    `policy: ${oneLine(policy.from, 200)}, fingerprint ${policy.fingerprint.slice(0, 12)}`,
    ...(verdict === 'ADVICE' ? [] : [`what decides: ${level.sentence}`]),
  ];
}

const TIER = z.enum(TIERS);
const VERDICT = z.enum(['GO', 'NO-GO', 'INCONCLUSIVE', 'INCOMPLETE']);
const OUTCOME = z.enum([...VERDICT.options, 'ADVICE']);
const REPEATS = z.strictObject({ kind: z.enum(['about', 'at-most']), repeats: z.number(), chance: z.number() });
const POINTS = z.record(z.string(), z.strictObject({ points: z.number(), tier: TIER }));

const RULE = z.strictObject({
  kind: z.string(),
  domain: z.string().nullable(),
  dimension: z.string().nullable(),
  /** What the runs have to share, of a rule on that; which limit, of a rule on one. */
  identity: z.string().optional(),
  limit: z.string().optional(),
  tier: TIER,
  verdict: VERDICT,
  counts: z.boolean(),
  value: FIGURE,
  low: FIGURE,
  high: FIGURE,
  bound: FIGURE,
  p_holds: FIGURE,
  p_adjusted: FIGURE,
  repeats: REPEATS.nullable(),
  impact: z.number(),
  sentence: z.string(),
});

/** The JSON report. Figures are unrounded, and null where there are none. */
export const GATE = z.strictObject({
  schema: z.literal('awb.gate/1'),
  verdict: OUTCOME,
  exit_code: z.number(),
  summary: z.string(),
  advisory_only: z.boolean(),
  advice: z.strictObject({ verdict: VERDICT, against: z.number(), rules: z.number() }).nullable(),
  level: z.strictObject({ alpha: z.number(), look: FIGURE, sentence: z.string() }),
  repeats: REPEATS.nullable(),
  further: z.array(z.string()),
  policy: z.strictObject({
    from: z.string(),
    fingerprint: z.string(),
    alpha: z.number(),
    looks: z.array(z.number()).optional(),
    max_drop: POINTS,
    min_score: POINTS,
    min_coverage: z.record(z.string(), z.number()),
    require_equal: z.array(z.string()),
    limits: z.record(z.string(), z.strictObject({ max: z.number(), tier: TIER })),
  }),
  base: RUN.nullable(),
  candidate: RUN,
  rules: z.array(RULE),
  comparison: COMPARISON.nullable(),
  notes: z.array(z.string()),
});

/** The report on one line. */
export function gateJson({ policy, base, candidate, comparison, rules, ...report }: GateReport): string {
  const document = documentOf(GATE, {
    schema: 'awb.gate/1',
    ...report,
    policy: policySource(policy),
    base: base && runSource(base),
    candidate: runSource(candidate),
    rules: rules.map((rule) => ({
      ...rule,
      ...rule.subject,
      domain: domainOf(rule),
      pHolds: rule.holdsP,
      pAdjusted: rule.adjustedP,
    })),
    comparison: comparison && comparisonSource(comparison),
  });
  // The runner would find a command of the older form anywhere in the line.
  return `${asciiJson(document).replace(/##(?=\[)/g, '#\\u0023')}\n`;
}

/** The policy as a policy file has it, with every default filled in. */
function policySource({ rules: { maxDrop, minScore, limits, ...rest }, ...known }: GateReport['policy']) {
  const points = (bounds: Policy['maxDrop']) =>
    Object.fromEntries(Object.entries(bounds).map(([name, { value, tier }]) => [name, { points: value, tier }]));
  const most = Object.entries(limits).map(([name, { value, tier }]) => [name, { max: value, tier }]);
  return { ...known, ...rest, maxDrop: points(maxDrop), minScore: points(minScore), limits: Object.fromEntries(most) };
}
