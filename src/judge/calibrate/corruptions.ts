// Graded corruptions: some of what can be wrong is replaced by what is wrong; the rest stays byte for byte the truth.

import { OPPOSITES } from '../../benchmark/specific-tokens.js';
import { drawn, type Random, shuffled } from '../../core/random.js';
import { type ContentToken, type TokenKind, tokensOf } from './tokens.js';
import { type Span, withReplaced } from './units.js';
import { changed, observationOf, type Subject, type Variant } from './variant.js';

export const CORRUPTIONS = {
  'determined-1of8': dose(1 / 8, 'an eighth of what action and history determine is wrong'),
  'determined-1of3': dose(1 / 3, 'a third of what action and history determine is wrong'),
  'determined-2of3': dose(2 / 3, 'two thirds of what action and history determine are wrong'),
  light: {
    family: 'order',
    help: 'one state, number or word changed',
    isRepeated: true,
    make: (subject) => corrupted(subject, surestFirst(subject).slice(0, 1)),
  },
  heavy: {
    family: 'order',
    help: 'the same, and half of the content changed',
    isRepeated: true,
    make(subject) {
      const order = surestFirst(subject);
      const content = order.filter(({ isPrompt }) => !isPrompt).length;
      const count = Math.max(2, Math.round(content / 2));
      return order.length < count ? undefined : corrupted(subject, order.slice(0, count));
    },
  },
} satisfies Record<string, Variant>;

/** A row with fewer determined tokens has no eighth of them. */
const FEWEST_TOKENS = 8;

/** The tokens of a smaller share are among those of a larger one, and are replaced by the same: all draw from the row's stream. */
function dose(share: number, help: string): Variant {
  return {
    family: 'dose',
    help,
    dose: share,
    make(subject) {
      const { determined } = tokensOf(subject.sample);
      if (determined.length < FEWEST_TOKENS) return undefined;
      const count = Math.round(determined.length * share);
      return corrupted(subject, shuffled(determined, subject.rowRandom).slice(0, count));
    },
  };
}

/**
 * All that can be wrong in an observation, in an order that is the same for each variant of the row: first one token that is most
 * surely wrong, then what the row alone says, what another row of the domain says too (the format), and what stands in prompts.
 */
function surestFirst({ sample, donor, rowRandom }: Subject): ContentToken[] {
  const { text, content } = tokensOf(sample);
  const format = new Set(donor === undefined ? [] : wordsIn(observationOf(donor)));
  const isFormat = ({ start, end }: Span) => wordsIn(text.slice(start, end)).every((word) => format.has(word));
  const order = shuffled(content, rowRandom)
    .map((token) => ({ token, tier: token.isPrompt ? 2 : isFormat(token) ? 1 : 0 }))
    .sort((a, b) => a.tier - b.tier);
  const [surest] = [...order].sort((a, b) => a.tier - b.tier || b.token.certainty - a.token.certainty);
  return surest === undefined ? [] : [surest, ...order.filter((other) => other !== surest)].map(({ token }) => token);
}

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function corrupted({ sample, rowRandom }: Subject, tokens: readonly (Span & { readonly kind: TokenKind })[]) {
  const { text, told } = tokensOf(sample);
  const replace = replacerFor([...told, text], rowRandom);
  const changes = tokens.map(({ kind, start, end }) => ({ start, end, by: replace(kind, text.slice(start, end)) }));
  return changed(sample, () => withReplaced(text, changes));
}

/** Common words of every usual length, for names that are not there. */
const WORDS =
  'oak elm fig yew birch maple cedar hazel larch aspen willow laurel poplar walnut spruce acacia juniper cypress sycamore magnolia hawthorn chestnut tamarisk blackthorn boxwood redwood dogwood rosewood sandalwood cottonwood'.split(
    ' ',
  );
const MOST_TRIES = 30;

/**
 * Replaces a token by another of its kind and pattern that is wrong and stands nowhere in the row; the same always by the same, and a
 * line by nothing. `row` is all that the row says. Time grows with its length, and not with how often the replacer is asked.
 */
function replacerFor(row: readonly string[], random: Random): (kind: TokenKind, token: string) => string {
  const numbers = new Set(row.flatMap((text) => text.match(/\d+(?:[.,]\d+)*/g) ?? []));
  const small = row.map((text) => text.toLowerCase());
  const free = WORDS.filter((word) => !small.some((text) => text.includes(word)));
  // A row that says all of these words gets two of them in one.
  const words = free.length > 0 ? free : WORDS.map((word) => `${word}${word}`);
  const made = new Map<string, string>();
  const make: Readonly<Record<TokenKind, (token: string) => string>> = {
    line: () => '',
    state: (token) => OPPOSITES[token] ?? token,
    number: (token) => otherNumber(token, numbers, random),
    path: (token) => otherName(token, true, words, random),
    name: (token) => otherName(token, false, words, random),
  };
  return (kind, token) => {
    const replacement = made.get(`${kind} ${token}`) ?? make[kind](token);
    made.set(`${kind} ${token}`, replacement);
    return replacement;
  };
}

/** Another number with its digits in the same places; one with more digits where the row has all of those. */
function otherNumber(token: string, taken: ReadonlySet<string>, random: Random): string {
  const bare = token.replace(/^-/, '');
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const other = otherDigits(bare, random);
    if (other !== bare && !taken.has(other)) return token.replace(bare, other);
  }
  const digit = String(9 - Number(bare.slice(-1)));
  // To JSON, 09 is no number.
  let longer = bare === '0' ? '1' : bare;
  do longer += digit;
  while (taken.has(longer));
  return token.replace(bare, longer);
}

/** Other digits in their places, the first not 0 unless it was. */
function otherDigits(text: string, random: Random): string {
  return text.replace(/\d/g, (digit, place: number) => {
    if (place === 0 && digit === '0' && text.length > 1) return digit;
    const lowest = place === 0 ? 1 : 0;
    return String(lowest + Math.floor(random.uniform() * (10 - lowest)));
  });
}

/** The token with one of its words replaced by a word of about its length and its case; of a path, never its host or its ending. */
function otherName(token: string, isPath: boolean, words: readonly string[], random: Random): string {
  const from = isPath ? (/^\w+:\/\/[^/]*\//.exec(token)?.[0].length ?? 0) : 0;
  const ending = isPath ? (/\.\w{1,6}$/.exec(token.slice(from))?.index ?? token.length - from) + from : token.length;
  const places = [...token.matchAll(/\p{Lu}?\p{Ll}+|\p{Lu}+/gu)].filter(({ index }) => index >= from && index < ending);
  const longest = places.filter((match) => match[0].length > 2);
  const choice = longest.length > 0 ? longest : places;
  // A path of digits alone, such as 2025/1.txt, has its ending for a word.
  if (choice.length === 0) return `${token.slice(0, ending)}-${drawn(words, random)}${token.slice(ending)}`;
  const { index, 0: word } = drawn(choice, random);
  const near = words.filter((other) => Math.abs(other.length - word.length) <= 2);
  const other = inCaseOf(word, drawn(near.length > 0 ? near : words, random));
  return token.slice(0, index) + other + token.slice(index + word.length);
}

function inCaseOf(word: string, other: string): string {
  if (/^\p{Lu}+$/u.test(word) && word.length > 1) return other.toUpperCase();
  return /^\p{Lu}/u.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other;
}
