// A gate's decision in each form: text for a terminal or a job's log, job summary, JSON report, annotations, and JUnit.

import { z } from 'zod';
import {
  againstText,
  type BoundResult,
  DECISION,
  type GateDecision,
  type GateOutcome,
  RULE,
  type RuleResult,
} from '../core/decision.js';
import { documentOf, keyed } from '../core/document.js';
import type { ExitCode } from '../core/errors.js';
import { countBy, groupBy } from '../core/groups.js';
import { asciiJson } from '../core/json.js';
import { oneLine, printable } from '../core/printable.js';
import { type CellTable, columnsOf, NONE } from '../core/table.js';
import { blocksText, type Look, legendOf, painted, terminal, wrapped } from '../core/terminal.js';
import type { Comparison } from '../stats/compare.js';
import type { Policy } from '../stats/policy.js';
import { COMPARISON, comparisonSource, differenceTable, RUN, runSource, type ShownRun } from './comparison.js';
import { markdownTable, markdownText } from './markup.js';
import { trustTexts } from './trust.js';

/** A gate's decision with everything that is shown. Names and domains may be hostile. */
export interface GateReport extends GateDecision {
  readonly exitCode: ExitCode;
  readonly policy: {
    /** Its source: a file's name, or `flags and defaults`. */
    readonly from: string;
    /** SHA-256 (hex) of the policy with its defaults filled in. */
    readonly fingerprint: string;
    readonly rules: Policy;
  };
  /** Absent if there is no base. */
  readonly base?: ShownRun | undefined;
  readonly candidate: ShownRun;
  readonly comparison?: Comparison | undefined;
  readonly notes: readonly string[];
}

/** The verdict and the rules behind it, such as `NO-GO: 2 of 8 rules broken`. */
export function headlineOf({ verdict, rules, summary }: GateReport): string {
  // The gate's summary gives the outcome of the advisory rules.
  if (verdict === 'ADVICE') return summary;
  const tests = rules.filter((rule) => rule.counts || isTest(rule));
  const all = verdict === 'INCOMPLETE' ? tests : tests.filter(isTest);
  if (verdict === 'GO' && all.length === 1) return 'GO: the one rule holds';
  const against = verdict === 'GO' ? 0 : all.filter((rule) => rule.counts && rule.verdict === verdict).length;
  return `${verdict}: ${againstText({ verdict, against, rules: all.length })}`;
}

/** Whether a rule is about a figure. The others are conditions for testing. */
function isTest(rule: RuleResult): rule is BoundResult {
  return !rule.isCondition;
}

/** The reasons in words: what prevents a GO, and rules that are broken but do not count. */
export function reasonsIn({ rules }: GateReport): string[] {
  const told = rules.filter(({ verdict, counts }) => verdict !== 'GO' && (counts || verdict !== 'INCONCLUSIVE'));
  return told.map(({ sentence }) => sentence);
}

/** Lines on the runs, their judge and how far it can be trusted, the policy, and what decides. */
export function factsOf({ verdict, base, candidate, policy, level }: GateReport): string[] {
  const { name, judge, rubricPack } = candidate;
  const named = { candidate: name, base: base?.name, judge, 'rubric pack': rubricPack };
  const runs = Object.entries(named).flatMap(([what, text]) => (text ? [oneLine(`${what} ${text}`, 200)] : []));
  return [
    runs.join(', '),
    ...trustTexts(base?.trust, candidate.trust),
    `policy: ${oneLine(policy.from, 200)}, fingerprint ${policy.fingerprint.slice(0, 12)}`,
    ...(verdict === 'ADVICE' ? [] : [`what decides: ${level.sentence}`]),
  ];
}

/** The decision as text that ends in a line feed. No sentence occurs twice. */
export function gateText(report: GateReport, look: Look): string {
  const table = ruleTable(report);
  const text = (line: string) => wrapped(printable(line), look.columns);
  const item = (line: string) => wrapped(`- ${printable(line)}`, look.columns, 2);
  return blocksText([
    text(headlineOf(report)).map((line) => painted(line, COLORS[report.verdict], look)),
    factsOf(report).flatMap(text),
    report.rules.some(isTest) ? [terminal(table, look).trimEnd()] : [],
    [...reasonsIn(report), ...report.notes].flatMap(item),
    report.further.flatMap(text),
    [legendOf(table.legend ?? [], look).trimEnd()],
  ]);
}

