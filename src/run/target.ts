// Whom a run asks, and at what price: the flags that name both, and what they stand for.

import { UserError } from '../core/errors.js';
import type { Io } from '../core/types.js';
import type { NamedEndpoints } from '../model/backend.js';
import { proxyFor } from '../model/http/address.js';
import { startLocal } from '../model/local.js';
import { openPriceList, type PRICE_OPTIONS } from '../model/prices/prices.js';
import type { Settings } from '../settings/command.js';
import type { AskingSettings, BudgetSettings } from './options.js';
import type { Pricing, Run } from './run.js';

/** Whom to ask, and what a run keeps of it. */
export interface Target {
  /** The endpoints to ask. */
  readonly named: NamedEndpoints;
  /** The name used to ask it. */
  readonly model: string;
  /** The model in the run's identity: its name, or the file that is served here; undefined if the server was not started. */
  readonly identity: unknown;
  /** Hosts and ports, fit for a manifest; a local server's port means nothing. */
  readonly hosts: readonly string[];
  close(): Promise<void>;
}

/** Endpoints as named by the flags of infer or judge. */
interface Addresses {
  /** Whose flags these are. */
  readonly prefix: 'model' | 'judge' | 'agent';
  readonly baseUrls: readonly string[];
  readonly model: string | undefined;
  readonly apiKey: string | undefined;
}

/** Whether the flags name a target, so that no address is needed. */
export function namesTarget({ local }: Pick<AskingSettings, 'local'>): boolean {
  return local !== undefined;
}

/**
 * The target that the flags name; with --local the server is started here, and stopped by `close`. A dry run starts nothing.
 * @throws UserError (2) for a proxy in the environment that cannot be used, and for a budget in dollars when there is no price
 */
export async function openTarget(
  addresses: Addresses,
  settings: Pick<AskingSettings, 'local' | 'dryRun' | 'budgetUsd' | 'prices'> & Parameters<typeof startLocal>[2],
  io: Io,
): Promise<Target> {
  const { local, dryRun, budgetUsd, prices } = settings;
  if (local === undefined) return targetAt(addresses, io);
  // A locally served model has a price only from a file; the run is refused before the model is loaded.
  requirePriced({ budgetUsd }, prices !== undefined, { model: local, hosts: ['local'] });
  if (!dryRun) return localTarget(addresses.prefix, local, settings, io);
  const nobody = targetAt({ ...addresses, baseUrls: [], model: local }, io);
  return { ...nobody, identity: undefined, hosts: ['local'] };
}

/** A server for this file, started for the run and stopped by `close`. */
export async function localTarget(
  prefix: Addresses['prefix'],
  local: string,
  settings: Parameters<typeof startLocal>[2],
  io: Io,
): Promise<Target> {
  const { url, name: model, apiKey, identity, slots, lost, close } = await startLocal(local, io, settings);
  const named = { prefix, baseUrls: [url], proxies: [undefined], model, apiKey, own: { slots, lost } };
  return { named, model, identity, hosts: ['local'], close };
}

/** The endpoints at the addresses. @throws UserError (2) for a proxy in the environment that cannot be used */
export function targetAt({ prefix, baseUrls, model = '', apiKey }: Addresses, { env }: Pick<Io, 'env'>): Target {
  const proxies = baseUrls.map((url) => proxyFor(url, env));
  // `OPENAI_API_KEY` is meant for OpenAI only, and goes to no other host unless asked.
  const isOpenAi = baseUrls.every((url) => new URL(url).hostname === 'api.openai.com');
  const key = apiKey ?? (isOpenAi ? env.OPENAI_API_KEY : undefined) ?? '';
  return {
    named: { prefix, baseUrls, proxies, model, apiKey: key },
    model,
    identity: model,
    hosts: baseUrls.map((url) => new URL(url).host),
    async close() {},
  };
}

/**
 * Opens the prices for a target. Loads nothing if no price can be known: for a self-hosted server without a price file.
 * @throws UserError (65, 66) for a price file that cannot be used
 */
export async function openPricing(
  { model, hosts }: Pick<Target, 'model' | 'hosts'>,
  settings: Pick<Settings<typeof PRICE_OPTIONS>, 'prices'>,
  io: Pick<Io, 'cwd'>,
): Promise<Pricing> {
  // A host named by a number, or by a name without a dot, does not belong to a provider.
  const isOwn = hosts.some((host) => !/\.[a-z]/i.test(host) || host.startsWith('['));
  if (hosts.length === 0 || (settings.prices === undefined && isOwn)) return () => undefined;
  const prices = await openPriceList(settings, io);
  const at = new Date();
  return ([servedModel, ...others]) =>
    prices.priceOf({ model, servedModel: others.length === 0 ? servedModel : undefined, hosts, at });
}

/** The price of a run: today's, or that of an earlier session if today's is unknown. */
export function priceOf({ servedModels, stored }: Pick<Run, 'servedModels' | 'stored'>, pricing: Pricing) {
  return pricing(servedModels) ?? stored?.price;
}

/**
 * @throws UserError (2) for a budget in dollars if the price of a call is unknown; a model that a dry run does not serve has no name yet.
 */
export function requirePriced(
  settings: BudgetSettings & { readonly dryRun?: boolean; readonly local?: string | undefined },
  isPriced: boolean,
  { model, hosts }: Pick<Target, 'model' | 'hosts'>,
): void {
  const { budgetUsd, dryRun = false, local } = settings;
  if (budgetUsd === undefined || isPriced || (dryRun && local !== undefined)) return;
  throw new UserError(
    `--budget-usd needs a price, but none is known for "${model}" at ${hosts.join(', ')}; give one with --prices FILE (docs/costs.md), or limit tokens with --budget-tokens, which needs none`,
  );
}
