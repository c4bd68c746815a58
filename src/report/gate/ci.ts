// What a gate decided, for programs in CI: annotations of a job, and JUnit XML. No text acts in either.

import type { GateOutcome, RuleResult } from '../../core/decision.js';
import { oneLine, printable } from '../../core/printable.js';
import type { GateReport } from './document.js';

/** GitHub shows at most this many annotations of each kind for a step. */
const ANNOTATION_LIMIT = 10;

/**
 * Annotations as workflow commands: an error for each breach and for missing evidence, a warning for each open rule, and a notice for
 * each rule that is broken and does not count. Of each kind at most ten are shown, those with the greatest impact; where there are
 * more, the last one says how many. A GO and advice have a notice of their own. Ends in a line feed.
 */
export function annotations({ verdict, summary, rules }: GateReport): string {
  const hasNotice = verdict === 'GO' || verdict === 'ADVICE';
  const whole = hasNotice ? [{ title: `awb gate: ${verdict}`, text: summary }] : [];
  const titled = (found: readonly RuleResult[]) =>
    [...found]
      .sort((a, b) => b.impact - a.impact)
      .map((rule) => ({ title: `awb gate: ${verdictIn(rule)}, ${rule.name}`, text: rule.sentence }));
  const broken = (rule: RuleResult) => rule.verdict === 'NO-GO' || rule.verdict === 'INCOMPLETE';
  const kinds = {
    error: titled(rules.filter((rule) => rule.counts && broken(rule))),
    warning: titled(rules.filter((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE')),
    notice: [...whole, ...titled(rules.filter((rule) => !rule.counts && rule.verdict === 'NO-GO'))],
  };
  return Object.entries(kinds)
    .flatMap(([kind, found]) => limited(found).map(({ title, text }) => command(kind, title, text)))
    .join('');
}

/** A rule's verdict as a title has it: that of an advisory rule is advice, whatever it found. */
function verdictIn({ verdict, tier }: RuleResult): GateOutcome {
  return tier === 'advisory' ? 'ADVICE' : verdict;
}

interface Annotation {
  readonly title: string;
  readonly text: string;
}

function limited(found: readonly Annotation[]): readonly Annotation[] {
  if (found.length <= ANNOTATION_LIMIT) return found;
  const shown = found.slice(0, ANNOTATION_LIMIT - 1);
  return [...shown, { title: 'awb gate', text: `${found.length - shown.length} more; the job summary has them all.` }];
}

/** `%` is escaped first of all, so that no text brings an escape of its own. */
function command(kind: string, title: string, text: string): string {
  const data = (value: string) =>
    oneLine(value, 1000).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = data(title).replaceAll(':', '%3A').replaceAll(',', '%2C');
  // The runner would find a command of the older form anywhere in the line.
  return `::${kind} title=${property}::${data(text)}`.replace(/##(?=\[)/g, '# #').concat('\n');
}

/**
 * JUnit XML: a suite for each domain, one for Overall, and one for what concerns the whole run. A case fails only where the gate is
 * breached. Missing evidence that the gate demands is an error. A case is skipped where it is open, untested, or advice.
 */
export function junit({ rules, verdict }: GateReport): string {
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
