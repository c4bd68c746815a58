// Prices: from the user's file, or the catalogue that comes with the package.

import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ModelPrice, PriceCalculation, Provider } from '@pydantic/genai-prices';
import { z } from 'zod';
import type { Price } from '../../core/costs.js';
import { nearest } from '../../core/edits.js';
import { badData, codeOf, EXIT, inputMissing } from '../../core/errors.js';
import { keysOf } from '../../core/groups.js';
import { oneLine } from '../../core/printable.js';
import { faultsOf, mapping, oneOf, type Path } from '../../core/schema.js';
import type { Io } from '../../core/types.js';
import { parseYaml } from '../../disk/yaml-file.js';
import { type OptionTable, option } from '../../settings/command.js';

export const PRICE_OPTIONS = {
  prices: option.text(
    'FILE',
    "YAML or JSON file of what models cost, before the catalogue's prices; see docs/costs.md",
    { group: 'Cost' },
  ),
} as const satisfies OptionTable;

export type PriceList = Awaited<ReturnType<typeof openPrices>>;

/**
 * The prices that the user's file and the catalogue know.
 * @throws UserError: 66 for a file that cannot be read, 65 for one that cannot be taken at its word.
 */
export async function openPriceList(
  { prices: path }: { readonly prices: string | undefined },
  { cwd }: Pick<Io, 'cwd'>,
): Promise<PriceList> {
  if (path === undefined) return openPrices();
  // A device may have no end.
  const content = await text(createReadStream(resolve(cwd, path), { end: MOST_BYTES })).catch((error: unknown) => {
    throw inputMissing(`cannot read the price file ${path} (--prices): ${codeOf(error)}`);
  });
  if (Buffer.byteLength(content) > MOST_BYTES) {
    throw badData(
      `the price file ${path} (--prices) has more than 250 kB; name patterns such as step-* in it, or only the models at hand`,
    );
  }
  const { document, plain, lineOf } = await parseYaml(content, path, EXIT.badData);
  return openPrices(path, priceRules(plain(document), path, lineOf));
}

