// The table of a gate's rules on figures.

import type { Comparison, Difference } from '../../comparison.js';
import { limitText, type RuleResult } from '../../decision.js';
import { domainName } from '../../domains.js';
import { counted, intervalText, signed, twoDecimals } from '../../figures.js';
import { NONE, type Table } from '../table.js';
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

/** A line for each rule on a figure; the rules that brought the verdict come first. Empty columns are left out. */
export function ruleTable(page: GatePage): Table {
  const tests = page.rules.filter(isTest);
  const lines = tests.map((rule) => [nameOf(rule), ...figuresOf(rule, page.comparison), resultOf(rule)]);
  const shown = COLUMNS.map((_, column) => lines.some((line) => line[column] !== NONE));
  const pick = <T>(cells: readonly T[]) => cells.filter((_, column) => shown[column]);
  return {
    columns: pick(COLUMNS),
    groups: [lines.map(pick)],
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
  const around = intervalText({ low, high }, show) ?? NONE;
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

/** What came of a rule, in parentheses where the gate does not heed it. */
function resultOf({ verdict, counts }: RuleResult): string {
  const word = { GO: 'holds', 'NO-GO': 'broken', INCONCLUSIVE: 'open', INCOMPLETE: 'no evidence' }[verdict];
  return counts || verdict === 'GO' ? word : `(${word})`;
}

/** Whether a condition for testing holds. One line lists all that do. */
function isKept(rule: RuleResult): boolean {
  return rule.verdict === 'GO' && !isTest(rule);
}

function keptLine(rules: readonly RuleResult[]): string[] {
  const kept = rules.filter(isKept);
  const covered = kept.filter(({ kind }) => kind === 'coverage').length;
  // What was not recorded passes without being known to hold: the notes say so.
  const same = kept.filter(({ kind, isRecorded }) => kind === 'identity' && isRecorded !== false);
  const parts = [
    ...(same.length === 0 ? [] : [`the same ${same.map(({ identity }) => identity).join(' and ')}`]),
    ...(covered === 0 ? [] : [`coverage of ${counted(covered, 'domain')}`]),
  ];
  return parts.length === 0 ? [] : [`Kept: ${parts.join(', ')}.`];
}
