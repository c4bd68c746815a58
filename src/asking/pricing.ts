// The price that a run is asked under: that of the model which the user named, once it is known which one answers.

import type { Price } from '../price.js';
import type { Settings } from '../settings/options.js';
import { openPriceList, type PRICE_OPTIONS } from '../settings/prices.js';
import type { Io } from '../types.js';
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
