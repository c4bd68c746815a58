// What a gate decided, for a terminal or a job's log: one headline, a table of the rules, then the reasons.

import type { GateOutcome } from '../../decision.js';
import { printable } from '../../printable.js';
import { type Look, legendOf, painted, terminal, wrapped } from '../terminal.js';
import { factsOf, type GatePage, headlineOf, isReason, isTest } from './page.js';
import { ruleTable } from './table.js';

/** The decision as text that ends in a line feed. No sentence stands in it twice. */
export function gateText(page: GatePage, look: Look): string {
  const table = ruleTable(page);
  const reasons = page.rules.filter(isReason).map(({ sentence }) => sentence);
  const text = (line: string) => wrapped(printable(line), look.columns);
  const item = (line: string) => wrapped(`- ${printable(line)}`, look.columns, 2);
  const sections = [
    text(headlineOf(page)).map((line) => painted(line, COLORS[page.verdict], look)),
    factsOf(page).flatMap(text),
    ...(page.rules.some(isTest) ? [terminal(table, look).trimEnd().split('\n')] : []),
    [...reasons, ...page.notes].flatMap(item),
    page.further.flatMap(text),
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
