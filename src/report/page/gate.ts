// What a gate decided, as people read it: one headline, a table of the rules, then the reasons.

import type { Comparison, Difference } from '../../comparison.js';
import {
  againstText,
  type GateDecision,
  type GateOutcome,
  isCondition,
  limitText,
  type RuleResult,
} from '../../decision.js';
import { domainName } from '../../domains.js';
import { counted, signed, twoDecimals } from '../../figures.js';
import { oneLine, printable } from '../../printable.js';
import type { ShownRun } from '../comparison.js';
import { NONE, type Table } from '../table.js';
import { type Look, painted, terminal, wrapped } from '../terminal.js';

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

/** For a terminal or a job's log; ends in a line feed. No sentence stands there twice. */
export function gateText(page: GatePage, look: Look): string {
  const reasons = page.rules.filter(isReason).map(({ sentence }) => sentence);
  const text = (line: string) => wrapped(printable(line), look.columns);
  const item = (line: string) => wrapped(`- ${printable(line)}`, look.columns, 2);
  const sections = [
    text(headlineOf(page)).map((line) => painted(line, COLORS[page.verdict], look)),
    factsOf(page).flatMap(text),
    ...(page.rules.some(isTest) ? [terminal(ruleTable(page), look).trimEnd().split('\n')] : []),
    [...reasons, ...page.notes].flatMap(item),
    page.further.flatMap(text),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

const COLORS: Readonly<Record<GateOutcome, string>> = {
  GO: '\x1b[1;32m',
  'NO-GO': '\x1b[1;31m',
  INCONCLUSIVE: '\x1b[1;33m',
  INCOMPLETE: '\x1b[1;35m',
  ADVICE: '\x1b[1;36m',
};

/** The verdict and how many rules it rests on, such as `NO-GO: 2 of 8 rules broken`. */
export function headlineOf({ verdict, rules, summary }: GatePage): string {
  // Which rules are advice, and what they come to, is the gate's own to say.
  if (verdict === 'ADVICE') return summary;
  const tests = rules.filter((rule) => rule.counts || isTest(rule));
  const all = verdict === 'INCOMPLETE' ? tests : tests.filter(isTest);
  if (verdict === 'GO' && all.length === 1) return 'GO: the one rule holds';
  const against = verdict === 'GO' ? 0 : all.filter((rule) => rule.counts && rule.verdict === verdict).length;
  return `${verdict}: ${againstText({ verdict, against, rules: all.length })}`;
}

/** A rule on a figure, as opposed to what has to be so before any can be tested. */
function isTest(rule: RuleResult): boolean {
  return !isCondition(rule);
}

/** What a reader has to be told in words: what stands against a GO, and what is broken though it does not count. */
export function isReason({ verdict, counts }: RuleResult): boolean {
  return verdict !== 'GO' && (counts || verdict !== 'INCONCLUSIVE');
}

// The table.

const COLUMNS = [
  { heading: 'Rule', short: 'Rule', align: 'left' },
  { heading: 'Base', short: 'Base', align: 'right' },
  { heading: 'Candidate', short: 'Cand.', align: 'right' },
  { heading: 'Change', short: 'Change', align: 'right' },
  { heading: 'Interval', short: 'Interval', align: 'right' },
  { heading: 'Bound', short: 'Bound', align: 'right' },
  { heading: 'Result', short: 'Result', align: 'left' },
] as const satisfies Table['columns'];

/** A line for each rule on a figure, those that brought the verdict first; columns in which there is nothing are left out. */
export function ruleTable(page: GatePage): Table {
  const tests = page.rules.filter(isTest);
  const lines = tests.map((rule) => [nameOf(rule), ...figuresOf(rule, page.comparison), resultOf(rule)]);
  const shown = COLUMNS.map((_, column) => column).filter((column) => lines.some((line) => line[column] !== NONE));
  return {
    columns: shown.map((column) => COLUMNS[column] as Table['columns'][number]),
    groups: [lines.map((line) => shown.map((column) => line[column] as string))],
    footnotes: [
      ...(tests.some((rule) => !rule.counts && rule.verdict !== 'GO')
        ? [
            'In parentheses: what does not count here. A supporting rule counts only when broken, an advisory one never.',
          ]
        : []),
      ...keptLine(page.rules),
    ],
  };
}

/** What a rule is called where its figures stand beside it. */
function nameOf({ kind, domain, dimension, limit }: RuleResult): string {
  if (kind === 'limit') return `limit ${limit}`;
  const parts = [domain === undefined ? 'Overall' : domainName(domain), dimension, kind === 'floor' ? kind : undefined];
  return parts.filter((part) => part !== undefined).join(' ');
}

function figuresOf(rule: RuleResult, comparison: Comparison | undefined): string[] {
  const { kind, value, low, high, bound } = rule;
  if (kind === 'limit')
    return [NONE, inUnit(rule, value), NONE, NONE, bound === undefined ? NONE : `≤ ${inUnit(rule, bound)}`];
  const show = kind === 'drop' ? signed : twoDecimals;
  const shown = (figure: number | undefined) => (figure === undefined ? NONE : show(figure));
  const least = bound === undefined ? NONE : `≥ ${show(bound)}`;
  const around = low === undefined || high === undefined ? NONE : `${show(low)} to ${show(high)}`;
  if (kind !== 'drop') return [NONE, shown(value), NONE, around, least];
  const found = differenceOf(rule, comparison);
  const sides = [found?.base, found?.candidate].map((score) => (score === undefined ? NONE : twoDecimals(score)));
  return [...sides, shown(value), around, least];
}

function differenceOf({ domain, dimension }: RuleResult, comparison: Comparison | undefined): Difference | undefined {
  const set =
    domain === undefined ? comparison?.overall : comparison?.domains.find((one) => one.domain === domain)?.figures;
  return set?.[dimension ?? 'total'];
}

function inUnit({ limit }: RuleResult, value: number | undefined): string {
  return limit === undefined || value === undefined ? NONE : limitText(limit, value);
}

/** In parentheses where the gate does not heed it. */
function resultOf({ verdict, counts }: RuleResult): string {
  const word = { GO: 'holds', 'NO-GO': 'broken', INCONCLUSIVE: 'open', INCOMPLETE: 'no evidence' }[verdict];
  return counts || verdict === 'GO' ? word : `(${word})`;
}

// What stands beside the table.

/** What had to be so before anything could be tested, and was: one line says it of all. */
function isKept(rule: RuleResult): boolean {
  return rule.verdict === 'GO' && !isTest(rule);
}

function keptLine(rules: readonly RuleResult[]): string[] {
  const kept = rules.filter(isKept);
  const covered = kept.filter(({ kind }) => kind === 'coverage').length;
  // What was not recorded passes, but was not found to be so; the notes say it.
  const same = kept.filter(({ kind, isRecorded }) => kind === 'identity' && isRecorded !== false);
  const parts = [
    ...(same.length === 0 ? [] : [`the same ${same.map(({ identity }) => identity).join(' and ')}`]),
    ...(covered === 0 ? [] : [`coverage of ${counted(covered, 'domain')}`]),
  ];
  return parts.length === 0 ? [] : [`Kept: ${parts.join(', ')}.`];
}

/** Who was held against whom, as judged by whom, by which policy, and what decides. */
export function factsOf({ verdict, base, candidate, policy, level }: GatePage): string[] {
  const runs = [`candidate ${candidate.name}`, ...(base === undefined ? [] : [`base ${base.name}`])];
  const judged = [
    candidate.judge && `judge ${candidate.judge}`,
    candidate.rubricPack && `rubric pack ${candidate.rubricPack}`,
  ].filter((part) => part !== undefined && part !== '');
  return [
    [...runs, ...judged].map((part) => oneLine(part as string, 200)).join(', '),
    `policy: ${oneLine(policy.from, 200)}, fingerprint ${policy.fingerprint.slice(0, 12)}`,
    ...(verdict === 'ADVICE' ? [] : [`what decides: ${level.sentence}`]),
  ];
}
