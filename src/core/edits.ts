// Edits that lead from one list to another: what stays equal (anchored at entries that occur once in each list), how many edits there
// are, and the known name nearest to a wrong one.

import { encode, numbered } from './chrf.js';
import { groupBy } from './groups.js';

/** Runs of equal entries, in order and separated. */
export function equalRuns(a: readonly string[], b: readonly string[]): Run[] {
  const known = new Map<string, number>();
  const [numbersA, numbersB] = [numbered(a, known), numbered(b, known)];
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

/** Adds runs that count from an offset; a run that touches the last one extends it. */
function addRuns(runs: Run[], more: readonly Run[], fromA: number, fromB: number): void {
  for (const { a, b, length } of more) {
    const last = runs.at(-1);
    const continues = last !== undefined && last.a + last.length === a + fromA && last.b + last.length === b + fromB;
    if (continues) runs[runs.length - 1] = { ...last, length: last.length + length };
    else runs.push({ a: a + fromA, b: b + fromB, length });
  }
}

/** An entry that occurs once in each list, and the one before it in the longest rising series that it ends. */
interface Pair {
  readonly a: number;
  readonly b: number;
  before: Pair | undefined;
}

/** Entries that occur once in each list, as index pairs: the longest series that rises in both. */
function anchors(a: Int32Array, b: Int32Array): (readonly [number, number])[] {
  const [onceA, onceB] = [placesOfSingles(a), placesOfSingles(b)];
  const pairs = [...onceA].flatMap(([value, at]): Pair[] => {
    const other = onceB.get(value);
    return other === undefined ? [] : [{ a: at, b: other, before: undefined }];
  });
  // Patience sorting: `tops` contains, by length, the pair that ends a rising series of that length lowest in b.
  const tops: Pair[] = [];
  for (const pair of pairs) {
    const below = tops.findLastIndex((top) => top.b < pair.b);
    pair.before = tops[below];
    tops[below + 1] = pair;
  }
  const series: (readonly [number, number])[] = [];
  for (let pair = tops.at(-1); pair !== undefined; pair = pair.before) series.push([pair.a, pair.b]);
  return series.reverse();
}

function placesOfSingles(values: Int32Array): Map<number | undefined, number> {
  const groups = groupBy(values.keys(), (at) => values[at]);
  return new Map([...groups].flatMap(([value, [at, other]]) => (other === undefined ? [[value, at] as const] : [])));
}

// The shortest edit that leads from one list to another.

/** How many edits the search tries between two anchors before it treats everything between them as changed. */
const MAX_EDITS = 400;

/** Where a run of equal entries is in each list. */
interface Run {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

/** The equal runs of a shortest edit from a to b; only those at both ends if more than `MAX_EDITS` would be needed. */
function shortestEdit(a: Int32Array, b: Int32Array): Run[] {
  const [head, tail] = commonEnds(a, b);
  const middle = editMiddle(a.subarray(head, a.length - tail), b.subarray(head, b.length - tail));
  return [
    { a: 0, b: 0, length: head },
    ...middle.map((run) => ({ ...run, a: run.a + head, b: run.b + head })),
    { a: a.length - tail, b: b.length - tail, length: tail },
  ].filter((run) => run.length > 0);
}

/** How many entries both lists begin with, and how many others they end with. */
function commonEnds(a: Int32Array, b: Int32Array): readonly [head: number, tail: number] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  return [head, tail];
}

/** How far a diagonal was followed in a, its last run of equal entries, and the path that led there. */
interface Way {
  readonly x: number;
  readonly run?: Run;
  readonly before?: Way | undefined;
}

function editMiddle(a: Int32Array, b: Int32Array): Run[] {
  const limit = Math.min(MAX_EDITS, a.length + b.length);
  if (a.length === 0 || b.length === 0) return [];
  // By diagonal k = x - y. A diagonal is entered from below (a line added) or from the left (a line removed), whichever leads further.
  const furthest = new Map<number, Way>([[1, { x: 0 }]]);
  for (let edits = 0; edits <= limit; edits++) {
    for (let k = -edits; k <= edits; k += 2) {
      const [left, below] = [furthest.get(k - 1), furthest.get(k + 1)];
      // Both neighbours of a diagonal have a path, except for the outermost diagonals, which have one neighbour towards the middle.
      const isFromBelow = left === undefined || (below !== undefined && left.x < below.x);
      const before = isFromBelow ? below : left;
      const start = (before?.x ?? 0) + (isFromBelow ? 0 : 1);
      let x = start;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      const way = x > start ? { x, run: { a: start, b: start - k, length: x - start }, before } : { x, before };
      if (x >= a.length && x - k >= b.length) return runsOf(way);
      furthest.set(k, way);
    }
  }
  return [];
}

function runsOf(last: Way): Run[] {
  const runs: Run[] = [];
  for (let way: Way | undefined = last; way !== undefined; way = way.before) if (way.run) runs.push(way.run);
  return runs.reverse();
}

// How many edits lead from one list to another.

/**
 * Levenshtein distance, exact: the bit-parallel algorithm of Myers (J. ACM 46(3), 1999) in the block form of Hyyrö (Nordic J. Computing
 * 10, 2003), after removing common ends. One block of 32 rows is carried over all columns before the next begins, so the match table
 * contains the symbols of only one block and memory stays linear even for a large alphabet.
 */
export function editDistance(first: Int32Array, second: Int32Array, alphabet: number): number {
  const [head, tail] = commonEnds(first, second);
  const [shorter, longer] = first.length <= second.length ? [first, second] : [second, first];
  const rows = shorter.subarray(head, shorter.length - tail);
  const columns = longer.subarray(head, longer.length - tail);
  if (rows.length === 0) return columns.length;
  const matches = new Int32Array(alphabet);
  // The step from one column to the next in the row above the block: bit 0 means +1, bit 1 means -1.
  const steps = new Uint8Array(columns.length).fill(1);
  for (let start = 0; start < rows.length; start += 32) {
    const block = rows.subarray(start, start + 32);
    for (const [row, symbol] of block.entries()) {
      // Symbols are numbered from 0 to below `alphabet`, the table's length.
      matches[symbol] = (matches[symbol] as number) | (1 << row);
    }
    crossBlock(columns, matches, block.length - 1, steps);
    for (const symbol of block) matches[symbol] = 0;
  }
  let distance = rows.length;
  for (const step of steps) distance += (step & 1) - (step >> 1);
  return distance;
}

/** Carries one block of rows over all columns; `steps` is the row above the block on entry and the block's last row on return. */
function crossBlock(columns: Int32Array, matches: Int32Array, lastRow: number, steps: Uint8Array): void {
  let up = -1;
  let down = 0;
  for (let column = 0; column < columns.length; column++) {
    // `steps` is as long as `columns`, and their symbols are indices of the table; the loop is too hot for checks.
    const step = steps[column] as number;
    // As above.
    const match = matches[columns[column] as number] as number;
    const vertical = match | down;
    const reached = match | (step >> 1);
    const diagonal = ((((reached & up) + up) | 0) ^ up) | reached;
    const plus = down | ~(diagonal | up);
    const minus = up & diagonal;
    steps[column] = ((plus >>> lastRow) & 1) | (((minus >>> lastRow) & 1) << 1);
    const plusBelow = (plus << 1) | (step & 1);
    up = (minus << 1) | (step >> 1) | ~(vertical | plusBelow);
    down = plusBelow & vertical;
  }
}

/** The known name nearest to a mistyped one; undefined if none is within a Levenshtein distance of 2 or a third of its length. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const { p, t, alphabet } = encode(name, candidate);
    const distance = editDistance(p, t, alphabet);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}
