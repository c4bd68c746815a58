// The price that a run is asked under: that of the model which the user named, once it is known which one answers.

import { UserError } from '../core/errors.js';
import type { Price } from '../core/price.js';
import type { Io } from '../core/types.js';
import { openPriceList, type PRICE_OPTIONS } from '../model/prices/prices.js';
import type { Settings } from '../settings/options.js';
import type { BudgetSettings } from './options.js';
import type { Pricing, Run } from './run.js';
import type { Target } from './target.js';

const UNKNOWN: Pricing = () => undefined;

/**
 * Opens the prices for a target. Nothing is loaded where no price can be known: at a server of one's own without a price file.
 * @throws UserError (65, 66) for a price file that cannot be used
 */
export async function openPricing(
  { model, hosts }: Pick<Target, 'model' | 'hosts'>,
  settings: Pick<Settings<typeof PRICE_OPTIONS>, 'prices'>,
  io: Pick<Io, 'cwd'>,
): Promise<Pricing> {
  if (hosts.length === 0 || (settings.prices === undefined && hosts.some(isOwn))) return UNKNOWN;
  const prices = await openPriceList(settings, io);
  const at = new Date();
  return ([servedModel, ...others]) =>
    prices.priceOf({ model, servedModel: others.length === 0 ? servedModel : undefined, hosts, at });
}

/** Whether a host is named by a number or by a name without a dot, as no provider is. */
function isOwn(host: string): boolean {
  return !/\.[a-z]/i.test(host) || host.startsWith('[');
}

/** The price of a run: today's, or that of an earlier session where nobody knows one today. */
export function priceOf(
  { servedModels, stored }: Pick<Run, 'servedModels' | 'stored'>,
  pricing: Pricing,
): Price | undefined {
  return pricing(servedModels) ?? stored?.price;
}

/** @throws UserError (2) for a budget in dollars where nobody knows what a call costs; what a dry run does not serve has no name yet. */
export function requirePriced(
  {
    budgetUsd,
    dryRun = false,
    local,
  }: BudgetSettings & { readonly dryRun?: boolean; readonly local?: string | undefined },
  isPriced: boolean,
  { model, hosts }: { readonly model: string; readonly hosts: readonly string[] },
): void {
  if (budgetUsd === undefined || isPriced || (dryRun && local !== undefined)) return;
  throw new UserError(
    `--budget-usd needs a price, and none is known for "${model}" at ${hosts.join(', ')}: give it in a file with --prices FILE (docs/costs.md), or bound the tokens with --budget-tokens, which needs none`,
  );
}
