// The catalogue of prices that @pydantic/genai-prices brings: what a provider asks for a model at a date. Loaded when a price is wanted.

import type { ModelPrice, PriceCalculation, Provider } from '@pydantic/genai-prices';
import type { Price } from '../../core/price.js';

/** The release whose prices these are, and its day: the package itself holds none. */
export const CATALOGUE = { name: 'genai-prices', version: '0.1.8', released: '2026-09-23' } as const;
type Rate = Price['input'];
const HOUR_MS = 3_600_000;

const SOURCE = `${CATALOGUE.name} ${CATALOGUE.version} of ${CATALOGUE.released}`;

export interface Catalogue {
  /** The release and its day. */
  readonly source: string;
  /** Ids of providers. */
  readonly providers: readonly string[];
  /** The provider that a host (with its port, where it has one) belongs to. */
  providerOf(host: string): string | undefined;
  /** Whether the provider has the model, with a price that calls of plain text can be charged by. */
  knows(provider: string, model: string): boolean;
  /** The provider's price of a model; undefined where it is not known, or charges for what calls do not report. */
  priceOf(provider: string, model: string, at: Date): Price | undefined;
}

/** Opens the catalogue: some 20 MB of memory and 50 ms, the first time. */
export async function openCatalogue(): Promise<Catalogue> {
  const { calcPrice, waitForUpdate } = await import('@pydantic/genai-prices');
  const providers = (await waitForUpdate()) ?? [];
  const priceOf: Catalogue['priceOf'] = (providerId, model, at) => {
    // A run takes hours, and no bill or budget may be too low: of prices by the hour the dearest holds.
    const day = Date.parse(at.toISOString().slice(0, 10));
    const times = [at, ...Array.from({ length: 24 }, (_, hour) => new Date(day + hour * HOUR_MS))];
    const usage = { input_tokens: 0, output_tokens: 0 };
    const prices = times.flatMap((timestamp) => priceIn(calcPrice(usage, model, { providerId, timestamp })) ?? []);
    return prices.sort((a, b) => base(b.input) + base(b.output) - base(a.input) - base(a.output))[0];
  };
  return {
    source: SOURCE,
    providers: providers.map(({ id }) => id),
    providerOf: (host) => providers.find((provider) => ownsHost(provider, host))?.id,
    knows: (provider, model) => priceOf(provider, model, new Date(CATALOGUE.released)) !== undefined,
    priceOf,
  };
}

/** Providers whose hosts are their customers' own servers, which charge by other prices. */
const RENTED = ['modal'];

/**
 * Whether the whole host is the provider's: patterns of the catalogue match beginnings, and `api.openai.com.example.org` is not
 * OpenAI. One that ends in a dot leaves the top-level domain open. Providers that are told by a path are told by no host.
 */
function ownsHost({ id, api_pattern: pattern }: Provider, host: string): boolean {
  if (RENTED.includes(id)) return false;
  const address = `https://${host}/`;
  const [matched] = new RegExp(`^(?:${pattern})`).exec(address) ?? [];
  if (matched === undefined) return false;
  const rest = address.slice(matched.length);
  return rest === '' || rest === '/' || (matched.endsWith('.') && /^[a-z]+\/$/.test(rest));
}

function base(rate: Rate): number {
  return typeof rate === 'number' ? rate : rate.base;
}

/** Prices of what no call here has: sound, pictures, pages, searches by the server, a cache kept for an hour. */
const OF_OTHER_CALLS = /audio|image|video|document|^(?:web|storage)_searches_kcount$|^cache_write_1h_mtok$/;
const TAKEN = /^(?:(?:in|out)put_mtok|cache_(?:read|write)_mtok|requests_kcount)$/;

function priceIn(found: PriceCalculation | null): Price | undefined {
  if (found === null) return undefined;
  const { provider, model, model_price: price } = found;
  const { input_mtok: input, cache_read_mtok: cached, cache_write_mtok: written, output_mtok: output } = price;
  const { requests_kcount: thousandCalls } = price;
  // Nothing is said of a model that has no price, and what is charged beside the tokens that a call reports cannot be known.
  const isComplete = Object.keys(price).every((key) => TAKEN.test(key) || OF_OTHER_CALLS.test(key));
  if (input === undefined || output === undefined || !isComplete) return undefined;
  return {
    model: `${provider.id}/${model.id}`,
    source: SOURCE,
    input: rateOf(input),
    ...(cached !== undefined && { cached: rateOf(cached) }),
    ...(written !== undefined && { written: rateOf(written) }),
    output: rateOf(output),
    ...(typeof thousandCalls === 'number' && { call: thousandCalls / 1000 }),
  };
}

function rateOf(rate: NonNullable<ModelPrice[string]>): Rate {
  if (typeof rate === 'number') return rate;
  return { base: rate.base, tiers: rate.tiers.map(({ start, price }) => ({ start, price })) };
}
