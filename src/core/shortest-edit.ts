// The shortest edit that leads from one list to another.

/** Edits that the search goes through between two anchors before it takes all of it for changed. */
const MAX_EDITS = 400;

/** Where a run of equal entries stands in either list. */
export interface Run {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

/** The equal runs of a shortest edit from a to b; those at both ends alone where more than `MAX_EDITS` would be needed. */
export function shortestEdit(a: Int32Array, b: Int32Array): Run[] {
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
