// The checklist of a verdict: the facts that the judge found in the truth, the kind of each, and whether the prediction met it.

import { z } from 'zod';
import { present } from './errors.js';

/** What a fact follows from: history and action, what the world model was told, one run only, or nothing known. */
export const FACT_KINDS = ['determined', 'told', 'runtime', 'plausible'] as const;
/** Increased whenever the way to read a checklist changes. */
export const FACTS_VERSION = 2;
/** The most facts in a checklist. */
export const MOST_FACTS = 12;
/** The longest claim or quote, in characters (code points). */
export const LONGEST_CLAIM = 200;

const text = z
  .string()
  .refine((chars) => Array.from(chars).length <= LONGEST_CLAIM, `longer than ${LONGEST_CLAIM} characters`);
export const FACTS = z.array(
  z.strictObject({ claim: text.min(1), kind: z.enum(FACT_KINDS), met: z.boolean(), quote: text.optional() }),
);
/**
 * One fact of the truth. The claim is a model's text, so treat it as hostile. `quote` is text that, according to the judge, is in the
 * truth or the prediction verbatim; absent if it quotes nothing.
 */
export type Fact = Readonly<z.infer<typeof FACTS>[number]>;

/** The share of determined facts that were met, 0 to 100; undefined if none is listed. */
export function recallOf(facts: readonly Fact[]): number | undefined {
  const determined = facts.filter(({ kind }) => kind === 'determined');
  if (determined.length === 0) return undefined;
  return (100 * determined.filter(({ met }) => met).length) / determined.length;
}

/** How many facts have a quote, and how many of these quotes are in none of the texts. */
export function quotesIn(facts: readonly Fact[], texts: readonly string[]): { given: number; unmatched: number } {
  const quotes = facts.flatMap(({ quote }) => quote ?? []);
  const isMatched = (quote: string) => texts.some((text) => text.includes(quote));
  return { given: quotes.length, unmatched: quotes.filter((quote) => !isMatched(quote)).length };
}

/** The facts in a JSON value, or the reason why it is not a checklist: all of it must be as requested. */
export function readFacts(value: unknown): readonly Fact[] | string {
  if (value === undefined) return 'the verdict contains no "facts"';
  // Checked before looking at each fact, since a reply may contain any number.
  if (Array.isArray(value) && value.length > MOST_FACTS) return `"facts" has more than ${MOST_FACTS} facts`;
  const { data, error } = FACTS.safeParse(value);
  if (data !== undefined) return data.map(({ quote, ...fact }) => (quote ? { ...fact, quote } : fact));
  const { path, message } = present(error.issues[0]);
  return `"${['facts', ...path].join('.')}": ${message}`;
}
