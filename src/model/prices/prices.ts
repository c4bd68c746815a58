// What a model costs: by the user's price file (`--prices`), else by the catalogue, else unknown.

import { EXIT, nearest, UserError } from '../../core/errors.js';
import type { Price } from '../../core/price.js';
import { oneLine } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import type { OptionTable } from '../../settings/options.js';
import { type Catalogue, openCatalogue } from './catalogue.js';
import { type PriceRule, readPriceFile } from './price-file.js';

export const PRICE_OPTIONS = {
  prices: {
    kind: 'text',
    value: 'FILE',
    group: 'Cost',
    help: "YAML or JSON file of what models cost, before the catalogue's prices; see docs/costs.md",
  },
} as const satisfies OptionTable;

/** Whom a price is wanted of. */
interface Priced {
  /** The name that is asked for. */
  readonly model: string;
  /** The name by which the server answered, a snapshot's for example; it goes first. */
  readonly servedModel?: string | undefined;
  /** Where it is asked, with the port where there is one: `api.openai.com`, `127.0.0.1:8000`. */
  readonly hosts: readonly string[];
  readonly at: Date;
}

export interface PriceList {
  /** The file, where there is one, and the catalogue with its day. */
  readonly source: string;
  /**
   * What the model costs; undefined where nobody says, and never a price of zero for that. The file's prices hold at every host,
   * those of the catalogue at the provider's own: a local server may call its model as it likes. Several hosts have to agree.
   */
  priceOf(asked: Priced): Price | undefined;
}

/**
 * The prices that the user's file and the catalogue know.
 * @throws UserError: 66 for a file that cannot be read, 65 for one that cannot be taken at its word.
 */
export async function openPriceList(
  { prices: path }: { readonly prices: string | undefined },
  io: Pick<Io, 'cwd'>,
): Promise<PriceList> {
  return path === undefined ? openPrices() : openPrices(path, await readPriceFile(path, io));
}

/** @throws UserError (65) where the catalogue does not have what a rule refers to. */
export async function openPrices(path?: string, rules: readonly PriceRule[] = []): Promise<PriceList> {
  const catalogue = await openCatalogue();
  for (const rule of rules) requireKnown(rule, catalogue, path ?? '');
  return {
    source: path === undefined ? catalogue.source : `${path}, else ${catalogue.source}`,
    priceOf({ model, servedModel, hosts, at }) {
      const names = servedModel === undefined ? [model] : [servedModel, model];
      const rule = ruleFor(rules, names);
      if (rule === undefined) return catalogued(catalogue, names, hosts, at);
      return 'price' in rule ? rule.price : catalogue.priceOf(rule.like.provider, rule.like.model, at);
    },
  };
}

/** A name that is written out goes before a pattern; of patterns the first holds. */
function ruleFor(rules: readonly PriceRule[], names: readonly string[]): PriceRule | undefined {
  const first = (fits: (pattern: string, name: string) => boolean) =>
    names.map((name) => rules.find(({ pattern }) => fits(pattern, name))).find((rule) => rule !== undefined);
  return first((pattern, name) => pattern === name) ?? first(matches);
}

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

function catalogued(
  catalogue: Catalogue,
  names: readonly string[],
  hosts: readonly string[],
  at: Date,
): Price | undefined {
  const [price, ...others] = hosts.map((host) => {
    const provider = catalogue.providerOf(host);
    if (provider === undefined) return undefined;
    return names.map((name) => catalogue.priceOf(provider, name, at)).find((found) => found !== undefined);
  });
  const rates = ratesOf(price);
  return others.every((other) => ratesOf(other) === rates) ? price : undefined;
}

function ratesOf(price: Price | undefined): string | undefined {
  return price && JSON.stringify([price.input, price.cached, price.written, price.output, price.call]);
}

/** @throws UserError (65) where the catalogue does not have what a rule refers to. */
function requireKnown(rule: PriceRule, catalogue: Catalogue, path: string): void {
  if (!('like' in rule)) return;
  const { provider, model } = rule.like;
  if (catalogue.knows(provider, model)) return;
  const refusal = (what: string, hint: string) =>
    new UserError(`${path}:${rule.line}: ${catalogue.source} has ${what}; ${hint}`, EXIT.badData);
  if (catalogue.providers.includes(provider)) {
    throw refusal(`no price of "${oneLine(model, 60)}" at ${provider}`, 'give input and output instead');
  }
  const near = nearest(provider, catalogue.providers);
  const hint = near === undefined ? `it has ${catalogue.providers.join(', ')}` : `did you mean ${near}?`;
  throw refusal(`no provider "${oneLine(provider, 60)}"`, hint);
}
