// What a run cost as JSON.

import { z } from 'zod';
import type { Cost, RunCosts, Spending } from '../costs.js';
import { FIGURE } from './document.js';

const RATE = z.union([
  z.number(),
  z.strictObject({ base: z.number(), tiers: z.array(z.strictObject({ start: z.number(), price: z.number() })) }),
]);
const PRICE = z.strictObject({
  model: z.string(),
  source: z.string(),
  input: RATE,
  cached: RATE.optional(),
  written: RATE.optional(),
  output: RATE,
  call: z.number().optional(),
});
const COST = z.strictObject({
  rows: z.number(),
  prompt_tokens: FIGURE,
  cached_tokens: FIGURE,
  completion_tokens: FIGURE,
  reasoning_tokens: FIGURE,
  usd: FIGURE,
  unpriced: z.number(),
});
const SPENDING = z.strictObject({ ...COST.shape, price: PRICE.nullable(), domains: z.record(z.string(), COST) });

/**
 * For the world model and for the judge: counts of rows and tokens, and US dollars, unrounded, in all and by domain, with the price
 * that they were counted by. Null is what nobody knows. `usd` is of the rows whose cost is known; `unpriced` rows are not in it.
 */
export const COSTS = z.strictObject({ world_model: SPENDING.nullable(), judge: SPENDING.nullable() });

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
