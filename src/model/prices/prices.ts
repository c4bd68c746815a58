// Prices: from the user's file, or from the bundled catalogue.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ModelPrice, PriceCalculation, Provider } from '@pydantic/genai-prices';
import { z } from 'zod';
import type { Price } from '../../core/costs.js';
import { badData, codeOf, EXIT, inputMissing, present } from '../../core/errors.js';
import { keysOf } from '../../core/groups.js';
import { grouped } from '../../core/printable.js';
import { faultsOf, mapping, oneOf, type Path } from '../../core/schema.js';
import type { Io } from '../../core/types.js';
import { parseYaml } from '../../disk/yaml-file.js';
import { type OptionTable, option } from '../../settings/command.js';

export const PRICE_OPTIONS = {
  prices: option.text('FILE', "YAML or JSON file of model prices, used before the catalogue's; see docs/costs.md", {
    group: 'Cost',
  }),
} as const satisfies OptionTable;

export type PriceList = Awaited<ReturnType<typeof openPrices>>;

/**
 * The prices in the user's file and in the catalogue.
 * @throws UserError: 66 for a file that cannot be read, 65 for one with wrong content.
 */
export async function openPriceList(
  { prices: path }: { readonly prices: string | undefined },
  { cwd }: Pick<Io, 'cwd'>,
): Promise<PriceList> {
  if (path === undefined) return openPrices();
  const content = await readFile(resolve(cwd, path), 'utf8').catch((error: unknown) => {
    throw inputMissing(`cannot read the price file ${path} (--prices): ${codeOf(error)}`);
  });
  const { document, plain, lineOf } = await parseYaml(content, path, EXIT.badData);
  return openPrices(path, priceRules(plain(document), path, lineOf));
}

export async function openPrices(path?: string, rules: readonly PriceRule[] = []) {
  const catalogue = await openCatalogue();
  return {
    /** The file, if there is one, and the catalogue with its date. */
    source: path === undefined ? SOURCE : `${path}, else ${SOURCE}`,
    /**
     * What the model costs; undefined if unknown, never a price of zero instead. The name with which the server answered, such as a
     * snapshot's, is tried before the one that was requested. The file's prices apply to every host, those of the catalogue only to the
     * provider's own: a local server may name its model freely. Several hosts (with their ports) have to agree.
     */
    priceOf({ model, servedModel, hosts, at }: Priced): Price | undefined {
      const names = servedModel === undefined ? [model] : [servedModel, model];
      const firstOf = <T>(of: (name: string) => T | undefined) => names.map(of).find((found) => found !== undefined);
      // A literal name is tried before patterns; among patterns the first match wins.
      const rule =
        firstOf((name) => rules.find(({ pattern }) => pattern === name)) ??
        firstOf((name) => rules.find(({ pattern }) => matches(pattern, name)));
      if (rule !== undefined) return rule.price;
      const prices = hosts.map((host) => {
        const provider = catalogue.providerOf(host);
        return provider === undefined ? undefined : firstOf((name) => catalogue.priceOf(provider, name, at));
      });
      const rates = prices.map((price) => JSON.stringify({ ...price, model: undefined, source: undefined }));
      return new Set(rates).size === 1 ? prices[0] : undefined;
    },
  };
}

type Priced = Readonly<{ model: string; servedModel?: string | undefined; hosts: readonly string[]; at: Date }>;

/** Whether the name matches the pattern, in which `*` stands for any characters. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[^\w]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name);
}

// The price catalogue of @pydantic/genai-prices: what a provider charges for a model on a date. Loaded when a price is needed.

/** The release of these prices, and its date: the package itself does not contain them. */
export const CATALOGUE = { name: 'genai-prices', version: '0.1.8', released: '2026-09-23' } as const;
type Rate = Price['input'];
const HOUR_MS = 3_600_000;

const SOURCE = `${CATALOGUE.name} ${CATALOGUE.version} of ${CATALOGUE.released}`;

/** Opens the catalogue, which takes some 20 MB of memory and 50 ms the first time. */
export async function openCatalogue() {
  const { calcPrice, waitForUpdate } = await import('@pydantic/genai-prices');
  const providers = (await waitForUpdate()) ?? [];
  /** The provider's price of a model; undefined if it is unknown, or charges for what calls do not report. */
  const priceOf = (providerId: string, model: string, at: Date): Price | undefined => {
    // A run takes hours, and no bill or budget may be too low: among hourly prices the highest counts.
    const day = Date.parse(at.toISOString().slice(0, 10));
    const times = [at, ...Array.from({ length: 24 }, (_, hour) => new Date(day + hour * HOUR_MS))];
    const usage = { input_tokens: 0, output_tokens: 0 };
    const prices = times.flatMap((timestamp) => priceIn(calcPrice(usage, model, { providerId, timestamp })) ?? []);
    const base = (rate: Rate) => (typeof rate === 'number' ? rate : rate.base);
    return prices.sort((a, b) => base(b.input) + base(b.output) - base(a.input) - base(a.output))[0];
  };
  return {
    /** The provider that owns a host (with its port, if any). */
    providerOf: (host: string) => providers.find((provider) => ownsHost(provider, host))?.id,
    priceOf,
  };
}

