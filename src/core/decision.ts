// What a gate decides: the terms in which score says it and report shows it.

import { z } from 'zod';
import { FIGURE, keyed, type SourceOf, TEXT } from './document.js';
import { counted } from './printable.js';

/**
 * How much a rule counts. A `critical` rule has to be shown to hold: without enough evidence there is no GO. A `supporting` rule counts
 * only if it is shown to be broken. An `advisory` rule is reported and never counts.
 */
export const TIERS = ['critical', 'supporting', 'advisory'] as const;
export type Tier = (typeof TIERS)[number];

/** The parts of their provenance that two runs can be required to share. */
export const PROVENANCE = ['judge', 'rubric', 'protocol', 'data'] as const;
export type Provenance = (typeof PROVENANCE)[number];

const TIER = z.enum(TIERS);
/** `INCONCLUSIVE`: the evidence is complete but does not decide. `INCOMPLETE`: evidence that the policy demands is missing. */
const VERDICT = z.enum(['GO', 'NO-GO', 'INCONCLUSIVE', 'INCOMPLETE']);
export type GateVerdict = z.infer<typeof VERDICT>;
/** `ADVICE`: none of the tested rules may decide, so nothing is decided. */
const OUTCOME = z.enum([...VERDICT.options, 'ADVICE']);
export type GateOutcome = z.infer<typeof OUTCOME>;

/** The chance that more repeats decide an open rule. */
const REPEATS = z.strictObject({
  /** `at-most`: without repeats the sampling share of the spread is unknown, so the chance assumes that all of it is sampling. */
  kind: z.enum(['about', 'at-most']),
  /** For every row, in both runs. */
  repeats: z.number(),
  /** From 0 to 1. */
  chance: z.number(),
});
export type RepeatAdvice = z.infer<typeof REPEATS>;

/** The result of a rule, as in the JSON output. */
export const RULE = z.strictObject({
  kind: z.string(),
  /** The domain is absent if the rule covers several domains; the dimension is absent if the rule is on the total or on no score. */
  ...keyed(TEXT, 'domain', 'dimension'),
  /** For an identity rule, what the runs have to share; for a limit rule, which limit. */
  ...keyed(z.string().optional(), 'identity', 'limit'),
  tier: TIER,
  /** Of this rule taken alone. */
  verdict: VERDICT,
  /** Whether the gate's verdict depends on it: a critical rule always counts, a supporting rule only with NO-GO, an advisory rule never. */
  counts: z.boolean(),
  /** The figure (points of a difference or a score, a share, tokens, or cost), and its interval at this look's level. */
  ...keyed(FIGURE, 'value', 'low', 'high'),
  /** What the figure is compared with, in its unit: the least allowed value (negative for drops), or the limit. */
  bound: FIGURE,
  /** One-sided p of a figure this high if the true value were at the bound: the rule is shown to hold at `alpha / 2` or below. */
  p_holds: FIGURE,
  /** One-sided p of a breach, adjusted over the rules that can each cause a NO-GO; a breach is shown below `alpha / 2`. */
  p_adjusted: FIGURE,
  /** For an open rule on a drop: what more repeats would achieve. */
  repeats: REPEATS.nullable(),
  /** How far the figure is beyond its bound (negative: within), in points; for shares and limits, in percent. */
  impact: z.number(),
  /** The rule, figure, interval, bound, and conclusion. */
  sentence: z.string(),
});

/** What a gate decides, as in the JSON output. */
export const DECISION = z.strictObject({
  verdict: OUTCOME,
  /** One sentence: the verdict and the rule that weighs most; for advice, how many rules are against the candidate. */
  summary: z.string(),
  /** No rule on a figure can count: the results of those rules are advice, and conditions that hold do not make a GO. */
  advisory_only: z.boolean(),
  /**
   * What the advisory rules would decide; null if there are none. `against`: how many of them prevent a GO because they are broken,
   * open, or without evidence, as the verdict says.
   */
  advice: z.strictObject({ verdict: VERDICT, ...keyed(z.number(), 'against', 'rules') }).nullable(),
  /** The significance level of this look. */
  level: z.strictObject({
    /** Two-sided, of this look; GO and NO-GO are each one-sided at half of it. */
    alpha: z.number(),
    /** Which of the planned looks this is, from 1; null without a schedule. */
    look: FIGURE,
    /** What decides, in one sentence. */
    sentence: z.string(),
  }),
  /** If drops make the verdict INCONCLUSIVE: the chance that more repeats decide it, at most the chance of each open rule. */
  repeats: REPEATS.nullable(),
  /** What can be done about an open verdict, one sentence each. */
  further: z.array(z.string()),
});
type Decision = SourceOf<z.infer<typeof DECISION>>;
export type GateAdvice = NonNullable<Decision['advice']>;
export type GateLevel = Decision['level'];

/** What a gate decides, and why. */
export interface GateDecision extends Decision {
  /** The rules that caused the verdict first, then by impact. */
  readonly rules: readonly RuleResult[];
}

/** The result of a rule with every text that is shown for it, so that a layout need not know the rules. */
export type RuleResult = ConditionResult | BoundResult;

interface Result extends SourceOf<z.infer<typeof RULE>> {
  /** Its name on its own, such as `Web drop` or `same judge`. */
  readonly name: string;
}

/** Of a rule on the evidence itself: a condition for testing anything. Meeting it does not make a GO. */
export interface ConditionResult extends Result {
  readonly isCondition: true;
  readonly verdict: 'GO' | 'INCOMPLETE';
}

/** Of a rule on a figure that must reach its bound or stay within its limit. */
export interface BoundResult extends Result {
  readonly isCondition: false;
  /** The figures as a table shows them, with `change` for a rule on a difference; absent if there are none. */
  readonly shown: Readonly<Partial<Record<'base' | 'candidate' | 'change' | 'interval' | 'bound', string | undefined>>>;
}

/** How many rules are against a GO, and how, such as `1 of 9 rules broken`. */
export function againstText({ verdict, against, rules }: GateAdvice): string {
  const states = { GO: 'broken', 'NO-GO': 'broken', INCONCLUSIVE: 'open', INCOMPLETE: 'without evidence' };
  return `${against === 0 ? 'none' : against} of ${counted(rules, 'rule')} ${states[verdict]}`;
}

/** What advice amounts to, such as `would be NO-GO (1 of 9 rules broken)`. */
export function adviceText(advice: GateAdvice | undefined): string {
  if (advice === undefined) return 'there was nothing to test';
  return `would be ${advice.verdict} (${againstText(advice)})`;
}

/** Whether a gate's verdict depends on a rule of this tier with this verdict. */
export function doesCount(tier: Tier, verdict: GateVerdict): boolean {
  return tier === 'critical' || (tier === 'supporting' && verdict === 'NO-GO');
}
