// What a gate decided, for CI: a job summary, annotations, JUnit XML and JSON, in which no text acts.

import type { GateOutcome, RuleResult } from '../decision.js';
import { domainName } from '../domains.js';
import { oneLine, printable } from '../printable.js';
import { differencesDocument, differenceTable, markdownTable, runDocument } from './comparison.js';
import { asciiJson, markdownText } from './formats.js';
import { factsOf, type GatePage, headlineOf, isReason, ruleTable } from './page/gate.js';

// The job summary.

/** GitHub refuses a step's summary above this many bytes. */
export const SUMMARY_LIMIT = 1024 * 1024;

/**
 * The job summary in Markdown, of at most `limit` bytes: what decides first, and what does not fit is left out, and said to be.
 * Empty where not even the verdict fits.
 */
export function jobSummary(page: GatePage, limit = SUMMARY_LIMIT): string {
  const item = (text: string) => `- ${markdownText(oneLine(text, 2000))}\n`;
  const list = (items: readonly string[]) => (items.length === 0 ? '' : `${items.map(item).join('')}\n`);
  const sections = [
    `## ${page.verdict}: ${markdownText(oneLine(namesOf(page), 200))}\n\n${markdownText(headlineOf(page))}\n\n`,
    list(factsOf(page)),
    `${markdownTable(ruleTable(page))}\n`,
    ...page.rules.filter(isReason).map(({ sentence }) => item(sentence)),
    '\n',
    page.notes.map((note) => `> ${markdownText(oneLine(note, 1000))}\n\n`).join(''),
    list(page.further),
    ...(page.comparison === undefined ? [] : [`${markdownTable(differenceTable(page.comparison, 'overall'))}\n`]),
  ];
  const leftOut = '\nThe rest does not fit into the job summary; the JSON report has it.\n';
  let text = '';
  let bytes = 0;
  for (const [index, section] of sections.entries()) {
    const size = bytesOf(section);
    const reserve = index === sections.length - 1 ? 0 : bytesOf(leftOut);
    if (bytes + size + reserve > limit) {
      const room = limit - bytes - bytesOf(leftOut);
      return index === 0 || room < 0 ? text : text + leftOut;
    }
    text += section;
    bytes += size;
  }
  return text;
}

function namesOf({ base, candidate }: GatePage): string {
  return base === undefined ? candidate.name : `${candidate.name} against ${base.name}`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

// Annotations.

/** GitHub shows at most this many annotations of each kind for a step. */
export const ANNOTATION_LIMIT = 10;

/**
 * Annotations as workflow commands: an error for each breach and for missing evidence, a warning for each open rule, a notice for
 * what is broken and does not count; of each kind the ten with the greatest impact, the last of which says how many more
 * there are. A GO, and advice, have a notice of their own. Ends in a line feed.
 */
export function annotations({ verdict, summary, rules }: GatePage): string {
  const hasNotice = verdict === 'GO' || verdict === 'ADVICE';
  const whole = hasNotice ? [{ title: `awb gate: ${verdict}`, text: summary }] : [];
  const titled = (found: readonly RuleResult[]) =>
    [...found]
      .sort((a, b) => b.impact - a.impact)
      .map((rule) => ({ title: `awb gate: ${verdictIn(rule)}, ${nameOf(rule)}`, text: rule.sentence }));
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

/** What a rule says for the gate: an advisory one gives advice, whatever it finds. */
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
  // The older form of a command would be found anywhere in the line.
  return `::${kind} title=${property}::${data(text)}`.replace(/##(?=\[)/g, '# #').concat('\n');
}

function nameOf({ kind, domain, dimension, identity, limit }: RuleResult): string {
  const target = [domain === undefined ? 'overall' : domainName(domain), dimension].filter(
    (part) => part !== undefined,
  );
  const names = { drop: 'drop', floor: 'floor', published: 'against published', coverage: 'coverage' };
  if (kind === 'identity') return `same ${identity}`;
  if (kind === 'limit') return `limit ${limit}`;
  if (kind === 'ratings') return 'ratings of 1 to 5';
  return `${target.join(' ')} ${names[kind]}`;
}

// JUnit.

/**
 * JUnit XML: a suite for each domain, one for Overall, and one for what concerns the whole run. A case fails only where the gate is
 * breached; missing evidence that the gate demands is an error, and what is open, could not be tested, or is advice, is skipped.
 */
export function junit({ rules, verdict }: GatePage): string {
  const suites = new Map<string, RuleResult[]>();
  for (const rule of rules) {
    const whole = ['identity', 'ratings', 'limit'].includes(rule.kind) ? 'run' : 'overall';
    const suite = rule.domain ?? whole;
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
  const name = `${nameOf(rule)}${rule.tier === 'critical' ? '' : ` (${rule.tier})`}`;
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

// JSON.

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
  // The runner would find the older form of a command anywhere in the line.
  return `${asciiJson(document).replace(/##(?=\[)/g, '#\\u0023')}\n`;
}

function ruleDocument({ holdsP, adjustedP, ...rule }: RuleResult) {
  return {
    kind: rule.kind,
    domain: rule.domain ?? null,
    dimension: rule.dimension ?? null,
    ...(rule.identity === undefined ? {} : { identity: rule.identity }),
    ...(rule.limit === undefined ? {} : { limit: rule.limit }),
    tier: rule.tier,
    verdict: rule.verdict,
    counts: rule.counts,
    value: rule.value ?? null,
    low: rule.low ?? null,
    high: rule.high ?? null,
    bound: rule.bound ?? null,
    p_holds: holdsP ?? null,
    p_adjusted: adjustedP ?? null,
    repeats: rule.repeats ?? null,
    impact: rule.impact,
    sentence: rule.sentence,
  };
}
