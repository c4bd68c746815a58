// What a gate decided, as JUnit XML, in which no text acts.

import type { RuleResult } from '../../decision.js';
import { printable } from '../../printable.js';
import type { GatePage } from './page.js';

/**
 * JUnit XML: a suite for each domain, one for Overall, and one for what concerns the whole run. A case fails only where the gate is
 * breached. Missing evidence that the gate demands is an error. A case is skipped where it is open, untested, or advice.
 */
export function junit({ rules, verdict }: GatePage): string {
  const suites = new Map<string, RuleResult[]>();
  for (const rule of rules) {
    const suite = typeof rule.scope === 'string' ? rule.scope : rule.scope.domain;
    suites.set(suite, [...(suites.get(suite) ?? []), rule]);
  }
  const sections = [...suites].map(([name, found]) => {
    const cases = found.map((rule) => caseOf(name, rule)).join('');
    return `  <testsuite name="${xmlText(name)}" ${countsOf(found)}>\n${cases}  </testsuite>\n`;
  });
  const whole = `<testsuites name="awb gate: ${verdict}" ${countsOf(rules)}>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${whole}\n${sections.join('')}</testsuites>\n`;
}

function resultOf({ verdict, counts, tier }: RuleResult): 'failure' | 'error' | 'skipped' | 'passed' {
  if (tier === 'advisory') return 'skipped';
  if (verdict === 'GO') return 'passed';
  if (verdict === 'INCONCLUSIVE' || !counts) return 'skipped';
  return verdict === 'NO-GO' ? 'failure' : 'error';
}

function countsOf(rules: readonly RuleResult[]): string {
  const count = (result: string) => rules.filter((rule) => resultOf(rule) === result).length;
  return `tests="${rules.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}" time="0"`;
}

function caseOf(suite: string, rule: RuleResult): string {
  const result = resultOf(rule);
  const name = `${rule.name}${rule.tier === 'critical' ? '' : ` (${rule.tier})`}`;
  const said = `<system-out>${xmlText(rule.sentence)}</system-out>`;
  const type = result === 'skipped' ? '' : ` type="${rule.verdict}"`;
  const message = rule.tier === 'advisory' ? `ADVICE: ${rule.sentence}` : rule.sentence;
  const outcome = result === 'passed' ? '' : `<${result} message="${xmlText(message)}"${type}/>`;
  return `    <testcase classname="awb.gate.${xmlText(suite)}" name="${xmlText(name)}" time="0">${outcome}${said}</testcase>\n`;
}

/** Text for elements and attributes; XML 1.0 has no place for U+FFFE and U+FFFF. */
function xmlText(text: string): string {
  return printable(text)
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
