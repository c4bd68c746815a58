// How a ground truth and a prediction differ: line by line, and word by word within changed lines.

import { equalRuns } from './edits.js';
import { common } from './groups.js';

/** Changed parts of a line as offsets (UTF-16 units): start, end, start, end ... */
export type Ranges = readonly number[];

/**
 * A step through both texts, in order: `n` equal lines; `-` n lines only in the truth; `+` n lines only in the prediction; `~` one line
 * of each, with the changed parts of both.
 */
export type Step = number | readonly ['-' | '+', number] | readonly ['~', Ranges, Ranges];

/** How many lines ahead to look for a similar one. */
const LOOKED_AT = 50;
/** Lines that share a smaller part of their words than this are not treated as one changed line. */
const LEAST_SHARED = 0.4;
/** Lines with more words than this are not compared word by word. */
const MOST_WORDS = 20_000;

/** The steps that lead from the truth to the prediction, both split at line feeds. Time is near linear for any text. */
export function difference(truth: string, prediction: string): Step[] {
  const a = truth.split('\n');
  const b = prediction.split('\n');
  const steps: Step[] = [];
  let [atA, atB] = [0, 0];
  for (const run of [...equalRuns(a, b), { a: a.length, b: b.length, length: 0 }]) {
    steps.push(...changedLines(a.slice(atA, run.a).map(wordsOf), b.slice(atB, run.b).map(wordsOf)));
    if (run.length > 0) steps.push(run.length);
    [atA, atB] = [run.a + run.length, run.b + run.length];
  }
  return steps;
}

/** Steps through a block of lines without equal ones in place: similar lines become changed lines. */
function changedLines(a: readonly string[][], b: readonly string[][]): Step[] {
  const steps: Step[] = [];
  let [atA, atB] = [0, 0];
  const alone = (toA: number, toB: number) => {
    if (toA > atA) steps.push(['-', toA - atA]);
    if (toB > atB) steps.push(['+', toB - atB]);
    [atA, atB] = [toA + 1, toB + 1];
  };
  const [ownA, ownB] = [a.map(withoutBlanks), b.map(withoutBlanks)];
  for (const [pairA, pairB] of pairsOf(ownA, ownB)) {
    alone(pairA, pairB);
    steps.push(['~', ...changedWords(a[pairA] ?? [], b[pairB] ?? [])]);
  }
  alone(a.length, b.length);
  return steps;
}

/** Which lines of a changed into which of b, in rising order: each pairs with the next similar line, if there is one. */
function pairsOf(a: readonly string[][], b: readonly string[][]): (readonly [number, number])[] {
  let atB = 0;
  return a.flatMap((words, i) => {
    const ahead = b.slice(atB, atB + LOOKED_AT).findIndex((other) => sharedWords(words, other) >= LEAST_SHARED);
    if (ahead < 0) return [];
    atB += ahead + 1;
    return [[i, atB - 1] as const];
  });
}

/** A line split into words, runs of white space, and single other characters; joined, they give the line. */
function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function withoutBlanks(words: readonly string[]): string[] {
  return words.filter((word) => word.trim() !== '');
}

/** The share of words that two lines have in common, from 0 to 1 (Dice); 0 if their lengths already keep it below `LEAST_SHARED`. */
function sharedWords(a: readonly string[] = [], b: readonly string[] = []): number {
  const total = a.length + b.length;
  // Lines of only white space do not differ otherwise.
  if (total === 0) return 1;
  if (2 * Math.min(a.length, b.length) < LEAST_SHARED * total) return 0;
  return (2 * common(a, b).length) / total;
}

/** What changed between the words of two lines: outside the ranges, both have the same text. */
function changedWords(a: readonly string[], b: readonly string[]): [number[], number[]] {
  const runs = a.length + b.length > MOST_WORDS ? [] : equalRuns(a, b);
  const ranges: [number[], number[]] = [[], []];
  const [placesA, placesB] = [placesOf(a), placesOf(b)];
  let [doneA, doneB] = [0, 0];
  for (const run of [...runs, { a: a.length, b: b.length, length: 0 }]) {
    for (const [side, places, from, to] of [[0, placesA, doneA, run.a] as const, [1, placesB, doneB, run.b] as const]) {
      const [start = 0, end = 0] = [places[from], places[to]];
      if (end > start) ranges[side].push(start, end);
    }
    [doneA, doneB] = [run.a + run.length, run.b + run.length];
  }
  return ranges;
}

/** Where each word begins in the line, and where the last one ends. */
function placesOf(words: readonly string[]): number[] {
  let end = 0;
  return [0, ...words.map(({ length }) => (end += length))];
}
