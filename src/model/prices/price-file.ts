// A price file: what a user says that models cost. Its entries -> checked rules, or an error with file, line and remedy.

import { EXIT, nearest, UserError } from '../../core/errors.js';
import { keysOf } from '../../core/keys.js';
import type { Price } from '../../core/price.js';
import { oneLine } from '../../core/printable.js';

/** A key of a mapping with its line and its value; `entries` where the value is a mapping itself. */
export interface FileEntry {
  readonly key: string;
  readonly line: number;
  readonly value: unknown;
  readonly entries?: readonly FileEntry[] | undefined;
}

/** A price file as it was read. */
export interface PriceFile {
  /** As the user gave it. */
  readonly path: string;
  readonly entries: readonly FileEntry[];
}

/** What a price file says of the models that a name or a pattern holds for. */
export type PriceRule = { readonly pattern: string; readonly line: number } & (
  | { readonly price: Price }
  | { readonly like: { readonly provider: string; readonly model: string } }
);

/** How many tokens a price is for; a million where the file says nothing, as providers' own price lists do. */
const UNITS = { 'million-tokens': 1e6, 'thousand-tokens': 1e3, token: 1 } as const;
const CURRENCY = 'USD';
const KEYS = ['currency', 'unit', 'models'] as const;
const FIELDS = ['input', 'cached', 'written', 'output', 'call', 'like'] as const;
/** US dollars for a million tokens: a hundred times what any model costs. More is a price in another unit. */
const MOST_PRICE = 100_000;
/** US dollars for a call: far beyond what any costs. */
const MOST_CALL = 100;
const EXAMPLE = 'models: { my-model: { input: 0.20, cached: 0.02, output: 0.80 } }';

/** @throws UserError (65) with the file's name, the line and what would do, for a file that cannot be taken at its word. */
export function parsePriceFile({ path, entries }: PriceFile): readonly PriceRule[] {
  const at: Refuse = (line, message) => new UserError(`${path}:${line}: ${message}`, EXIT.badData);
  refuseUnknown(entries, KEYS, at, 'a price file has');
  const find = (key: (typeof KEYS)[number]) => entries.find((entry) => entry.key === key);
  const currency = find('currency');
  if (currency !== undefined && currency.value !== CURRENCY) {
    throw at(
      currency.line,
      `unknown currency ${shown(currency.value)}; prices are in US dollars: currency: ${CURRENCY}`,
    );
  }
  const tokens = tokensOf(find('unit'), at);
  const models = find('models');
  if (models?.entries === undefined || models.entries.length === 0) {
    throw at(models?.line ?? 1, `models has to name at least one model with its price, such as ${EXAMPLE}`);
  }
  return models.entries.map((entry) => ruleOf(entry, { path, at, tokens }));
}

type Refuse = (line: number, message: string) => UserError;

function tokensOf(unit: FileEntry | undefined, at: Refuse): number {
  if (unit === undefined) return UNITS['million-tokens'];
  const units = keysOf(UNITS);
  const known = units.find((name) => name === unit.value);
  if (known !== undefined) return UNITS[known];
  const near = typeof unit.value === 'string' ? nearest(unit.value, units) : undefined;
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  throw at(unit.line, `unknown unit ${shown(unit.value)}: expected one of ${units.join(', ')}${hint}`);
}

function ruleOf(
  { key: pattern, line, entries }: FileEntry,
  { path, at, tokens }: { readonly path: string; readonly at: Refuse; readonly tokens: number },
): PriceRule {
  const name = oneLine(pattern, 80);
  if (entries === undefined) {
    throw at(line, `"${name}" has to have a price, such as { input: 0.20, cached: 0.02, output: 0.80 }`);
  }
  refuseUnknown(entries, FIELDS, at, `the price of "${name}" has`);
  const find = (field: (typeof FIELDS)[number]) => entries.find(({ key }) => key === field);
  const like = find('like');
  if (like !== undefined) {
    if (entries.length > 1) throw at(like.line, `"${name}" has like and a price of its own; leave one of them out`);
    return { pattern, line: like.line, like: likeOf(like, at) };
  }
  const price = (field: 'input' | 'cached' | 'written' | 'output') => {
    const entry = find(field);
    return entry === undefined ? undefined : perMillion(entry, tokens, at);
  };
  const [input, cached, written] = [price('input'), price('cached'), price('written')];
  const [output, call] = [price('output'), find('call')];
  if (input === undefined || output === undefined) {
    const missing = input === undefined ? 'input' : 'output';
    throw at(line, `"${name}" has no price for ${missing}; add ${missing} (0 where it costs nothing)`);
  }
  return {
    pattern,
    line,
    price: {
      model: pattern,
      source: path,
      input,
      ...(cached === undefined ? {} : { cached }),
      ...(written === undefined ? {} : { written }),
      output,
      ...(call === undefined ? {} : { call: callPrice(call, at) }),
    },
  };
}

function likeOf({ line, value }: FileEntry, at: Refuse) {
  const [, provider, model] = /^([^/]+)\/(.+)$/s.exec(typeof value === 'string' ? value : '') ?? [];
  if (provider === undefined || model === undefined) {
    throw at(line, `like ${shown(value)}: expected a provider and its model, such as openai/gpt-5.2`);
  }
  return { provider, model };
}

function perMillion(entry: FileEntry, tokens: number, at: Refuse): number {
  // Multiplied first: 0.0002 for a thousand is 0.2 for a million, and not 0.19999999999999998.
  const price = Number((amountOf(entry, at) * (1e6 / tokens)).toPrecision(15));
  if (price <= MOST_PRICE) return price;
  throw at(
    entry.line,
    `${entry.key} ${shown(entry.value)} is ${price.toExponential(1)} dollars for a million tokens; check the file's unit`,
  );
}

function callPrice(entry: FileEntry, at: Refuse): number {
  const price = amountOf(entry, at);
  if (price <= MOST_CALL) return price;
  throw at(entry.line, `call ${shown(entry.value)} is more than ${MOST_CALL} dollars for each call; check the price`);
}

function amountOf({ key, line, value }: FileEntry, at: Refuse): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  const quoted = typeof value === 'string' && value.trim() !== '' && Number(value) >= 0;
  throw at(
    line,
    `${key} has to be a number of at least 0; it is ${shown(value)}${quoted ? ', which is a text: take it out of its quotes' : ''}`,
  );
}

function refuseUnknown(entries: readonly FileEntry[], known: readonly string[], at: Refuse, what: string): void {
  for (const { key, line } of entries) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    const hint = near === undefined ? `it may have ${known.join(', ')}` : `did you mean "${near}"?`;
    throw at(line, `${what} an unknown key "${oneLine(key, 60)}"; ${hint}`);
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  // .inf and .nan of YAML are null in JSON.
  return oneLine(typeof value === 'number' ? String(value) : JSON.stringify(value), 60);
}
