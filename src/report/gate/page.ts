// What a gate decided, with all that is told of it: its headline, who was held against whom, and which rules need words.

import type { Comparison } from '../../comparison.js';
import { againstText, type BoundResult, type GateDecision, type RuleResult } from '../../decision.js';
import { oneLine } from '../../printable.js';
import type { ShownRun } from '../comparison/view.js';
import { trustTexts } from '../trust.js';

/** A gate's decision with all that is told of it. Names and domains may be hostile. */
export interface GatePage extends GateDecision {
  readonly exitCode: number;
  readonly policy: {
    /** Where it came from: a file's name, or `flags and defaults`. */
    readonly from: string;
    /** SHA-256 hex of the policy with its defaults filled in. */
    readonly fingerprint: string;
    readonly rules: object;
  };
  /** Absent where there is no base. */
  readonly base?: ShownRun;
  readonly candidate: ShownRun;
  readonly comparison?: Comparison;
  readonly notes: readonly string[];
}

/** The verdict and how many rules it rests on, such as `NO-GO: 2 of 8 rules broken`. */
export function headlineOf({ verdict, rules, summary }: GatePage): string {
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
export function factsOf({ verdict, base, candidate, policy, level }: GatePage): string[] {
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
