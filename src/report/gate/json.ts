// What a gate decided, as JSON.

import { domainOf, type RuleResult } from '../../decision.js';
import { differencesDocument, runDocument } from '../comparison/json.js';
import { asciiJson } from '../formats/json.js';
import type { GatePage } from './page.js';

/** The JSON report, schema `awb.gate/1`, on one line. Figures are unrounded, and null where there are none. */
export function gateJson(page: GatePage): string {
  const { policy, base, candidate, comparison } = page;
  const document = {
    schema: 'awb.gate/1',
    verdict: page.verdict,
    exit_code: page.exitCode,
    summary: page.summary,
    advisory_only: page.advisoryOnly,
    advice: page.advice ?? null,
    level: { alpha: page.level.alpha, look: page.level.look ?? null, sentence: page.level.sentence },
    repeats: page.repeats ?? null,
    further: page.further,
    policy: { from: policy.from, fingerprint: policy.fingerprint, ...policy.rules },
    base: base === undefined ? null : runDocument(base),
    candidate: runDocument(candidate),
    rules: page.rules.map(ruleDocument),
    comparison: comparison === undefined ? null : differencesDocument(comparison, new Map()),
    notes: page.notes,
  };
  // The runner would find a command of the older form anywhere in the line.
  return `${asciiJson(document).replace(/##(?=\[)/g, '#\\u0023')}\n`;
}

function ruleDocument(rule: RuleResult) {
  return {
    kind: rule.kind,
    domain: domainOf(rule) ?? null,
    dimension: rule.dimension ?? null,
    ...rule.subject,
    tier: rule.tier,
    verdict: rule.verdict,
    counts: rule.counts,
    value: rule.value ?? null,
    low: rule.low ?? null,
    high: rule.high ?? null,
    bound: rule.bound ?? null,
    p_holds: rule.holdsP ?? null,
    p_adjusted: rule.adjustedP ?? null,
    repeats: rule.repeats ?? null,
    impact: rule.impact,
    sentence: rule.sentence,
  };
}