const COLORS: Readonly<Record<GateOutcome, string>> = {
  GO: '\x1b[1;32m',
  'NO-GO': '\x1b[1;31m',
  INCONCLUSIVE: '\x1b[1;33m',
  INCOMPLETE: '\x1b[1;35m',
  ADVICE: '\x1b[1;36m',
};

const COLUMNS = columnsOf('<Rule, Base, Candidate|Cand., Change, Interval, Bound, <Result');
const LOOKS = { GO: 'good', 'NO-GO': 'bad', INCONCLUSIVE: 'soft', INCOMPLETE: 'soft' } as const;
const RESULT = { GO: 'holds', 'NO-GO': 'broken', INCONCLUSIVE: 'open', INCOMPLETE: 'no evidence' } as const;

/** One line per rule on a figure; the rules that decided the verdict come first. Empty columns are left out. */
export function ruleTable({ rules }: GateReport): CellTable {
  const tests = rules.filter(isTest);
  const lines = tests.map(({ name, shown, limit, verdict, counts }) => {
    const { base = NONE, candidate = NONE, change = NONE, interval = NONE, bound } = shown;
    const demand = bound === undefined ? NONE : `${limit === undefined ? '≥' : '≤'} ${bound}`;
    // In parentheses if the gate ignores it.
    const result = counts || verdict === 'GO' ? RESULT[verdict] : `(${RESULT[verdict]})`;
    const texts = [name, base, candidate, change, interval, demand].map((text) => oneLine(text, 100));
    return [...texts, { text: result, look: counts || verdict === 'GO' ? LOOKS[verdict] : undefined }];
  });
  const shown = COLUMNS.map((_, column) => lines.some((line) => line[column] !== NONE));
  const pick = <T>(cells: readonly T[]) => cells.filter((_, column) => shown[column]);
  return {
    columns: pick(COLUMNS),
    groups: [lines.map(pick)],
    legend: tests.some((rule) => !rule.counts && rule.verdict !== 'GO')
      ? ['In parentheses: does not count here. A supporting rule counts only when broken, an advisory one never.']
      : [],
  };
}

/** GitHub refuses longer summaries of a step (bytes). */
export const SUMMARY_LIMIT = 1024 * 1024;

/**
 * The job summary in Markdown, of at most `limit` bytes. What decides comes first; if something does not fit, a line says so.
 * Empty if not even the verdict fits.
 */
export function jobSummary(report: GateReport, limit = SUMMARY_LIMIT): string {
  const item = (text: string) => `- ${markdownText(oneLine(text, 2000))}\n`;
  const { base, candidate } = report;
  const names = base === undefined ? candidate.name : `${candidate.name} against ${base.name}`;
  const list = (items: readonly string[]) => (items.length === 0 ? '' : `${items.map(item).join('')}\n`);
  const sections = [
    `## ${report.verdict}: ${markdownText(oneLine(names, 200))}\n\n${markdownText(headlineOf(report))}\n\n`,
    list(factsOf(report)),
    `${markdownTable(ruleTable(report))}\n`,
    ...reasonsIn(report).map(item),
    '\n',
    report.notes.map((note) => `> ${markdownText(oneLine(note, 1000))}\n\n`).join(''),
    list(report.further),
    ...(report.comparison === undefined ? [] : [`${markdownTable(differenceTable(report.comparison))}\n`]),
  ];
  const whole = sections.join('');
  if (Buffer.byteLength(whole) <= limit) return whole;
  const leftOut = '\nThe rest does not fit into the job summary; the JSON report has it.\n';
  const lengths = sections.map((_, count) => sections.slice(0, count + 1).join('') + leftOut);
  return lengths.findLast((text) => Buffer.byteLength(text) <= limit) ?? '';
}

const POINTS = z.record(z.string(), z.strictObject({ points: z.number(), tier: RULE.shape.tier }));
const { verdict, ...DECIDED } = DECISION.shape;

/** The JSON report. Figures are unrounded, and null if missing. */
export const GATE = z.strictObject({
  schema: z.literal('awb.gate/1'),
  verdict,
  exit_code: z.number(),
  ...DECIDED,
  policy: z.strictObject({
    ...keyed(z.string(), 'from', 'fingerprint'),
    alpha: z.number(),
    looks: z.array(z.number()).optional(),
    ...keyed(POINTS, 'max_drop', 'min_score'),
    min_coverage: z.record(z.string(), z.number()),
    require_equal: z.array(z.string()),
    limits: z.record(z.string(), z.strictObject({ max: z.number(), tier: RULE.shape.tier })),
  }),
  base: RUN.nullable(),
  candidate: RUN,
  rules: z.array(RULE),
  comparison: COMPARISON.nullable(),
  notes: z.array(z.string()),
});

