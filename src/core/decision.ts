// What a gate decides: the words in which score says it and report shows it.

import { counted } from './printable.js';
import type { Dimension, Domain } from './types.js';

/**
 * How much a rule counts. A `critical` rule has to be shown to hold: without enough evidence there is no GO. A `supporting`
 * rule only counts where it is shown to be broken. An `advisory` rule is reported and never counts.
 */
export const TIERS = ['critical', 'supporting', 'advisory'] as const;
export type Tier = (typeof TIERS)[number];

/** What of its provenance two runs can be required to share. */
export const PROVENANCE = ['judge', 'rubric', 'protocol', 'data'] as const;
export type Provenance = (typeof PROVENANCE)[number];

/** `INCONCLUSIVE`: the evidence is whole and does not decide. `INCOMPLETE`: evidence that the policy demands is missing. */
export type GateVerdict = 'GO' | 'NO-GO' | 'INCONCLUSIVE' | 'INCOMPLETE';
/** `ADVICE`: nothing that was tested may decide, so nothing is decided. */
export type GateOutcome = GateVerdict | 'ADVICE';

/** What a rule is about: the whole run, the mean over domains, or one domain. */
type Scope = 'run' | 'overall' | { readonly domain: Domain };

/** What came of a rule, with every text that is shown of it: who lays it out needs to know no rule. */
export type RuleResult = ConditionResult | BoundResult;

/** Of a rule on the evidence itself: what has to be so before anything can be tested. That it holds is no GO yet. */
export interface ConditionResult extends Result {
  readonly isCondition: true;
  readonly verdict: 'GO' | 'INCOMPLETE';
  /** What a reader is told where it holds; results with one text are told once. Absent where it passes without being known to hold. */
  readonly kept?: string | undefined;
}

/** Of a rule on a figure that has to be at least, or at most, so much. */
export interface BoundResult extends Result {
  readonly isCondition: false;
  /** What it is called where its figures stand beside it, such as `Web` or `Overall floor`. */
  readonly label: string;
  readonly direction: 'at least' | 'at most';
  /** The figures in words; absent where there are none. */
  readonly shown: ShownFigures;
}

/** The figures of a rule as a table shows them. */
interface ShownFigures {
  readonly base?: string | undefined;
  readonly candidate?: string | undefined;
  /** Of a rule on a difference. */
  readonly change?: string | undefined;
  readonly interval?: string | undefined;
  readonly bound?: string | undefined;
}

interface Result {
  /** The rule in JSON. */
  readonly kind: string;
  /** What it is called where it stands alone, such as `Web drop` or `same judge`. */
  readonly name: string;
  readonly scope: Scope;
  /** Absent where the rule is on the total, or on no score. */
  readonly dimension?: Dimension | undefined;
  /** What else tells it from others of its kind, by its key in JSON, such as `{ identity: 'judge' }`. */
  readonly subject?: Readonly<Record<string, string>>;
  readonly tier: Tier;
  /** Of the rule taken alone. */
  readonly verdict: GateVerdict;
  /** Whether the gate's verdict heeds it: always of a critical rule, of a supporting one only its NO-GO, never of an advisory one. */
  readonly counts: boolean;
  /** The figure: points of a difference or a score, or a share, tokens, cost. */
  readonly value?: number | undefined;
  /** Its interval at this look's level. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** What the figure is held against, in its unit: the least (of drops a negative number), or the limit. */
  readonly bound?: number | undefined;
  /** One-sided p of a figure this high if it truly were at the bound: at `alpha / 2` and below, the rule is shown to hold. */
  readonly holdsP?: number | undefined;
  /** One-sided p of a breach, adjusted over the rules that can each bring a NO-GO; a breach is shown below `alpha / 2`. */
  readonly adjustedP?: number | undefined;
  /** Of an open rule on a drop: what more repeats would do. */
  readonly repeats?: RepeatAdvice | undefined;
  /** How far the figure lies beyond its bound (negative: within), in points; of shares and limits in percent. */
  readonly impact: number;
  /** What, figure, interval, bound, and what follows. */
  readonly sentence: string;
}

/** The chance that an open rule is decided by more repeats. */
export interface RepeatAdvice {
  /** `at-most`: without repeats nobody knows how much of the spread is sampling, so the chance is that if all of it were. */
  readonly kind: 'about' | 'at-most';
  /** Of every row, in both runs. */
  readonly repeats: number;
  /** From 0 to 1. */
  readonly chance: number;
}

/** What advisory rules come to, if they were to decide. */
export interface GateAdvice {
  readonly verdict: GateVerdict;
  /** Rules that stand against a GO: broken, open, or without evidence, as the verdict says. */
  readonly against: number;
  /** All that were tested. */
  readonly rules: number;
}

/** What a gate decides, and why. */
export interface GateDecision {
  readonly verdict: GateOutcome;
  /** One sentence: the verdict and the rule that weighs most; of advice, how many rules stand against the candidate. */
  readonly summary: string;
  /** Those that brought the verdict first, then by impact. */
  readonly rules: readonly RuleResult[];
  /** What the conditions that hold come to, in the order in which the gate asks for them. */
  readonly kept: readonly string[];
  readonly level: GateLevel;
  /** Where the verdict is INCONCLUSIVE over drops: the chance that more repeats decide, at most that of each of them. */
  readonly repeats?: RepeatAdvice | undefined;
  /** What can be done about an open verdict: a sentence each. */
  readonly further: readonly string[];
  /** No rule on a figure can count: whatever those rules say is advice, and conditions that hold make no GO of it. */
  readonly advisoryOnly: boolean;
  /** What the advisory rules come to, where there are some. */
  readonly advice?: GateAdvice | undefined;
}

/** At which level this look decides. */
export interface GateLevel {
  /** Two-sided, of this look; GO and NO-GO are each one-sided at half of it. */
  readonly alpha: number;
  /** Which of the planned looks this is, from 1 on; absent without a schedule. */
  readonly look?: number | undefined;
  /** What decides, in one sentence. */
  readonly sentence: string;
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

/** The domain that a rule is about; undefined where it is about more than one. */
export function domainOf({ scope }: RuleResult): Domain | undefined {
  return typeof scope === 'string' ? undefined : scope.domain;
}

/** Whether a gate heeds a rule of this tier with this verdict. */
export function doesCount(tier: Tier, verdict: GateVerdict): boolean {
  return tier === 'critical' || (tier === 'supporting' && verdict === 'NO-GO');
}
