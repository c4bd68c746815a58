// Made-up decisions of a gate, for tests of their output.

import type { BoundResult, ConditionResult, RuleResult } from '../../src/core/decision.js';
import type { GateReport } from '../../src/report/gate.js';
import { defaultPolicy } from '../../src/stats/policy.js';

const HOLDS = { tier: 'critical', verdict: 'GO', counts: true, impact: 0, sentence: 'It holds.' } as const;

/** A rule on a figure that holds, by default for Overall. */
export function rule(more: Partial<BoundResult> = {}): BoundResult {
  const where = more.domain ?? 'Overall';
  const texts = { name: `${where} drop`, shown: {} };
  return { ...HOLDS, ...texts, kind: 'drop', isCondition: false, ...more };
}

/** A condition that holds, by default for the complete run. */
export function condition(more: Partial<ConditionResult> = {}): ConditionResult {
  return { ...HOLDS, kind: 'identity', isCondition: true, name: 'same judge', ...more };
}

/** A decision against a candidate. */
export function gatePage(rules: readonly RuleResult[], more: Partial<GateReport> = {}): GateReport {
  return {
    verdict: 'NO-GO',
    exitCode: 4,
    summary: 'NO-GO: it fell.',
    rules,
    advisoryOnly: false,
    policy: { from: 'gate.yaml', fingerprint: 'f'.repeat(64), rules: defaultPolicy() },
    base: { name: 'a', source: '/a' },
    candidate: { name: 'b', source: '/b', judge: 'j' },
    level: { alpha: 0.05, sentence: 'GO as it is shown.' },
    further: [],
    notes: [],
    ...more,
  };
}

/** Texts that act as markup or commands if they are not escaped. */
export const HOSTILE = [
  '::error::pwned',
  '\n::set-output name=x::y',
  '%0A::error::pwned',
  'x\r\n::warning::y',
  ' \u2028::stop-commands::z',
  '##[error]pwned',
  '\x1b]0;title\x07\x1b[31mred',
  '</testcase><failure/>&"\'',
  '<script>alert(1)</script>',
  '| a | b |',
  '[link](javascript:alert(1)) @everyone https://evil.example',
  '`code` **bold** <!-- x',
  'left\u202eright\ufffe\uffff\u0000',
  '\ud800',
];

/** A decision in which every text is this one. */
export function hostilePage(text: string): GateReport {
  const domain = text;
  const shown = { candidate: text, bound: text };
  const rules = [
    rule({ domain, shown, verdict: 'NO-GO', sentence: text, impact: 3 }),
    rule({ kind: 'floor', domain, shown, verdict: 'INCONCLUSIVE', sentence: `${text} changed` }),
    rule({ domain, shown, verdict: 'NO-GO', tier: 'advisory', counts: false, sentence: text }),
  ];
  const run = { name: text, source: text, judge: text, rubricPack: text };
  const policy = { from: text, fingerprint: 'f'.repeat(64), rules: defaultPolicy() };
  return gatePage(rules, { summary: text, base: run, candidate: run, notes: [text], policy });
}

/** A decision that advises against the candidate. */
export function advisedPage(): GateReport {
  const rules = [
    rule({ name: 'overall against published', tier: 'advisory', counts: false, verdict: 'NO-GO', sentence: 'Behind.' }),
    rule({ domain: 'os', tier: 'advisory', counts: false, sentence: 'Not behind.' }),
  ];
  return gatePage(rules, {
    verdict: 'ADVICE',
    summary: 'ADVICE: would be NO-GO (1 of 2 rules broken)',
    advice: { verdict: 'NO-GO', against: 1, rules: 2 },
    advisoryOnly: true,
    exitCode: 0,
  });
}
