// What a run cost as a table: tokens and dollars of the world model and of the judge.

import { ASKED, type Cost, type RunCosts, type Spending } from '../costs.js';
import { domainName, inTableOrder } from '../domains.js';
import { counted } from '../figures.js';
import { costCell } from '../money.js';
import { hasTiers } from '../price.js';
import { oneLine } from '../printable.js';
import type { AskedNames } from './asked-names.js';
import { type Column, NONE, type Table } from './table.js';

const COLUMNS: readonly Column[] = [
  { heading: 'Tokens', short: 'Tokens', align: 'left' },
  { heading: 'Prompt', short: 'Prompt', align: 'right' },
  { heading: 'Cached', short: 'Cached', align: 'right' },
  { heading: 'Output', short: 'Output', align: 'right' },
  { heading: 'Reasoning', short: 'Reason.', align: 'right' },
  { heading: 'Cost', short: 'Cost', align: 'right' },
];

/** A row for each that was asked, and below it one for each domain where that is wanted; undefined where nobody was asked. */
export function costTable(
  costs: RunCosts | undefined,
  { byDomain, names }: { readonly byDomain: boolean; readonly names: AskedNames },
): Table | undefined {
  const asked: readonly Line[] = ASKED.flatMap((who) => {
    const spending = costs?.[who];
    return spending === undefined || isFree(spending.total) ? [] : [{ who: names[who], spending }];
  });
  if (asked.length === 0) return undefined;
  const lines = asked.map(({ who, spending }) => [
    costRow(who, spending.total),
    ...(byDomain ? domainRows(spending) : []),
  ]);
  return {
    columns: COLUMNS,
    groups: byDomain ? lines : [lines.flat()],
    footnotes: [...asked.flatMap(priceNote), ...unknownNotes(asked)],
  };
}

/** Whether nobody was asked. */
function isFree({ rows, unpriced, usd }: Cost): boolean {
  return rows === 0 && unpriced === 0 && (usd ?? 0) === 0;
}

function domainRows({ domains }: Spending): string[][] {
  const ordered = [...domains].sort(([a], [b]) => inTableOrder(a, b));
  return ordered.map(([domain, cost]) => costRow(`  ${domainName(domain)}`, cost));
}

function costRow(name: string, cost: Cost): string[] {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = cost.usage;
  const tokens = [promptTokens, cachedTokens, completionTokens, reasoningTokens];
  return [name, ...tokens.map((count) => count?.toLocaleString('en') ?? NONE), costCell(cost)];
}

/** Who was asked, and what that took. */
interface Line {
  readonly who: string;
  readonly spending: Spending;
}

/** By which price a cost was counted, and what is not in it. */
function priceNote({ who, spending: { price, total } }: Line): string[] {
  if (price === undefined || total.usd === undefined) return [];
  const left = total.unpriced === 0 ? '' : `; what ${counted(total.unpriced, 'row')} cost is not known, and not in it`;
  const tiered = hasTiers(price) ? '; calls of one row count by the mean length of their prompts' : '';
  return [`${who}: price of ${oneLine(price.model, 60)} by ${oneLine(price.source, 80)}${tiered}${left}.`];
}

/** Why a cost is unknown. */
function unknownNotes(lines: readonly Line[]): string[] {
  const unknown = lines.filter(({ spending }) => spending.total.usd === undefined);
  const names = (some: readonly Line[]) => some.map(({ who }) => who.toLowerCase()).join(', ');
  const [unpriced, uncounted] = [
    unknown.filter(({ spending }) => spending.price === undefined),
    unknown.filter(({ spending }) => spending.price !== undefined),
  ];
  return [
    ...(unpriced.length === 0 ? [] : [`No price is known: ${names(unpriced)}. awb score --prices FILE names one.`]),
    ...(uncounted.length === 0 ? [] : [`The server counted no tokens: ${names(uncounted)}.`]),
  ];
}