/** Providers whose hosts are their customers' own servers, with other prices. */
const RENTED = ['modal'];

/**
 * Whether the complete host is the provider's: patterns of the catalogue match beginnings, and `api.openai.com.example.org` is not
 * OpenAI. A pattern that ends in a dot leaves the top-level domain open. Providers identified by a path are identified by no host.
 */
function ownsHost({ id, api_pattern: pattern }: Provider, host: string): boolean {
  if (RENTED.includes(id)) return false;
  const address = `https://${host}/`;
  const [matched] = new RegExp(`^(?:${pattern})`).exec(address) ?? [];
  if (matched === undefined) return false;
  const rest = address.slice(matched.length);
  return rest === '' || rest === '/' || (matched.endsWith('.') && /^[a-z]+\/$/.test(rest));
}

/** Prices of what no call here uses: sound, pictures, pages, searches by the server, a cache kept for an hour. */
const OF_OTHER_CALLS = /audio|image|video|document|^(?:web|storage)_searches_kcount$|^cache_write_1h_mtok$/;
const TAKEN = /^(?:(?:in|out)put_mtok|cache_(?:read|write)_mtok|requests_kcount)$/;

function priceIn(found: PriceCalculation | null): Price | undefined {
  if (found === null) return undefined;
  const { provider, model, model_price: price } = found;
  const { input_mtok: input, cache_read_mtok: cached, cache_write_mtok: written, output_mtok: output } = price;
  const { requests_kcount: thousandCalls } = price;
  // A model without a price counts as unknown; charges for anything but the reported tokens cannot be computed.
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

// A price file: a user's statement of what models cost. Read and checked -> rules, or an error with file, line and remedy.

/** A price in a price file, for the models that match a name or a pattern. */
type PriceRule = Readonly<{ pattern: string; price: Price }>;

/** How many tokens a price is for; a million by default, as in providers' own price lists. */
const UNITS = { 'million-tokens': 1e6, 'thousand-tokens': 1e3, token: 1 } as const;
/** US dollars per million tokens: a hundred times what any model costs. More means a price in another unit. */
const MOST_PRICE = 100_000;
/** US dollars per call: far beyond any real price. */
const MOST_CALL = 100;

function amount(name: string, most: number) {
  const fault = `${name} has to be a number from 0 to ${most}`;
  return z.number(fault).min(0, fault).max(most, fault);
}

const MODEL = mapping('the price of a model', {
  input: amount('input', MOST_PRICE),
  cached: amount('cached', MOST_PRICE).optional(),
  written: amount('written', MOST_PRICE).optional(),
  output: amount('output', MOST_PRICE),
  call: amount('call', MOST_CALL).optional(),
});
export const PRICE_FILE = mapping('a price file', {
  currency: z.literal('USD', 'prices are in US dollars: currency: USD').optional(),
  unit: oneOf('unit', keysOf(UNITS)).default('million-tokens'),
  models: z.record(z.string(), MODEL, 'models has to name models with their prices'),
});

/** The rules of a price file's content. @throws UserError (65) with the file's name and the line */
export function priceRules(content: unknown, path: string, lineOf: (place: Path) => number): readonly PriceRule[] {
  const { data, error } = PRICE_FILE.safeParse(content);
  if (data === undefined) {
    // Unknown keys come last, and explain why another one is missing.
    const { path: place, text } = present(faultsOf(error).at(-1));
    throw badData(`${path}:${lineOf(place)}: ${text}`);
  }
  return Object.entries(data.models).map(([pattern, { input, output, call, ...others }]) => {
    // Multiplied first: 0.0002 per thousand is 0.2 per million, and not 0.19999999999999998.
    const perMillion = (price: number) => Number((price * (1e6 / UNITS[data.unit])).toPrecision(15));
    const ofCache = Object.entries(others).map(([name, price = Number.NaN]) => [name, perMillion(price)]);
    const cache: Record<string, number> = Object.fromEntries(ofCache);
    const tokens = { input: perMillion(input), ...cache, output: perMillion(output) };
    const dearest = Math.max(...Object.values(tokens));
    if (dearest > MOST_PRICE) {
      const what = `${grouped(Math.round(dearest))} dollars per million tokens`;
      throw badData(`${path}:${lineOf(['models', pattern])}: ${what}; check the file's unit`);
    }
    return { pattern, price: { model: pattern, source: path, ...tokens, ...(call !== undefined && { call }) } };
  });
}
