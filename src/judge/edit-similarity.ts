// How alike two texts are by the edits between them.

import { encode } from '../symbols.js';

/** `1 - d / max(m, n)` times 100, with d the Levenshtein distance over code points. One of the texts must not be empty. */
export function editSimilarity(prediction: string, truth: string): number {
  const { p, t, alphabet } = encode(prediction, truth);
  const longer = Math.max(p.length, t.length);
  return (100 * (longer - editDistance(p, t, alphabet))) / longer;
}

/**
 * Levenshtein distance, exact: the bit-parallel algorithm of Myers (J. ACM 46(3), 1999) in the block form of
 * Hyyrö (Nordic J. Computing 10, 2003), after cutting what both texts start and end with.
 *
 * One block of 32 rows is carried over all columns before the next begins, so that the match table holds the symbols of
 * one block only and memory stays linear even for texts with a large alphabet.
 */
function editDistance(first: Int32Array, second: Int32Array, alphabet: number): number {
  const [a, b] = trimCommon(first, second);
  const [rows, columns] = a.length <= b.length ? [a, b] : [b, a];
  if (rows.length === 0) {
    return columns.length;
  }
  const matches = new Int32Array(alphabet);
  // The step from one column to the next on the row above the block: bit 0 says +1, bit 1 says -1.
  const steps = new Uint8Array(columns.length).fill(1);
  for (let start = 0; start < rows.length; start += 32) {
    const block = rows.subarray(start, start + 32);
    for (const [row, symbol] of block.entries()) {
      // Symbols are numbered from 0 to below `alphabet`, which is the table's length.
      matches[symbol] = (matches[symbol] as number) | (1 << row);
    }
    crossBlock(columns, matches, block.length - 1, steps);
    for (const symbol of block) {
      matches[symbol] = 0;
    }
  }
  let distance = rows.length;
  for (const step of steps) {
    distance += (step & 1) - (step >> 1);
  }
  return distance;
}

/** Carries one block of rows over all columns; `steps` holds the row above the block before, the block's last row after. */
function crossBlock(columns: Int32Array, matches: Int32Array, lastRow: number, steps: Uint8Array): void {
  let up = -1;
  let down = 0;
  for (let column = 0; column < columns.length; column++) {
    // `steps` is as long as `columns`, and their symbols are places in the table; the loop is too hot for checks.
    const step = steps[column] as number;
    // The same holds here.
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

function trimCommon(a: Int32Array, b: Int32Array): readonly [Int32Array, Int32Array] {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) {
    head++;
  }
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) {
    tail++;
  }
  return [a.subarray(head, a.length - tail), b.subarray(head, b.length - tail)];
}
