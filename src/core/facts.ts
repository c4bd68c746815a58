// The checklist of a verdict: what the judge found in the truth, of which kind each fact is, and whether the prediction met it.

import { isObject } from './json.js';

/** What a fact follows from: the history and the action, what the world model was told, one run alone, or nothing that was known. */
export const FACT_KINDS = ['determined', 'told', 'runtime', 'plausible'] as const;
type FactKind = (typeof FACT_KINDS)[number];

/** One fact of the truth. The claim is a model's text: hostile, as all of them are. */
export interface Fact {
  readonly claim: string;
  readonly kind: FactKind;
  readonly met: boolean;
  /** What the judge says that truth or prediction holds to the letter; absent where it quotes nothing. */
  readonly quote?: string;
}

/** Changes with what is read out of a checklist. */
export const FACTS_VERSION = 2;
/** The most facts of a checklist. */
export const MOST_FACTS = 12;
/** The longest claim, and the longest quote, in characters (code points). */
export const LONGEST_CLAIM = 200;

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
  if (!Array.isArray(value)) return '"facts" is no list';
  if (value.length > MOST_FACTS) return `there are ${value.length} facts, and ${MOST_FACTS} are the most`;
  const facts: Fact[] = [];
  for (const [index, item] of value.entries()) {
    const fact = readFact(item);
    if (typeof fact === 'string') return `fact ${index + 1} ${fact}`;
    facts.push(fact);
  }
  return facts;
}

function readFact(value: unknown): Fact | string {
  if (!isObject(value)) return 'is no object';
  const { claim, kind: given, met, quote, ...others } = value;
  if (Object.keys(others).length > 0) return 'has more than claim, kind, met and quote';
  if (typeof claim !== 'string') return 'has no claim';
  const { length } = Array.from(claim);
  if (length === 0 || length > LONGEST_CLAIM)
    return `has a claim of ${length} characters, and 1 to ${LONGEST_CLAIM} are allowed`;
  const kind = FACT_KINDS.find((name) => name === given);
  if (kind === undefined) return `is none of ${FACT_KINDS.join(', ')}`;
  if (typeof met !== 'boolean') return 'does not say whether it was met';
  if (quote === undefined || quote === '') return { claim, kind, met };
  if (typeof quote !== 'string') return 'has a quote that is no text';
  if (Array.from(quote).length > LONGEST_CLAIM) return `has a quote of more than ${LONGEST_CLAIM} characters`;
  return { claim, kind, met, quote };
}
