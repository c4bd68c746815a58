// Texts in pieces, to be counted each for itself: no time may grow with the square of a text, and what two texts begin with is counted once.

import { textsOf } from '../../core/question.js';
import type { Question } from '../../core/types.js';

/** Texts are cut into pieces of at most so many characters. */
const LONGEST = 2_048;

/**
 * The pieces of a text. A cut comes behind a newline, or else before a space, between what is no white space: no token in use reaches
 * over that. Where there is none, the two pieces may have a token more than the whole. Texts that begin alike have their first pieces
 * in common.
 */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > LONGEST) {
    const end = cutIn(text, start + LONGEST / 2, start + LONGEST);
    pieces.push(text.slice(start, end));
    start = end;
  }
  pieces.push(text.slice(start));
  return pieces;
}

function cutIn(text: string, first: number, last: number): number {
  for (let at = text.lastIndexOf('\n', last - 1); at >= first; at = text.lastIndexOf('\n', at - 1)) {
    if (/\S/.test(text.charAt(at + 1))) return at + 1;
  }
  for (let at = text.lastIndexOf(' ', last); at >= first; at = text.lastIndexOf(' ', at - 1)) {
    if (/\S \S/.test(text.slice(at - 1, at + 2))) return at;
  }
  // A pair of surrogates is not torn apart.
  return /[\ud800-\udbff]/.test(text.charAt(last - 1)) ? last - 1 : last;
}

interface Size {
  /** Not rounded. */
  readonly tokens: number;
  /** Those at the start that the question before has in common with this one, to within a piece: a prefix cache holds them. */
  readonly sharedTokens: number;
}

/**
 * Sizes of questions, each against the one before it: turns of a trajectory follow each other and begin alike, so that what they
 * share is counted once.
 */
export function openSizes(count: (text: string) => number): (question: Question) => Size {
  let before: readonly { readonly text: string; readonly tokens: number }[] = [];
  return (question) => {
    let isShared = true;
    let [tokens, sharedTokens] = [0, 0];
    before = textsOf(question)
      .flatMap(piecesOf)
      .map((text, place) => {
        const known = before[place];
        const piece = known?.text === text ? known : { text, tokens: count(text) };
        tokens += piece.tokens;
        if (isShared) sharedTokens += piece.tokens * sharedPart(text, known?.text);
        isShared &&= piece === known;
        return piece;
      });
    return { tokens, sharedTokens };
  };
}

/** How much of a text another one begins with, 0 to 1. */
function sharedPart(text: string, other = ''): number {
  if (other.startsWith(text)) return 1;
  let at = 0;
  while (at < text.length && text.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at / text.length;
}

/** So many characters of a kind are counted in full, and then a part of the texts that follow. */
const COUNTED_IN_FULL = 400_000;
const PART_COUNTED = 16;

/**
 * Counts for estimates: a tokenizer counts about a MB a second, so of much text only a part is counted, and the rest taken for as many
 * tokens a character. `kindOf` tells of what kind the text is that is counted now.
 */
export function openSample(count: (text: string) => number, kindOf: () => string): (text: string) => number {
  const kinds = new Map<string, { texts: number; characters: number; tokens: number }>();
  return (text) => {
    const sums = kinds.get(kindOf()) ?? { texts: 0, characters: 0, tokens: 0 };
    kinds.set(kindOf(), sums);
    if (sums.characters >= COUNTED_IN_FULL && sums.texts++ % PART_COUNTED > 0) {
      return (text.length * sums.tokens) / sums.characters;
    }
    const tokens = count(text);
    sums.characters += text.length;
    sums.tokens += tokens;
    return tokens;
  };
}
