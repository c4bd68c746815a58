// What a gate decides: the words in which score says it and report shows it.

import { z } from 'zod';
import { FIGURE, keyed, type SourceOf, TEXT } from './document.js';
import { counted } from './printable.js';

/**
 * How much a rule counts. A `critical` rule has to be shown to hold: without enough evidence there is no GO. A `supporting`
 * rule only counts where it is shown to be broken. An `advisory` rule is reported and never counts.
 */
export const TIERS = ['critical', 'supporting', 'advisory'] as const;
export type Tier = (typeof TIERS)[number];

/** What of its provenance two runs can be required to share. */
export const PROVENANCE = ['judge', 'rubric', 'protocol', 'data'] as const;
export type Provenance = (typeof PROVENANCE)[number];

const TIER = z.enum(TIERS);
/** `INCONCLUSIVE`: the evidence is whole and does not decide. `INCOMPLETE`: evidence that the policy demands is missing. */
const VERDICT = z.enum(['GO', 'NO-GO', 'INCONCLUSIVE', 'INCOMPLETE']);
export type GateVerdict = z.infer<typeof VERDICT>;
/** `ADVICE`: nothing that was tested may decide, so nothing is decided. */
const OUTCOME = z.enum([...VERDICT.options, 'ADVICE']);
export type GateOutcome = z.infer<typeof OUTCOME>;

/** The chance that an open rule is decided by more repeats. */
const REPEATS = z.strictObject({
  /** `at-most`: without repeats nobody knows how much of the spread is sampling, so the chance is that if all of it were. */
  kind: z.enum(['about', 'at-most']),
  /** Of every row, in both runs. */
  repeats: z.number(),
  /** From 0 to 1. */
  chance: z.number(),
});
export type RepeatAdvice = z.infer<typeof REPEATS>;

/** What came of a rule, as JSON says it. */
export const RULE = z.strictObject({
  kind: z.string(),
  /** The domain is absent where the rule is about more than one, the dimension where it is on the total, or on no score. */
  ...keyed(TEXT, 'domain', 'dimension'),
  /** What the runs have to share, of a rule on that; which limit, of a rule on one. */
  ...keyed(z.string().optional(), 'identity', 'limit'),
  tier: TIER,
  /** Of the rule taken alone. */
  verdict: VERDICT,
  /** Whether the gate's verdict heeds it: always of a critical rule, of a supporting one only its NO-GO, never of an advisory one. */
  counts: z.boolean(),
  /** The figure (points of a difference or a score, or a share, tokens, cost), and its interval at this look's level. */
  ...keyed(FIGURE, 'value', 'low', 'high'),
  /** What the figure is held against, in its unit: the least (of drops a negative number), or the limit. */
  bound: FIGURE,
  /** One-sided p of a figure this high if it truly were at the bound: at `alpha / 2` and below, the rule is shown to hold. */
  p_holds: FIGURE,
  /** One-sided p of a breach, adjusted over the rules that can each bring a NO-GO; a breach is shown below `alpha / 2`. */
  p_adjusted: FIGURE,
  /** Of an open rule on a drop: what more repeats would do. */
  repeats: REPEATS.nullable(),
  /** How far the figure lies beyond its bound (negative: within), in points; of shares and limits in percent. */
  impact: z.number(),
  /** What, figure, interval, bound, and what follows. */
  sentence: z.string(),
});

/** What a gate decides, as JSON says it. */
export const DECISION = z.strictObject({
  verdict: OUTCOME,
  /** One sentence: the verdict and the rule that weighs most; of advice, how many rules stand against the candidate. */
  summary: z.string(),
  /** No rule on a figure can count: whatever those rules say is advice, and conditions that hold make no GO of it. */
  advisory_only: z.boolean(),
  /**
   * What the advisory rules come to, if they were to decide; null where there are none. `against`: those that stand against a GO: broken,
   * open, or without evidence, as the verdict says.
   */
  advice: z.strictObject({ verdict: VERDICT, ...keyed(z.number(), 'against', 'rules') }).nullable(),
  /** At which level this look decides. */
  level: z.strictObject({
    /** Two-sided, of this look; GO and NO-GO are each one-sided at half of it. */
    alpha: z.number(),
    /** Which of the planned looks this is, from 1 on; null without a schedule. */
    look: FIGURE,
    /** What decides, in one sentence. */
    sentence: z.string(),
  }),
  /** Where the verdict is INCONCLUSIVE over drops: the chance that more repeats decide, at most that of each of them. */
  repeats: REPEATS.nullable(),
  /** What can be done about an open verdict: a sentence each. */
  further: z.array(z.string()),
});
type Decision = SourceOf<z.infer<typeof DECISION>>;
export type GateAdvice = NonNullable<Decision['advice']>;
export type GateLevel = Decision['level'];

/** What a gate decides, and why. */
export interface GateDecision extends Decision {
  /** Those that brought the verdict first, then by impact. */
  readonly rules: readonly RuleResult[];
}

/** What came of a rule, with every text that is shown of it: who lays it out needs to know no rule. */
export type RuleResult = ConditionResult | BoundResult;

interface Result extends SourceOf<z.infer<typeof RULE>> {
  /** What it is called where it stands alone, such as `Web drop` or `same judge`. */
  readonly name: string;
}

/** Of a rule on the evidence itself: what has to be so before anything can be tested. That it holds is no GO yet. */
export interface ConditionResult extends Result {
  readonly isCondition: true;
  readonly verdict: 'GO' | 'INCOMPLETE';
}

/** Of a rule on a figure that has to be at least so much, or at most its limit. */
export interface BoundResult extends Result {
  readonly isCondition: false;
  /** The figures as a table shows them, `change` of a rule on a difference; absent where there are none. */
  readonly shown: Readonly<Partial<Record<'base' | 'candidate' | 'change' | 'interval' | 'bound', string | undefined>>>;
}

/** How many rules stand against a GO, and how, such as `1 of 9 rules broken`. */
export function againstText({ verdict, against, rules }: GateAdvice): string {
  const states = { GO: 'broken', 'NO-GO': 'broken', INCONCLUSIVE: 'open', INCOMPLETE: 'without evidence' };
  return `${against === 0 ? 'none' : against} of ${counted(rules, 'rule')} ${states[verdict]}`;
}

/** What advice comes to, such as `would be NO-GO (1 of 9 rules broken)`. */
export function adviceText(advice: GateAdvice | undefined): string {
  if (advice === undefined) return 'there was nothing to test';
  return `would be ${advice.verdict} (${againstText(advice)})`;
}

/** Whether a gate heeds a rule of this tier with this verdict. */
export function doesCount(tier: Tier, verdict: GateVerdict): boolean {
  return tier === 'critical' || (tier === 'supporting' && verdict === 'NO-GO');
}
