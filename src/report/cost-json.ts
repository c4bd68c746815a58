// What a run cost as JSON.

import { ASKED, type Cost, type RunCosts } from '../costs.js';

/**
 * For the world model and for the judge: counts of rows and tokens, and US dollars, unrounded, in all and by domain, with the price
 * that they were counted by. Null is what nobody knows. `usd` is of the rows whose cost is known; `unpriced` rows are not in it.
 */
export function costsDocument(costs: RunCosts | undefined) {
  const documents = ASKED.map((asked) => {
    const spending = costs?.[asked];
    if (spending === undefined) return [asked, null];
    const { price, total, domains } = spending;
    const byDomain = Object.fromEntries([...domains].map(([domain, cost]) => [domain, costDocument(cost)]));
    return [asked, { ...costDocument(total), price: price ?? null, domains: byDomain }];
  });
  return Object.fromEntries(documents);
}

function costDocument({ rows, usage, usd, unpriced }: Cost) {
  return {
    rows,
    prompt_tokens: usage.promptTokens ?? null,
    cached_tokens: usage.cachedTokens ?? null,
    completion_tokens: usage.completionTokens ?? null,
    reasoning_tokens: usage.reasoningTokens ?? null,
    usd: usd ?? null,
    unpriced,
  };
}
