// What a determined token is replaced by: another of its kind and pattern, which is wrong and stands nowhere in the row.

import { drawn, type Random } from '../random.js';
import { OPPOSITES } from '../specific-tokens.js';
import type { DeterminedKind } from './tokens/truth-tokens.js';

/** Common words of every usual length, for names that are not there. */
const WORDS =
  'oak elm fig yew birch maple cedar hazel larch aspen willow laurel poplar walnut spruce acacia juniper cypress sycamore magnolia hawthorn chestnut tamarisk blackthorn boxwood redwood dogwood rosewood sandalwood cottonwood'.split(
    ' ',
  );
const MOST_TRIES = 30;

interface Replacer {
  /** The same token is always replaced by the same. Empty for a line: it is dropped. */
  replace(kind: DeterminedKind, token: string): string;
}

/** `row` is all that the row says. Time grows with its length, and not with how often the replacer is asked. */
export function replacerFor(row: readonly string[], random: Random): Replacer {
  const numbers = new Set(row.flatMap((text) => text.match(/\d+(?:[.,]\d+)*/g) ?? []));
  const small = row.map((text) => text.toLowerCase());
  const free = WORDS.filter((word) => !small.some((text) => text.includes(word)));
  // A row that says all of these words gets two of them in one.
  const words = free.length > 0 ? free : WORDS.map((word) => `${word}${word}`);
  const made = new Map<string, string>();
  const make = (kind: DeterminedKind, token: string) => {
    switch (kind) {
      case 'line':
        return '';
      case 'state':
        return OPPOSITES[token] ?? '0';
      case 'number':
        return otherNumber(token, numbers, random);
      case 'path':
      case 'name':
        return otherName(token, kind === 'path', words, random);
      default:
        return kind satisfies never;
    }
  };
  return {
    replace(kind, token) {
      const replacement = made.get(`${kind} ${token}`) ?? make(kind, token);
      made.set(`${kind} ${token}`, replacement);
      return replacement;
    },
  };
}

/** Another number with its digits in the same places; one with a digit more where the row has all of those. */
function otherNumber(token: string, taken: ReadonlySet<string>, random: Random): string {
  const bare = token.replace(/^-/, '');
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const other = otherDigits(bare, random);
    if (other !== bare && !taken.has(other)) return token.replace(bare, other);
  }
  const digit = (9 - Number(bare.slice(-1))).toString();
  return `${token}${digit}`;
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
  const other = inCaseOf(word, drawn(nearIn(words, word.length), random));
  return token.slice(0, index) + other + token.slice(index + word.length);
}

/** The words of about a length, or all where none is. */
function nearIn(words: readonly string[], length: number): readonly string[] {
  const near = words.filter((word) => Math.abs(word.length - length) <= 2);
  return near.length > 0 ? near : words;
}

function inCaseOf(word: string, other: string): string {
  if (/^\p{Lu}+$/u.test(word) && word.length > 1) return other.toUpperCase();
  return /^\p{Lu}/u.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other;
}
