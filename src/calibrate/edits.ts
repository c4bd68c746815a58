// Small changes to a text that make it wrong: a state turned, a number changed, a word put in another's place.

import { present } from '../present.js';
import { drawn, type Random } from '../random.js';

/** One change, and what stood in its place. */
export interface Edit {
  readonly kind: 'state' | 'number' | 'word';
  readonly start: number;
  readonly old: string;
  readonly text: string;
  /** Whether it is a part of a name or path, and no word of a sentence. */
  readonly isSpecific: boolean;
}

/** Every single change that the text admits. @param words what can stand in the place of another word */
export function editsOf(text: string, words: readonly string[], random: Random): Edit[] {
  const open = masked(text);
  return [...stateEdits(open), ...numberEdits(open, random), ...wordEdits(open, words, random)];
}

export function applied(text: string, { start, old, text: replacement }: Edit): string {
  return text.slice(0, start) + replacement + text.slice(start + old.length);
}

/**
 * Times, dates, hashes, addresses of memory, unique ids, and the numbers that lists and editors put before lines: changed, they would be
 * no fault.
 */
const NO_FAULT =
  /\b\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?\b|\b\d{4}-\d\d-\d\d\b|\b(?=[a-f]*\d)[0-9a-f]{7,}\b|\b0x[0-9a-f]+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|^\s*\d+(?=[\t:])|^\s*\[\d+\]|\bid=\d+/gim;

/** The text with such parts blotted out, everything else in its place. */
function masked(text: string): string {
  return text.replace(NO_FAULT, blot);
}

const STATES = [
  ['true', 'false'],
  ['True', 'False'],
  ['ok', 'FAIL'],
  ['PASSED', 'FAILED'],
  ['enabled', 'disabled'],
  ['checked', 'not-checked'],
  ['active', 'inactive'],
  ['success', 'failure'],
  // Such words mean states where they stand alone.
  ['"On"', '"Off"'],
  ['"on"', '"off"'],
  ['"yes"', '"no"'],
  ['"open"', '"closed"'],
  ["'open'", "'closed'"],
] as const;
const OTHER_STATE: ReadonlyMap<string, string> = new Map(
  STATES.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]),
);
const STATE = new RegExp(`(?<![\\w-])(?:${[...OTHER_STATE.keys()].join('|')})(?![\\w=-])`, 'g');

function stateEdits(text: string): Edit[] {
  return Array.from(text.matchAll(STATE), ({ 0: old, index }) => ({
    kind: 'state',
    start: index,
    old,
    text: present(OTHER_STATE.get(old)),
    isSpecific: false,
  }));
}

/** Numbers that count or measure something; not those of coordinates, versions, paths and the like. */
const NUMBER = /(?<![\p{L}\p{N}_.,:/\-#@([])\d{1,9}(?:\.\d{1,2})?(?![\p{L}\p{N}_:/\-)\]]|[.,]\d)/gu;

function numberEdits(text: string, random: Random): Edit[] {
  return Array.from(text.matchAll(NUMBER), ({ 0: old, index }) => ({
    kind: 'number',
    start: index,
    old,
    text: otherNumber(old, random),
    isSpecific: old.length > 2,
  }));
}

/** Another number of as many digits, far enough from the first to be no rounding. */
function otherNumber(number: string, random: Random): string {
  const first = Number(number.charAt(0));
  // Of the digits 1 to 9, one that is at least 2 from the first.
  const others = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((digit) => Math.abs(digit - first) >= 2);
  return `${drawn(others, random)}${number.slice(1)}`;
}

/** Neither a letter behind a backslash nor the label at a line's start begins a word. */
const WORD = /(?<![\p{L}\p{N}_\\])(?!(?<=^[ \t]*)\p{Lu}\w*:)\p{L}[\p{L}\p{N}_]{3,}/gmu;

function wordEdits(text: string, words: readonly string[], random: Random): Edit[] {
  if (words.length === 0) return [];
  return Array.from(spoken(text).matchAll(WORD), ({ 0: old, index }) => ({
    kind: 'word',
    start: index,
    old,
    text: inCaseOf(old, drawn(words, random)),
    isSpecific:
      /[\w/.:'"<>-]/.test(text.charAt(index - 1)) ||
      /[\w/:'"<>-]|\.\w/.test(text.slice(index + old.length).slice(0, 2)),
  }));
}

/** What stands in quotation marks or between the tags of an element. */
const QUOTED = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"(?!\s*:)|>[^<>\n]+</g;
/** A row of a table whose cells are parted by tabs: kind of element, name, text and more. */
const ROW = /^([^\t\n]*)(\t[^\t\n]*\t[^\t\n]*)(\t[^\n]*\t[^\n]*)$/gm;

/** An element that says nothing; its number may be blotted out. */
const MUTE = /^\s*(?:<\w|\[\d+\]|\0)/;

/** The text with everything else blotted out; where a line has nothing of that kind and is no element, all of it is said. */
function spoken(text: string): string {
  const rows = text.replace(ROW, (_, kind: string, said: string, rest: string) => blot(kind) + said + blot(rest));
  return rows.replace(/.+/g, (line) => {
    const said = Array.from(line.matchAll(QUOTED)).filter(([part]) => /\p{L}{4}/u.test(part));
    if (said.length === 0) return MUTE.test(line) ? blot(line) : line;
    let kept = '';
    for (const { 0: part, index } of said) kept += blot(line.slice(kept.length, index)) + part;
    return kept + blot(line.slice(kept.length));
  });
}

function blot({ length }: string): string {
  return '\0'.repeat(length);
}

function inCaseOf(old: string, word: string): string {
  if (old === old.toUpperCase()) return word.toUpperCase();
  const isCapital = old.charAt(0) !== old.charAt(0).toLowerCase();
  return isCapital ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}