/** @throws UserError (65) where the catalogue does not have what a rule refers to. */
export async function openPrices(path?: string, rules: readonly PriceRule[] = []) {
  const catalogue = await openCatalogue();
  for (const rule of rules) {
    if ('price' in rule || catalogue.priceOf(rule.like.provider, rule.like.model, RELEASED) !== undefined) continue;
    const what = `${SOURCE} has no price of "${oneLine(rule.like.model, 60)}" at ${oneLine(rule.like.provider, 60)}`;
    const near = nearest(rule.like.provider, catalogue.providers);
    const hint = near === undefined || near === rule.like.provider ? '' : `did you mean ${near}? If not, `;
    throw badData(`${path}:${rule.line}: ${what}; ${hint}give input and output instead`);
  }
  return {
    /** The file, where there is one, and the catalogue with its day. */
    source: path === undefined ? SOURCE : `${path}, else ${SOURCE}`,
    /**
     * What the model costs; undefined where nobody says, and never a price of zero for that. The name by which the server answered, a
     * snapshot's for example, goes before the one that is asked for. The file's prices hold at every host, those of the catalogue at the
     * provider's own: a local server may call its model as it likes. Several hosts (with their ports) have to agree.
     */
    priceOf({ model, servedModel, hosts, at }: Priced): Price | undefined {
      const names = servedModel === undefined ? [model] : [servedModel, model];
      const firstOf = <T>(of: (name: string) => T | undefined) => names.map(of).find((found) => found !== undefined);
      // A name that is written out goes before a pattern; of patterns the first holds.
      const rule =
        firstOf((name) => rules.find(({ pattern }) => pattern === name)) ??
        firstOf((name) => rules.find(({ pattern }) => matches(pattern, name)));
      if (rule !== undefined) {
        return 'price' in rule ? rule.price : catalogue.priceOf(rule.like.provider, rule.like.model, at);
      }
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

/** Whether the name is the pattern's, `*` standing for any characters. */
function matches(pattern: string, name: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined || !name.startsWith(start)) return false;
  let at = start.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - end.length >= at && name.endsWith(end);
}

// The catalogue of prices that @pydantic/genai-prices brings: what a provider asks for a model at a date. Loaded when a price is wanted.

/** The release whose prices these are, and its day: the package itself holds none. */
export const CATALOGUE = { name: 'genai-prices', version: '0.1.8', released: '2026-09-23' } as const;
const RELEASED = new Date(CATALOGUE.released);
type Rate = Price['input'];
const HOUR_MS = 3_600_000;

const SOURCE = `${CATALOGUE.name} ${CATALOGUE.version} of ${CATALOGUE.released}`;

/** Opens the catalogue: some 20 MB of memory and 50 ms, the first time. */
export async function openCatalogue() {
  const { calcPrice, waitForUpdate } = await import('@pydantic/genai-prices');
  const providers = (await waitForUpdate()) ?? [];
  /** The provider's price of a model; undefined where it is not known, or charges for what calls do not report. */
  const priceOf = (providerId: string, model: string, at: Date): Price | undefined => {
    // A run takes hours, and no bill or budget may be too low: of prices by the hour the dearest holds.
    const day = Date.parse(at.toISOString().slice(0, 10));
    const times = [at, ...Array.from({ length: 24 }, (_, hour) => new Date(day + hour * HOUR_MS))];
    const usage = { input_tokens: 0, output_tokens: 0 };
    const prices = times.flatMap((timestamp) => priceIn(calcPrice(usage, model, { providerId, timestamp })) ?? []);
    const base = (rate: Rate) => (typeof rate === 'number' ? rate : rate.base);
    return prices.sort((a, b) => base(b.input) + base(b.output) - base(a.input) - base(a.output))[0];
  };
  return {
    /** Ids of providers. */
    providers: providers.map(({ id }) => id),
    /** The provider that a host (with its port, where it has one) belongs to. */
    providerOf: (host: string) => providers.find((provider) => ownsHost(provider, host))?.id,
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

// A price file: what a user says that models cost. Read and checked -> rules, or an error with file, line and remedy.

/** What a price file says of the models that a name or a pattern holds for: a price, or whose price in the catalogue holds. */
type PriceRule = { readonly pattern: string; readonly line: number } & (
  | { readonly price: Price }
  | { readonly like: { readonly provider: string; readonly model: string } }
);

/** How many tokens a price is for; a million where the file says nothing, as providers' own price lists do. */
const UNITS = { 'million-tokens': 1e6, 'thousand-tokens': 1e3, token: 1 } as const;
/** US dollars for a million tokens: a hundred times what any model costs. More is a price in another unit. */
const MOST_PRICE = 100_000;
/** US dollars for a call: far beyond what any costs. */
const MOST_CALL = 100;
/** Some 7,000 models. YAML of many more takes minutes to read, since every key is held against every other. */
const MOST_BYTES = 250_000;
const EXAMPLE = 'models: { my-model: { input: 0.20, cached: 0.02, output: 0.80 } }';

function amount(name: string, most = Number.MAX_VALUE) {
  const isAmount = (value: unknown) => typeof value === 'number' && value >= 0 && value <= most;
  const bounds = most === Number.MAX_VALUE ? 'of at least 0' : `from 0 to ${most}`;
  const error = ({ input }: { readonly input?: unknown }) =>
    `${name} has to be a number ${bounds}; it is ${shown(input)}`;
  return z.custom<number>(isAmount, { error }).optional();
}

const MODEL = mapping('the price of a model', {
  input: amount('input'),
  cached: amount('cached'),
  written: amount('written'),
  output: amount('output'),
  call: amount('call', MOST_CALL),
  like: z
    .string()
    .regex(/^[^/]+\/.+$/s, 'like has to name a provider and its model, such as openai/gpt-5.2')
    .optional(),
}).superRefine(({ like, input, output, ...others }, context) => {
  const refuse = (message: string, ...path: string[]) => context.addIssue({ code: 'custom', message, path });
  const isPriced = [input, output, ...Object.values(others)].some((price) => price !== undefined);
  if (like !== undefined && isPriced) refuse('like stands beside a price; leave one of them out', 'like');
  if (like !== undefined) return;
  for (const [name, price] of Object.entries({ input, output })) {
    if (price === undefined) refuse(`no price for ${name}; add ${name} (0 where it costs nothing)`);
  }
});
const NO_MODELS = `models has to name at least one model with its price, such as ${EXAMPLE}`;
const FILE = mapping('a price file', {
  currency: z
    .literal('USD', {
      error: ({ input }) => `unknown currency ${shown(input)}; prices are in US dollars: currency: USD`,
    })
    .optional(),
  unit: oneOf('unit', keysOf(UNITS)).default('million-tokens'),
  models: z.record(z.string(), MODEL, NO_MODELS).default({}),
}).refine(({ models }) => Object.keys(models).length > 0, { error: NO_MODELS, path: ['models'] });

/** The rules of a price file's content. @throws UserError (65) with the file's name and the line */
export function priceRules(content: unknown, path: string, lineOf: (place: Path) => number): readonly PriceRule[] {
  const refusal = (place: Path, text: string) => badData(`${path}:${lineOf(place)}: ${text}`);
  const read = FILE.safeParse(content);
  const [fault] = read.success ? [] : faultsOf(read.error);
  if (!read.success) throw refusal(fault?.path ?? [], fault?.text ?? NO_MODELS);
  const { unit, models } = read.data;
  return Object.entries(models).map(([pattern, { like, call, ...prices }]): PriceRule => {
    const perMillion = Object.entries(prices).flatMap(([name, price]) => {
      if (price === undefined) return [];
      // Multiplied first: 0.0002 for a thousand is 0.2 for a million, and not 0.19999999999999998.
      const million = Number((price * (1e6 / UNITS[unit])).toPrecision(15));
      if (million <= MOST_PRICE) return [[name, million] as const];
      const what = `${name} ${price} is ${million.toExponential(1)} dollars for a million tokens`;
      throw refusal(['models', pattern, name], `${what}; check the file's unit`);
    });
    const place = ['models', pattern];
    if (like === undefined) {
      const { input = 0, output = 0, ...others }: Partial<Record<string, number>> = Object.fromEntries(perMillion);
      const price = { model: pattern, source: path, input, ...others, output, ...(call !== undefined && { call }) };
      return { pattern, line: lineOf(place), price };
    }
    const [provider = '', ...model] = like.split('/');
    return { pattern, line: lineOf([...place, 'like']), like: { provider, model: model.join('/') } };
  });
}

function shown(value: unknown): string {
  // .inf and .nan of YAML are null in JSON.
  return oneLine(typeof value === 'number' ? String(value) : JSON.stringify(value), 60);
}
