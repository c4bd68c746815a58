// A price file: what a user says that models cost. Read and checked -> rules, or an error with file, line and remedy.

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import { keysOf } from '../../core/keys.js';
import type { Price } from '../../core/price.js';
import { oneLine } from '../../core/printable.js';
import { faultsOf, mapping, oneOf, type Path } from '../../core/schema.js';
import type { Io } from '../../core/types.js';
import { parseYaml } from '../../disk/yaml-file.js';

/** What a price file says of the models that a name or a pattern holds for: a price, or whose price in the catalogue holds. */
export type PriceRule = { readonly pattern: string; readonly line: number } & (
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

/** @throws UserError: 66 for a file that cannot be read, 65 for one that cannot be taken at its word. */
export async function readPriceFile(path: string, io: Pick<Io, 'cwd'>): Promise<readonly PriceRule[]> {
  let text: string;
  try {
    text = await readStart(resolve(io.cwd, path), MOST_BYTES + 1);
  } catch (error) {
    throw new UserError(`cannot read the price file ${path} (--prices): ${codeOf(error)}`, EXIT.inputMissing);
  }
  if (Buffer.byteLength(text) > MOST_BYTES) {
    throw new UserError(
      `the price file ${path} (--prices) has more than 250 kB; name patterns such as step-* in it, or only the models at hand`,
      EXIT.badData,
    );
  }
  const { document, plain, lineOf } = await parseYaml(text, path, EXIT.badData);
  return priceRules(plain(document), path, lineOf);
}

/** The rules of a price file's content. @throws UserError (65) with the file's name and the line */
export function priceRules(content: unknown, path: string, lineOf: (place: Path) => number): readonly PriceRule[] {
  const refusal = (place: Path, text: string) => new UserError(`${path}:${lineOf(place)}: ${text}`, EXIT.badData);
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

/** Up to so many bytes of a file; a device may have no end. */
async function readStart(path: string, most: number): Promise<string> {
  const file = await open(path);
  try {
    const bytes = Buffer.alloc(most);
    let length = 0;
    for (let read = 1; read > 0 && length < most; length += read) {
      read = (await file.read(bytes, length, most - length)).bytesRead;
    }
    return bytes.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}

function shown(value: unknown): string {
  // .inf and .nan of YAML are null in JSON.
  return oneLine(typeof value === 'number' ? String(value) : JSON.stringify(value), 60);
}
