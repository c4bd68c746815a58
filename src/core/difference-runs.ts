// Where two lists are equal: runs of equal entries, anchored at those that stand once in either list.

import { type Run, shortestEdit } from './shortest-edit.js';

/** Runs of equal entries, in order and apart from each other. */
export function equalRuns(a: readonly string[], b: readonly string[]): Run[] {
  const [numbersA, numbersB] = numbered(a, b);
  const runs: Run[] = [];
  let atA = 0;
  let atB = 0;
  for (const [anchorA, anchorB] of [...anchors(numbersA, numbersB), [a.length, b.length] as const]) {
    if (anchorA < atA || anchorB < atB) continue;
    addRuns(runs, shortestEdit(numbersA.subarray(atA, anchorA), numbersB.subarray(atB, anchorB)), atA, atB);
    if (anchorA < a.length) addRuns(runs, [{ a: 0, b: 0, length: 1 }], anchorA, anchorB);
    atA = anchorA + 1;
    atB = anchorB + 1;
  }
  return runs;
}

/** Adds runs that count from an offset; one that touches the last one continues it. */
function addRuns(runs: Run[], more: readonly Run[], fromA: number, fromB: number): void {
  for (const { a, b, length } of more) {
    const last = runs.at(-1);
    const continues = last !== undefined && last.a + last.length === a + fromA && last.b + last.length === b + fromB;
    if (continues) runs[runs.length - 1] = { ...last, length: last.length + length };
    else runs.push({ a: a + fromA, b: b + fromB, length });
  }
}

/** Both lists as numbers, equal ones for equal texts. */
export function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  return [Int32Array.from(a, numberOf), Int32Array.from(b, numberOf)];
}

/** An entry that stands once in either list, and the one before it in the longest rising series that it ends. */
interface Pair {
  readonly a: number;
  readonly b: number;
  before: Pair | undefined;
}

/** Entries that stand once in either list, as index pairs: the longest series that rises in both. */
function anchors(a: Int32Array, b: Int32Array): (readonly [number, number])[] {
  const [onceA, onceB] = [placesOfSingles(a), placesOfSingles(b)];
  const pairs = [...onceA].flatMap(([value, at]): Pair[] => {
    const other = onceB.get(value);
    return other === undefined ? [] : [{ a: at, b: other, before: undefined }];
  });
  // Patience sorting: `tops` holds, by length, the pair that ends a rising series of that length lowest in b.
  const tops: Pair[] = [];
  for (const pair of pairs) {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const top = tops[middle];
      if (top !== undefined && top.b < pair.b) low = middle + 1;
      else high = middle;
    }
    pair.before = tops[low - 1];
    tops[low] = pair;
  }
  const series: (readonly [number, number])[] = [];
  for (let pair = tops.at(-1); pair !== undefined; pair = pair.before) series.push([pair.a, pair.b]);
  return series.reverse();
}

function placesOfSingles(values: Int32Array): Map<number, number> {
  const places = new Map<number, number>();
  const repeated = new Set<number>();
  for (const [index, value] of values.entries()) {
    if (places.has(value)) repeated.add(value);
    places.set(value, index);
  }
  for (const value of repeated) places.delete(value);
  return places;
}
