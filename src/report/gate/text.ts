// What a gate decided, for people: the table of its rules, the text of a terminal or a job's log, and the summary of a job in CI.

import type { BoundResult, GateOutcome } from '../../core/decision.js';
import { oneLine, printable } from '../../core/printable.js';
import { NONE, type Table } from '../../core/table.js';
import { type Look, legendOf, type MarkedTable, painted, type Tone, terminal, wrapped } from '../../core/terminal.js';
import { differenceTable } from '../comparison/formats.js';
import { markdownTable, markdownText } from '../formats/markdown.js';
import { factsOf, type GateReport, headlineOf, isReason, isTest } from './document.js';

/** The decision as text that ends in a line feed. No sentence stands in it twice. */
export function gateText(report: GateReport, look: Look): string {
  const table = ruleTable(report);
  const reasons = report.rules.filter(isReason).map(({ sentence }) => sentence);
  const text = (line: string) => wrapped(printable(line), look.columns);
  const item = (line: string) => wrapped(`- ${printable(line)}`, look.columns, 2);
  const sections = [
    text(headlineOf(report)).map((line) => painted(line, COLORS[report.verdict], look)),
    factsOf(report).flatMap(text),
    ...(report.rules.some(isTest) ? [terminal(table, look).trimEnd().split('\n')] : []),
    [...reasons, ...report.notes].flatMap(item),
    report.further.flatMap(text),
    legendOf(table.legend ?? [], look)
      .split('\n')
      .slice(0, -1),
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

const COLUMNS: Table['columns'] = [
  { heading: 'Rule', short: 'Rule', align: 'left' },
  { heading: 'Base', short: 'Base', align: 'right' },
  { heading: 'Candidate', short: 'Cand.', align: 'right' },
  { heading: 'Change', short: 'Change', align: 'right' },
  { heading: 'Interval', short: 'Interval', align: 'right' },
  { heading: 'Bound', short: 'Bound', align: 'right' },
  { heading: 'Result', short: 'Result', align: 'left' },
];

/** Longest text of a cell that is shown whole. */
const CELL = 100;

/** A line for each rule on a figure; the rules that brought the verdict come first. Empty columns are left out. */
function ruleTable(report: GateReport): MarkedTable {
  const tests = report.rules.filter(isTest);
  const lines = tests.map((rule) =>
    [rule.label, ...figuresOf(rule), resultOf(rule)].map((text) => oneLine(text, CELL)),
  );
  const shown = COLUMNS.map((_, column) => lines.some((line) => line[column] !== NONE));
  const pick = <T>(cells: readonly T[]) => cells.filter((_, column) => shown[column]);
  return {
    columns: pick(COLUMNS),
    groups: [lines.map(pick)],
    toneOf: (_, row, column) => (column === pick(COLUMNS).length - 1 ? toneOf(tests[row]) : undefined),
    footnotes: report.kept.length === 0 ? [] : [oneLine(`Kept: ${report.kept.join(', ')}.`, 1000)],
    legend: tests.some((rule) => !rule.counts && rule.verdict !== 'GO')
      ? ['In parentheses: what does not count here. A supporting rule counts only when broken, an advisory one never.']
      : [],
  };
}

function toneOf(rule: BoundResult | undefined): Tone | undefined {
  return rule?.counts || rule?.verdict === 'GO' ? TONE[rule.verdict] : undefined;
}

const TONE = { GO: 'good', 'NO-GO': 'bad', INCONCLUSIVE: 'open', INCOMPLETE: 'open' } as const;

function figuresOf({ shown, direction }: BoundResult): string[] {
  const { base = NONE, candidate = NONE, change = NONE, interval = NONE, bound } = shown;
  const demand = bound === undefined ? NONE : `${{ 'at least': '≥', 'at most': '≤' }[direction]} ${bound}`;
  return [base, candidate, change, interval, demand];
}

/** What came of a rule, in parentheses where the gate does not heed it. */
function resultOf({ verdict, counts }: BoundResult): string {
  const word = { GO: 'holds', 'NO-GO': 'broken', INCONCLUSIVE: 'open', INCOMPLETE: 'no evidence' }[verdict];
  return counts || verdict === 'GO' ? word : `(${word})`;
}

/** GitHub refuses a step's summary above this many bytes. */
export const SUMMARY_LIMIT = 1024 * 1024;

/**
 * The job summary in Markdown, of at most `limit` bytes. What decides comes first; where something does not fit, a line says so.
 * Empty where not even the verdict fits.
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
    ...report.rules.filter(isReason).map(({ sentence }) => item(sentence)),
    '\n',
    report.notes.map((note) => `> ${markdownText(oneLine(note, 1000))}\n\n`).join(''),
    list(report.further),
    ...(report.comparison === undefined ? [] : [`${markdownTable(differenceTable(report.comparison, 'overall'))}\n`]),
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

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