/** The document of a report. It contains the policy in the form of a policy file, with every default filled in. */
export function gateDocument({ policy, base, candidate, comparison, ...report }: GateReport) {
  const { maxDrop, minScore, limits, ...rest } = policy.rules;
  const points = (bounds: Policy['maxDrop']) =>
    Object.fromEntries(Object.entries(bounds).map(([name, { value, tier }]) => [name, { points: value, tier }]));
  const most = Object.entries(limits).map(([name, { value, tier }]) => [name, { max: value, tier }]);
  const bounds = { maxDrop: points(maxDrop), minScore: points(minScore), limits: Object.fromEntries(most) };
  return documentOf(GATE, {
    schema: 'awb.gate/1',
    ...report,
    policy: { ...policy, ...rest, ...bounds },
    base: base && runSource(base),
    candidate: runSource(candidate),
    comparison: comparison && comparisonSource(comparison),
  });
}

/** The same on one line. */
export function gateJson(report: GateReport): string {
  // The runner would find a command of the older form anywhere in the line.
  return `${asciiJson(gateDocument(report)).replace(/##(?=\[)/g, '#\\u0023')}\n`;
}

/** GitHub shows at most this many annotations of each kind for a step. */
const ANNOTATION_LIMIT = 10;

/**
 * Annotations as workflow commands: an error for each breach and for missing evidence, a warning for each open rule, and a notice for
 * each rule that is broken but does not count; of each kind the ten with the greatest impact. GO and ADVICE have their own notice.
 * Ends in a line feed.
 */
export function annotations({ verdict, summary, rules }: GateReport): string {
  const kindOf = (rule: RuleResult) => {
    if (rule.verdict === 'INCONCLUSIVE' && rule.counts) return 'warning';
    if (rule.verdict !== 'NO-GO' && rule.verdict !== 'INCOMPLETE') return undefined;
    return rule.counts ? 'error' : rule.verdict === 'NO-GO' ? 'notice' : undefined;
  };
  // The verdict of an advisory rule is always advice.
  const titleOf = (rule: RuleResult) => `${rule.tier === 'advisory' ? 'ADVICE' : rule.verdict}, ${rule.name}`;
  const byImpact = [...rules].sort((a, b) => b.impact - a.impact);
  const whole = verdict === 'GO' || verdict === 'ADVICE' ? [command('notice', verdict, summary)] : [];
  return (['error', 'warning', 'notice'] as const)
    .flatMap((kind) => {
      const own = byImpact.filter((rule) => kindOf(rule) === kind);
      const commands = own.map((rule) => command(kind, titleOf(rule), rule.sentence));
      return [...(kind === 'notice' ? whole : []), ...commands].slice(0, ANNOTATION_LIMIT);
    })
    .join('');
}

/** `%` is escaped first, so that a text cannot contain its own escapes. */
function command(kind: string, title: string, text: string): string {
  const data = (value: string) =>
    oneLine(value, 1000).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = data(`awb gate: ${title}`).replaceAll(':', '%3A').replaceAll(',', '%2C');
  // The runner would find a command of the older form anywhere in the line.
  return `::${kind} title=${property}::${data(text)}`.replace(/##(?=\[)/g, '# #').concat('\n');
}

/**
 * JUnit XML: a suite for each domain, one for Overall, and one for rules about the complete run. A case fails only if the gate is
 * breached. Missing evidence that the gate demands is an error. A case that is open, untested, or advice is skipped.
 */
export function junit({ rules, verdict }: GateReport): string {
  const suites = groupBy(
    rules,
    (rule) => rule.domain ?? (rule.isCondition || rule.limit !== undefined ? 'run' : 'overall'),
  );
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
  const { failure = 0, error = 0, skipped = 0 } = countBy(rules, resultOf);
  return `tests="${rules.length}" failures="${failure}" errors="${error}" skipped="${skipped}" time="0"`;
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

/** Text for elements and attributes. XML 1.0 does not allow U+FFFE and U+FFFF. */
function xmlText(text: string): string {
  return printable(text)
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
