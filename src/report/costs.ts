// The cost of a run as JSON and as a table: tokens and dollars of world model and judge.

import { z } from 'zod';
import { ASKED, type Asked, type Cost, hasTiers, PRICE, type RunCosts, type Spending } from '../core/costs.js';
import { FIGURE, keyed } from '../core/document.js';
import { domainName, inTableOrder } from '../core/domains.js';
import { costCell, counted, oneLine } from '../core/printable.js';
import { columnsOf, NONE, type Table } from '../core/table.js';
import type { EquivalenceCard } from '../stats/equivalence.js';

const COST = z.strictObject({
  rows: z.number(),
  ...keyed(FIGURE, 'prompt_tokens', 'cached_tokens', 'completion_tokens', 'reasoning_tokens', 'usd'),
  unpriced: z.number(),
});
const SPENDING = z.strictObject({
  ...COST.shape,
  price: z.strictObject(PRICE.shape).nullable(),
  domains: z.record(z.string(), COST),
});

/**
 * For world model and judge: counts of rows and tokens, and unrounded US dollars, in total and by domain, with the price used. Unknown
 * values are null. `usd` covers the rows whose cost is known; `unpriced` counts the others.
 */
export const COSTS = z.strictObject(keyed(SPENDING.nullable(), ...ASKED));

/** The input of `COSTS`, with camelCase names. */
export function costsSource({ world_model: worldModel, judge }: RunCosts = {}) {
  const flat = ({ usage, ...cost }: Cost) => ({ ...usage, ...cost });
  const spending = ({ price, total, domains }: Spending) => ({
    ...flat(total),
    price,
    domains: Object.fromEntries([...domains].map(([domain, cost]) => [domain, flat(cost)])),
  });
  return { worldModel: worldModel && spending(worldModel), judge: judge && spending(judge) };
}

/** The names of the models asked in a run. */
type AskedNames = Readonly<Record<Asked, string>>;

/** @param equivalence present for a run on decisions, which asks an agent instead of a judge */
export function askedNames(equivalence: EquivalenceCard | undefined): AskedNames {
  return { world_model: 'World model', judge: equivalence === undefined ? 'Judge' : 'Agent' };
}

/** A row per model asked, with rows per domain below it if wanted; undefined if no model was asked. */
export function costTable(
  costs: RunCosts | undefined,
  { byDomain, names }: { readonly byDomain: boolean; readonly names: AskedNames },
): Table | undefined {
  const asked: readonly Line[] = ASKED.flatMap((who) => {
    const spending = costs?.[who];
    return spending === undefined || isFree(spending.total) ? [] : [{ who: names[who], spending }];
  });
  if (asked.length === 0) return undefined;
  const lines = asked.map(({ who, spending: { total, domains } }) => {
    const ordered = byDomain ? [...domains].sort(([a], [b]) => inTableOrder(a, b)) : [];
    return [costRow(who, total), ...ordered.map(([domain, cost]) => costRow(`  ${domainName(domain)}`, cost))];
  });
  return {
    columns: columnsOf('<Tokens, Prompt, Cached, Output, Reasoning|Reason., Cost'),
    groups: byDomain ? lines : [lines.flat()],
    footnotes: asked.map(priceNote),
  };
}

/** Whether no model was asked. */
function isFree({ rows, unpriced, usd }: Cost): boolean {
  return rows === 0 && unpriced === 0 && (usd ?? 0) === 0;
}

function costRow(name: string, cost: Cost): string[] {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = cost.usage;
  const tokens = [promptTokens, cachedTokens, completionTokens, reasoningTokens];
  return [name, ...tokens.map((count) => count?.toLocaleString('en') ?? NONE), costCell(cost)];
}

/** A model that was asked, and its cost. */
interface Line {
  readonly who: string;
  readonly spending: Spending;
}

/** The price behind a cost, and what the cost leaves out; or why it is unknown. */
function priceNote({ who, spending: { price, total } }: Line): string {
  if (price === undefined) return `${who}: no price is known; give one with awb score --prices FILE.`;
  if (total.usd === undefined) return `${who}: the server counted no tokens.`;
  const left = total.unpriced === 0 ? '' : `; without ${counted(total.unpriced, 'row')} of unknown cost`;
  const tiered = hasTiers(price) ? '; the calls of a row are priced by their mean prompt length' : '';
  return `${who}: price of ${oneLine(price.model, 60)} by ${oneLine(price.source, 80)}${tiered}${left}.`;
}
