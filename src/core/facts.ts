// The checklist of a verdict: what the judge found in the truth, of which kind each fact is, and whether the prediction met it.

import { z } from 'zod';
import { present } from './errors.js';

/** What a fact follows from: the history and the action, what the world model was told, one run alone, or nothing that was known. */
export const FACT_KINDS = ['determined', 'told', 'runtime', 'plausible'] as const;
/** Changes with what is read out of a checklist. */
export const FACTS_VERSION = 2;
/** The most facts of a checklist. */
export const MOST_FACTS = 12;
/** The longest claim, and the longest quote, in characters (code points). */
export const LONGEST_CLAIM = 200;

const text = z
  .string()
  .refine((chars) => Array.from(chars).length <= LONGEST_CLAIM, `longer than ${LONGEST_CLAIM} characters`);
export const FACTS = z.array(
  z.strictObject({ claim: text.min(1), kind: z.enum(FACT_KINDS), met: z.boolean(), quote: text.optional() }),
);
/**
 * One fact of the truth. The claim is a model's text: hostile, as all of them are. `quote` is what the judge says that truth or prediction
 * holds to the letter; absent where it quotes nothing.
 */
export type Fact = Readonly<z.infer<typeof FACTS>[number]>;

/** Which share of the determined facts was met, 0 to 100; undefined where none is listed. */
export function recallOf(facts: readonly Fact[]): number | undefined {
  const determined = facts.filter(({ kind }) => kind === 'determined');
  if (determined.length === 0) return undefined;
  return (100 * determined.filter(({ met }) => met).length) / determined.length;
}

/** How many facts quote something, and how many of these quotes stand in none of the texts. */
export function quotesIn(facts: readonly Fact[], texts: readonly string[]): { given: number; unmatched: number } {
  const quotes = facts.flatMap(({ quote }) => quote ?? []);
  const isMatched = (quote: string) => texts.some((text) => text.includes(quote));
  return { given: quotes.length, unmatched: quotes.filter((quote) => !isMatched(quote)).length };
}

/** The facts in a value of JSON, or the reason why it is no checklist: all of it has to be as it was asked for. */
export function readFacts(value: unknown): readonly Fact[] | string {
  if (value === undefined) return 'the verdict holds no "facts"';
  // Before each is looked at: a reply may hold any number.
  if (Array.isArray(value) && value.length > MOST_FACTS) return `"facts" has more than ${MOST_FACTS} facts`;
  const { data, error } = FACTS.safeParse(value);
  if (data !== undefined) return data.map(({ quote, ...fact }) => (quote ? { ...fact, quote } : fact));
  const { path, message } = present(error.issues[0]);
  return `"${['facts', ...path].join('.')}": ${message}`;
}
