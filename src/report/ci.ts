// What a gate decided -> the terminal, a job summary, annotations, JUnit XML and JSON, for people and for CI.

import type { Comparison } from '../comparison.js';
import { oneLine, printable } from '../printable.js';
import { differencesDocument, differenceTable, markdownTable, runDocument, type ShownRun } from './comparison.js';
import { asciiJson, type Look, markdownText, terminal } from './formats.js';
import { domainName, type Table } from './table.js';

export type ShownVerdict = 'GO' | 'NO-GO' | 'INCONCLUSIVE' | 'INCOMPLETE';

export type ShownAdvice =
  | { readonly kind: 'enough' | 'at-least'; readonly repeats: number }
  | { readonly kind: 'none' };

/** One rule of the gate and what came of it. */
export interface ShownRule {
  readonly kind: 'drop' | 'floor' | 'published' | 'coverage' | 'identity' | 'ratings' | 'limit';
  readonly domain?: string;
  readonly dimension?: string;
  readonly identity?: string;
  readonly limit?: string;
  readonly tier: string;
  readonly verdict: ShownVerdict;
  /** Whether the gate's verdict heeds it. */
  readonly counts: boolean;
  readonly value?: number;
  readonly low?: number;
  readonly high?: number;
  readonly bound?: number;
  readonly adjustedP?: number;
  readonly repeats?: ShownAdvice;
  /** How far the figure lies beyond its bound, in points or percent. */
  readonly impact: number;
  readonly sentence: string;
}

