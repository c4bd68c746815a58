// What a run cost, by its manifest.

import { type Asked, type Cost, NO_CALL, type RunCosts, type Spending, sumOf } from '../costs.js';
import { worldModelManifest } from '../run/made-with.js';
import type { DomainCost, Manifest } from '../run/manifest.js';
import type { Domain } from '../types.js';

/** What the manifest of a judged run says of both who were asked. */
export function manifestCosts(manifest: Partial<Manifest> | undefined): RunCosts {
  const worldModel = manifestSpending('world_model', worldModelManifest(manifest));
  const judge = manifestSpending('judge', manifest);
  return { ...(worldModel && { world_model: worldModel }), ...(judge && { judge }) };
}

/** What a manifest says that asking took: by domain, or of an early version only in all; undefined where it says nothing. */
function manifestSpending(who: Asked, manifest: Partial<Manifest> | undefined): Spending | undefined {
  if (manifest === undefined) return undefined;
  const { costs, tokens, counts, price } = manifest;
  if (asksNobody(who, manifest)) return { total: NO_CALL, domains: new Map() };
  if (costs !== undefined) {
    const domains = new Map(Object.entries(costs).map(([domain, cost]) => [domain, costIn(cost)] as const));
    return { ...(price && { price }), total: sumOf(domains.values()), domains };
  }
  if (tokens === undefined || Object.keys(tokens).length === 0) return undefined;
  const rows = (counts?.ok ?? 0) + (counts?.failed ?? 0);
  return { total: { rows, unpriced: Math.max(1, rows), usage: tokens }, domains: new Map<Domain, Cost>() };
}

/** Whether a run took no call: a baseline's predictions, and judging that only measures texts. */
function asksNobody(who: Asked, { identity }: Partial<Manifest>): boolean {
  if (identity === undefined) return false;
  return who === 'judge' ? identity.judge === undefined : identity.baseline !== undefined;
}

function costIn({ rows, usage, usd, unpriced = 0 }: DomainCost): Cost {
  return { rows, unpriced, usage, ...(usd === undefined ? {} : { usd }) };
}
