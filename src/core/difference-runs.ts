// Where two lists are equal: runs of equal entries, anchored at those that stand once in either list.

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
function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
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

// The shortest edit that leads from one list to another.

/** Edits that the search goes through between two anchors before it takes all of it for changed. */
const MAX_EDITS = 400;

/** Where a run of equal entries stands in either list. */
interface Run {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

/** The equal runs of a shortest edit from a to b; those at both ends alone where more than `MAX_EDITS` would be needed. */
function shortestEdit(a: Int32Array, b: Int32Array): Run[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = editMiddle(a.subarray(head, a.length - tail), b.subarray(head, b.length - tail));
  return [
    { a: 0, b: 0, length: head },
    ...middle.map((run) => ({ ...run, a: run.a + head, b: run.b + head })),
    { a: a.length - tail, b: b.length - tail, length: tail },
  ].filter((run) => run.length > 0);
}

function editMiddle(a: Int32Array, b: Int32Array): Run[] {
  const limit = Math.min(MAX_EDITS, a.length + b.length);
  if (a.length === 0 || b.length === 0) return [];
  // furthest[k + limit + 1]: how far in a the diagonal k = x - y has been followed; trail: a copy of it for each number of edits.
  const furthest = new Int32Array(2 * limit + 3);
  const at = (k: number) => k + limit + 1;
  const trail: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits++) {
    trail.push(furthest.slice(at(-edits) - 1, at(edits) + 2));
    for (let k = -edits; k <= edits; k += 2) {
      let x = startOf(furthest, at(k), k, edits);
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[at(k)] = x;
      if (x >= a.length && x - k >= b.length) return followBack(trail, a.length, b.length);
    }
  }
  return [];
}

/** Where a diagonal is entered: from below (a line added) or from the left (a line removed), whichever leads further. */
function startOf(furthest: Int32Array, index: number, k: number, edits: number): number {
  // There is an entry to either side of a diagonal: the list begins one before the first and ends one behind the last.
  return isFromBelow(furthest, index, k, edits) ? (furthest[index + 1] as number) : (furthest[index - 1] as number) + 1;
}

function isFromBelow(furthest: Int32Array, index: number, k: number, edits: number): boolean {
  // There is an entry to either side, as in `startOf`.
  return k === -edits || (k !== edits && (furthest[index - 1] as number) < (furthest[index + 1] as number));
}

function followBack(trail: readonly Int32Array[], lengthA: number, lengthB: number): Run[] {
  const runs: Run[] = [];
  let x = lengthA;
  let y = lengthB;
  for (const [edits, furthest] of [...trail.entries()].reverse()) {
    const k = x - y;
    const start = edits === 0 ? 0 : startOf(furthest, k + edits + 1, k, edits);
    if (x > start) runs.push({ a: start, b: start - k, length: x - start });
    if (edits === 0) break;
    const fromBelow = isFromBelow(furthest, k + edits + 1, k, edits);
    x = fromBelow ? start : start - 1;
    y = fromBelow ? start - k - 1 : start - k;
  }
  return runs.reverse();
}
