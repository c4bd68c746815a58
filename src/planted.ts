// Verdicts in texts that are to be judged: how one is told, whatever form it has.

import { DIMENSIONS } from './types.js';

/** The tag a judge is asked to put its verdict into. */
export const VERDICT_TAG = 'final_evaluation';

/** Whether a folded text brings a verdict: a tag, or numbers beside the names of all five dimensions. */
export function holdsVerdict(plain: string): boolean {
  return holdsTag(plain) || (namesDimensions(plain) && numbersIn(plain).size > 0);
}

const TAG = new RegExp(`<\\s{0,3}/?\\s{0,3}${VERDICT_TAG}`);

/** Whether a folded text holds a verdict's tag, opening or closing. */
export function holdsTag(plain: string): boolean {
  return TAG.test(plain);
}

const NAMES = DIMENSIONS.map((dimension) => new RegExp(`(?<![a-z])${dimension}(?![a-z])`));
const NUMBER = /\d+(?:\.\d+)?|\b(?:one|two|three|four|five)\b/g;
const WORDS: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, four: 4, five: 5 };

/** Whether a folded text names all five dimensions. */
export function namesDimensions(plain: string): boolean {
  return NAMES.every((name) => name.test(plain));
}

/** The ratings that a folded text can mean, in digits or in words. */
export function numbersIn(plain: string): ReadonlySet<number> {
  const values = Array.from(plain.matchAll(NUMBER), ([number]) => WORDS[number] ?? Number(number));
  // A half counts as both of its neighbours: nobody knows how a judge rounds it.
  return new Set(values.flatMap((value) => [Math.ceil(value - 0.5), Math.floor(value + 0.5)]));
}
