// What differs between a ground truth and a prediction: line by line, and within changed lines word by word.

import { equalRuns } from './difference-runs.js';

/** Changed parts of a line as offsets (UTF-16 units): start, end, start, end ... */
export type Ranges = readonly number[];

/**
 * A step through both texts, in order: `n` lines that are equal; `-` n lines of the truth alone; `+` n lines of the prediction
 * alone; `~` one line of each, with what changed in either.
 */
export type Step = number | readonly ['-' | '+', number] | readonly ['~', Ranges, Ranges];

/** A changed line is looked for among so many lines of the prediction. */
const LOOKED_AT = 50;
/** Lines that share less of their words than this are not one line changed. */
const LEAST_SHARED = 0.4;
/** Words above which a line is not searched for words. */
const MOST_WORDS = 20_000;

/** The steps that lead from the truth to the prediction, both split at line feeds. Time stays near linear for texts of any kind. */
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

/** Steps through a block of lines of which none is equal in place: each becomes the next one that is similar to it, if there is one. */
function changedLines(a: readonly string[][], b: readonly string[][]): Step[] {
  const steps: Step[] = [];
  let [atA, atB] = [0, 0];
  const alone = (toA: number, toB: number) => {
    if (toA > atA) steps.push(['-', toA - atA]);
    if (toB > atB) steps.push(['+', toB - atB]);
    [atA, atB] = [toA + 1, toB + 1];
  };
  for (const [at, words] of a.entries()) {
    const similar = b.slice(atB, atB + LOOKED_AT).findIndex((other) => sharedWords(words, other) >= LEAST_SHARED);
    if (similar < 0) continue;
    const other = atB + similar;
    alone(at, other);
    steps.push(['~', ...changedWords(words, b[other] ?? [])]);
  }
  alone(a.length, b.length);
  return steps;
}

/** A line in words, stretches of white space, and single other characters: joined, they are the line. */
function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** How much of two lines' words (white space apart) is shared: 0 to 1 (Dice). */
function sharedWords(a: readonly string[], b: readonly string[]): number {
  const left = new Map<string, number>();
  const [ownA, ownB] = [a, b].map((words) => words.filter((word) => word.trim() !== ''));
  for (const word of ownA ?? []) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of ownB ?? []) {
    const count = left.get(word) ?? 0;
    if (count > 0) shared++;
    left.set(word, count - 1);
  }
  const total = (ownA?.length ?? 0) + (ownB?.length ?? 0);
  // Lines of white space alone differ in nothing else.
  return total === 0 ? 1 : (2 * shared) / total;
}

/** What changed between the words of two lines: outside of the ranges both have the same text. */
function changedWords(a: readonly string[], b: readonly string[]): [number[], number[]] {
  const runs = a.length + b.length > MOST_WORDS ? [] : equalRuns(a, b);
  const ranges: [number[], number[]] = [[], []];
  const [placesA, placesB] = [placesOf(a), placesOf(b)];
  let [doneA, doneB] = [0, 0];
  for (const [at, run] of [...runs, { a: a.length, b: b.length, length: 0 }].entries()) {
    // A space between two changes is part of the change: words are read together.
    const isSpace =
      at > 0 && run.length === 1 && a[run.a]?.trim() === '' && run.a + 1 < a.length && run.b + 1 < b.length;
    if (isSpace) continue;
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
