// What a run cost, as JSON and as a table: tokens and dollars of the world model and of the judge.

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
 * For the world model and for the judge: counts of rows and tokens, and US dollars, unrounded, in all and by domain, with the price
 * that they were counted by. Null is what nobody knows. `usd` is of the rows whose cost is known; `unpriced` rows are not in it.
 */
export const COSTS = z.strictObject(keyed(SPENDING.nullable(), ...ASKED));

/** What `COSTS` is made of. */
export function costsSource({ world_model: worldModel, judge }: RunCosts = {}) {
  const flat = ({ usage, ...cost }: Cost) => ({ ...usage, ...cost });
  const spending = ({ price, total, domains }: Spending) => ({
    ...flat(total),
    price,
    domains: Object.fromEntries([...domains].map(([domain, cost]) => [domain, flat(cost)])),
  });
  return { worldModel: worldModel && spending(worldModel), judge: judge && spending(judge) };
}

/** What those are called who were asked in a run. */
type AskedNames = Readonly<Record<Asked, string>>;

/** @param equivalence of a run on decisions: who was asked about its predictions is an agent, and no judge */
export function askedNames(equivalence: EquivalenceCard | undefined): AskedNames {
  return { world_model: 'World model', judge: equivalence === undefined ? 'Judge' : 'Agent' };
}

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

/** Whether nobody was asked. */
function isFree({ rows, unpriced, usd }: Cost): boolean {
  return rows === 0 && unpriced === 0 && (usd ?? 0) === 0;
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

/** By which price a cost was counted, and what is not in it; or why it is unknown. */
function priceNote({ who, spending: { price, total } }: Line): string {
  if (price === undefined) return `${who}: no price is known; awb score --prices FILE names one.`;
  if (total.usd === undefined) return `${who}: the server counted no tokens.`;
  const left = total.unpriced === 0 ? '' : `; what ${counted(total.unpriced, 'row')} cost is not known, and not in it`;
  const tiered = hasTiers(price) ? '; calls of one row count by the mean length of their prompts' : '';
  return `${who}: price of ${oneLine(price.model, 60)} by ${oneLine(price.source, 80)}${tiered}${left}.`;
}
