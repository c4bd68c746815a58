// What differs between a ground truth and a prediction: line by line, and within changed lines word by word.

import { equalRuns } from './difference-runs.js';
import type { Step } from './difference-step.js';
import { changedWords, sharedWords, wordsOf } from './difference-words.js';

/** Cells above which lines are paired in their order. */
const MAX_PAIRINGS = 10_000;
/** Lines that share less of their words than this are not one line changed. */
const LEAST_SHARED = 0.4;

/**
 * The steps that lead from the truth to the prediction, both split at line feeds. Lines that stand once in either text anchor
 * the search (patience diff, B. Cohen); between them the shortest edit is searched for (Myers, "An O(ND) Difference Algorithm
 * and Its Variations", Algorithmica 1, 1986), up to a bound, so that the time stays near linear for texts of any kind.
 */
export function difference(truth: string, prediction: string): Step[] {
  const a = truth.split('\n');
  const b = prediction.split('\n');
  const steps: Step[] = [];
  let atA = 0;
  let atB = 0;
  for (const run of [...equalRuns(a, b), { a: a.length, b: b.length, length: 0 }]) {
    steps.push(...changedLines(a.slice(atA, run.a), b.slice(atB, run.b)));
    if (run.length > 0) steps.push(run.length);
    atA = run.a + run.length;
    atB = run.b + run.length;
  }
  return steps;
}

/** Steps through a block of lines of which none is equal in place: similar ones become changed lines. */
function changedLines(a: readonly string[], b: readonly string[]): Step[] {
  const steps: Step[] = [];
  let atA = 0;
  let atB = 0;
  const alone = (toA: number, toB: number) => {
    if (toA > atA) steps.push(['-', toA - atA]);
    if (toB > atB) steps.push(['+', toB - atB]);
  };
  const [wordsA, wordsB] = [a.map(wordsOf), b.map(wordsOf)];
  for (const [pairA, pairB] of pairsOf(wordsA, wordsB)) {
    alone(pairA, pairB);
    steps.push(['~', ...changedWords(wordsA[pairA] ?? [], wordsB[pairB] ?? [])]);
    atA = pairA + 1;
    atB = pairB + 1;
  }
  alone(a.length, b.length);
  return steps;
}

/** Which lines of a are changed into which of b: in rising order, with the most words shared in all. */
function pairsOf(a: readonly string[][], b: readonly string[][]): (readonly [number, number])[] {
  if (a.length * b.length > MAX_PAIRINGS) {
    const length = Math.min(a.length, b.length);
    return Array.from({ length }, (_, i) => [i, i] as const).filter(([i]) => sharedWords(a[i], b[i]) >= LEAST_SHARED);
  }
  const width = b.length + 1;
  // best[i * width + j]: the most that lines from i of a and from j of b can share. Cells of the last row and column stay 0.
  const best = new Float64Array((a.length + 1) * width);
  // What a line of each would add, if they were paired; too little to be one line changed is less than nothing.
  const shared = new Float64Array((a.length + 1) * width);
  const ifPaired = (cell: number) => (shared[cell] ?? 0) + (best[cell + width + 1] ?? 0);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const cell = i * width + j;
      const share = sharedWords(a[i], b[j]);
      shared[cell] = share >= LEAST_SHARED ? share : -1;
      best[cell] = Math.max(best[cell + width] ?? 0, best[cell + 1] ?? 0, ifPaired(cell));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const cell = i * width + j;
    if (best[cell] === ifPaired(cell) && (shared[cell] ?? 0) >= 0) pairs.push([i++, j++]);
    else if (best[cell] === best[cell + width]) i++;
    else j++;
  }
  return pairs;
}
