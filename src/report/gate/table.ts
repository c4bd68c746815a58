// The table of a gate's rules on figures.

import type { BoundResult } from '../../decision.js';
import { oneLine } from '../../printable.js';
import { NONE, type Table } from '../table.js';
import type { MarkedTable, Tone } from '../terminal.js';
import { type GatePage, isTest } from './page.js';

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
export function ruleTable(page: GatePage): MarkedTable {
  const tests = page.rules.filter(isTest);
  const lines = tests.map((rule) =>
    [rule.label, ...figuresOf(rule), resultOf(rule)].map((text) => oneLine(text, CELL)),
  );
  const shown = COLUMNS.map((_, column) => lines.some((line) => line[column] !== NONE));
  const pick = <T>(cells: readonly T[]) => cells.filter((_, column) => shown[column]);
  return {
    columns: pick(COLUMNS),
    groups: [lines.map(pick)],
    toneOf: (_, row, column) => (column === pick(COLUMNS).length - 1 ? toneOf(tests[row]) : undefined),
    footnotes: page.kept.length === 0 ? [] : [oneLine(`Kept: ${page.kept.join(', ')}.`, 1000)],
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