/** A gate's decision with all that is told of it. Names and domains may be hostile. */
export interface GatePage {
  readonly verdict: ShownVerdict;
  readonly exitCode: number;
  readonly summary: string;
  /** Those that brought the verdict first. */
  readonly rules: readonly ShownRule[];
  readonly repeats?: ShownAdvice;
  readonly advisoryOnly: boolean;
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

/**
 * Text in which GitHub's runner finds no command. It takes one where a line starts with `::`, white space aside, and in its older
 * form wherever `##[` stands (actions/runner, ActionCommand.cs).
 */
export function withoutCommands(text: string): string {
  return text.replace(/^(\s*:)(?=:)/gm, '$1 ').replace(/##(?=\[)/g, '# #');
}

const MARK_COLUMNS = 16;

/** For a terminal or a job's log; ends in a line feed. */
export function gateText(page: GatePage, look: Look): string {
  const { rules, comparison } = page;
  const lines = [
    page.summary,
    '',
    ...rules.filter((rule) => !isKept(rule)).map((rule) => `${markOf(rule).padEnd(MARK_COLUMNS)}${rule.sentence}`),
    ...keptLine(rules).map((line) => `${'kept'.padEnd(MARK_COLUMNS)}${line}`),
    '',
    ...factsOf(page),
    ...page.notes,
  ];
  const text = lines.map((line) => printable(line)).join('\n');
  return withoutCommands(
    comparison === undefined ? `${text}\n` : `${text}\n\n${terminal(differenceTable(comparison, 'none'), look)}`,
  );
}

/** What is as it should be and decides nothing by itself: one line says it of all. */
function isKept({ kind, tier, verdict }: ShownRule): boolean {
  return verdict === 'GO' && (kind === 'coverage' || kind === 'identity' || tier === 'supporting');
}

function keptLine(rules: readonly ShownRule[]): string[] {
  const kept = rules.filter(isKept);
  const covered = kept.filter(({ kind }) => kind === 'coverage').length;
  // What was not recorded passes, but was not found to be so; the notes say it.
  const same = kept.filter(({ kind, sentence }) => kind === 'identity' && !sentence.includes('not recorded'));
  const supporting = kept.filter(({ tier }) => tier === 'supporting').length;
  const parts = [
    ...(supporting === 0 ? [] : [`${supporting} supporting ${supporting === 1 ? 'rule' : 'rules'}`]),
    ...(same.length === 0 ? [] : [`the same ${same.map(({ identity }) => identity).join(' and ')}`]),
    ...(covered === 0 ? [] : [`coverage of ${covered} ${covered === 1 ? 'domain' : 'domains'}`]),
  ];
  return parts.length === 0 ? [] : [parts.join(', ')];
}

/** In parentheses where the gate does not heed it. */
function markOf({ verdict, counts }: ShownRule): string {
  return counts || verdict === 'GO' ? verdict : `(${verdict.toLowerCase()})`;
}

function factsOf({ base, candidate, policy, repeats }: GatePage): string[] {
  const runs = [`candidate ${candidate.name}`, ...(base === undefined ? [] : [`base ${base.name}`])];
  const judged = [
    candidate.judge && `judge ${candidate.judge}`,
    candidate.rubricPack && `rubric pack ${candidate.rubricPack}`,
  ].filter((part) => part !== undefined && part !== '');
  return [
    [...runs, ...judged].map((part) => oneLine(part as string, 200)).join(', '),
    `policy: ${oneLine(policy.from, 200)}, fingerprint ${policy.fingerprint.slice(0, 12)}`,
    ...(repeats === undefined ? [] : [adviceText(repeats)]),
  ];
}

function adviceText(advice: ShownAdvice): string {
  if (advice.kind === 'none') return 'To decide: no number of repeats would, if the figures stay where they are.';
  const least = advice.kind === 'at-least' ? 'at least ' : '';
  return `To decide: ${least}${advice.repeats} repeats of every row in both runs (awb infer --repeats), if the figures stay where they are.`;
}

// The job summary.

/** GitHub refuses a step's summary above this many bytes. */
export const SUMMARY_LIMIT = 1024 * 1024;

/**
 * The job summary in Markdown, of at most `limit` bytes: what decides first, and what does not fit is left out, and said to be.
 * Empty where not even the verdict fits.
 */
export function jobSummary(page: GatePage, limit = SUMMARY_LIMIT): string {
  const shown = page.rules.filter((rule) => !isKept(rule));
  const sections = [
    `## ${page.verdict}: ${markdownText(oneLine(namesOf(page), 200))}\n\n${markdownText(oneLine(page.summary, 2000))}\n\n`,
    `${factsOf(page)
      .map((fact) => `- ${markdownText(oneLine(fact, 1000))}`)
      .join('\n')}\n\n`,
    page.notes.map((note) => `> ${markdownText(oneLine(note, 1000))}\n\n`).join(''),
    ...(page.comparison === undefined ? [] : [`${markdownTable(differenceTable(page.comparison, 'overall'))}\n`]),
    ...(shown.length === 0 ? [] : [`${markdownTable(ruleTable(shown))}\n`]),
    ...keptLine(page.rules).map((line) => `Kept: ${markdownText(line)}.\n`),
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

function ruleTable(rules: readonly ShownRule[]): Table {
  return {
    columns: ['Result', 'Tier', 'Rule'].map((heading) => ({ heading, short: heading, align: 'left' })),
    groups: [rules.map((rule) => [markOf(rule), rule.tier, oneLine(rule.sentence, 1000)])],
    footnotes: [],
  };
}

// Annotations.

/** GitHub shows at most this many annotations of each kind for a step. */
export const ANNOTATION_LIMIT = 10;

/**
 * Annotations as workflow commands: an error for each breach and for missing evidence, a warning for each open rule, a notice for
 * what is broken and does not count; of each kind the ten with the greatest impact, the last of which says how many more
 * there are. A GO has one notice. Ends in a line feed.
 */
export function annotations({ verdict, summary, rules }: GatePage): string {
  const go = verdict === 'GO' ? [{ title: 'awb gate: GO', text: summary }] : [];
  const titled = (found: readonly ShownRule[]) =>
    [...found]
      .sort((a, b) => b.impact - a.impact)
      .map((rule) => ({ title: `awb gate: ${rule.verdict}, ${nameOf(rule)}`, text: rule.sentence }));
  const broken = (rule: ShownRule) => rule.verdict === 'NO-GO' || rule.verdict === 'INCOMPLETE';
  const kinds = {
    error: titled(rules.filter((rule) => rule.counts && broken(rule))),
    warning: titled(rules.filter((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE')),
    notice: [...go, ...titled(rules.filter((rule) => !rule.counts && rule.verdict === 'NO-GO'))],
  };
  return Object.entries(kinds)
    .flatMap(([kind, found]) => limited(found).map(({ title, text }) => command(kind, title, text)))
    .join('');
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

function nameOf({ kind, domain, dimension, identity, limit }: ShownRule): string {
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
 * breached; missing evidence that the gate demands is an error, and what is open, or could not be tested, is skipped.
 */
export function junit({ rules, verdict }: GatePage): string {
  const suites = new Map<string, ShownRule[]>();
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

function resultOf({ verdict, counts }: ShownRule): 'failure' | 'error' | 'skipped' | 'passed' {
  if (verdict === 'GO') return 'passed';
  if (verdict === 'INCONCLUSIVE' || !counts) return 'skipped';
  return verdict === 'NO-GO' ? 'failure' : 'error';
}

function countsOf(rules: readonly ShownRule[]): string {
  const count = (result: string) => rules.filter((rule) => resultOf(rule) === result).length;
  return `tests="${rules.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}" time="0"`;
}

function caseOf(suite: string, rule: ShownRule): string {
  const result = resultOf(rule);
  const name = `${nameOf(rule)}${rule.tier === 'critical' ? '' : ` (${rule.tier})`}`;
  const said = `<system-out>${xmlText(rule.sentence)}</system-out>`;
  const type = result === 'skipped' ? '' : ` type="${rule.verdict}"`;
  const outcome = result === 'passed' ? '' : `<${result} message="${xmlText(rule.sentence)}"${type}/>`;
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
    repeats: page.repeats ?? null,
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

function ruleDocument({ adjustedP, ...rule }: ShownRule) {
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
    p_adjusted: adjustedP ?? null,
    repeats: rule.repeats ?? null,
    impact: rule.impact,
    sentence: rule.sentence,
  };
}
