// What changed within a line, word by word.

import { numbered } from './difference-runs.js';
import { shortestEdit } from './shortest-edit.js';

/** Words above which a line is not searched for words. */
const MAX_WORDS = 20_000;

/** A line in words, stretches of white space, and single other characters: joined, they are the line. */
export function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** How much of two lines' words (white space apart) is shared: 0 to 1 (Dice). */
export function sharedWords(a: readonly string[] = [], b: readonly string[] = []): number {
  const counts = new Map<string, number>();
  let total = 0;
  for (const word of a) {
    if (word.trim() === '') continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
    total++;
  }
  let shared = 0;
  for (const word of b) {
    if (word.trim() === '') continue;
    total++;
    const left = counts.get(word) ?? 0;
    if (left === 0) continue;
    counts.set(word, left - 1);
    shared++;
  }
  // Lines of white space alone differ in nothing else.
  return total === 0 ? 1 : (2 * shared) / total;
}

/** What changed between the words of two lines: outside of the ranges both have the same text. */
export function changedWords(wordsA: readonly string[], wordsB: readonly string[]): [number[], number[]] {
  const [lengthA, lengthB] = [lengthOf(wordsA), lengthOf(wordsB)];
  if (wordsA.length + wordsB.length > MAX_WORDS) return [whole(lengthA), whole(lengthB)];
  const runs = shortestEdit(...numbered(wordsA, wordsB));
  const ranges: [number[], number[]] = [[], []];
  let [doneA, doneB, offsetA, offsetB] = [0, 0, 0, 0];
  let changedA = 0;
  let changedB = 0;
  const close = () => {
    if (offsetA > changedA) ranges[0].push(changedA, offsetA);
    if (offsetB > changedB) ranges[1].push(changedB, offsetB);
  };
  for (const [index, run] of runs.entries()) {
    offsetA += lengthOf(wordsA.slice(doneA, run.a));
    offsetB += lengthOf(wordsB.slice(doneB, run.b));
    const text = wordsA.slice(run.a, run.a + run.length).join('');
    [doneA, doneB] = [run.a + run.length, run.b + run.length];
    // A space between two changes is part of the change: words are read together.
    const joins = index > 0 && doneA < wordsA.length && doneB < wordsB.length && text.trim() === '';
    if (!joins) close();
    offsetA += text.length;
    offsetB += text.length;
    if (!joins) [changedA, changedB] = [offsetA, offsetB];
  }
  offsetA = lengthA;
  offsetB = lengthB;
  close();
  return ranges;
}

function lengthOf(words: readonly string[]): number {
  let length = 0;
  for (const word of words) length += word.length;
  return length;
}

function whole(length: number): number[] {
  return length === 0 ? [] : [0, length];
}
