// Text metrics of a prediction against the ground truth: what can be said of it without a judge.
import type { Measures } from '../types.js';

/** White space as Python's `str.split` knows it, so that chrF is sacreBLEU's to the last digit (`\s` differs in U+001C to U+001F, U+0085 and U+FEFF). */
const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

const CHRF_ORDER = 6;
const CHRF_BETA = 2;

/**
 * Measures of a prediction against its ground truth, each 0 to 100, both texts without the observation marker:
 *
 * - `exact_match`: 100 where both are the same string, else 0.
 * - `edit_similarity`: `1 - d / max(m, n)`, with d the Levenshtein distance over code points.
 * - `chrf`: chrF2 as sacreBLEU 2 computes it for a sentence (see `chrf` below).
 * - `line_f1`: F1 over the multisets of lines; white space at line ends and blank lines do not count.
 * - `json_f1`: F1 over the multisets of (path, leaf). Only where both are JSON and the truth is an object or an array,
 *   else absent: its mean is over the rows that have it, to be read beside their number.
 *
 * A text of white space alone is empty: an empty prediction rates 0 in every measure that applies, or 100 where the
 * truth is empty as well. Time grows with the product of the lengths (edit distance, 32 cells a step), memory with their sum.
 */
export function measure(prediction: string, truth: string): Measures {
  const bare = { prediction: prediction.replace(WHITE_SPACE, ''), truth: truth.replace(WHITE_SPACE, '') };
  if (bare.prediction === '' || bare.truth === '') {
    const rating = bare.prediction === bare.truth ? 100 : 0;
    return { exact_match: rating, edit_similarity: rating, chrf: rating, line_f1: rating };
  }
  const structural = jsonF1(prediction, truth);
  return {
    exact_match: prediction === truth ? 100 : 0,
    edit_similarity: editSimilarity(prediction, truth),
    chrf: chrf(bare.prediction, bare.truth),
    line_f1: multisetF1(lines(prediction), lines(truth)),
    ...(structural === undefined ? {} : { json_f1: structural }),
  };
}

function editSimilarity(prediction: string, truth: string): number {
  const { p, t, alphabet } = encode(prediction, truth);
  const longer = Math.max(p.length, t.length);
  return (100 * (longer - editDistance(p, t, alphabet))) / longer;
}

/** Both texts as code points, renumbered from 0 without gaps; `alphabet` is how many different ones there are. */
function encode(prediction: string, truth: string): { p: Int32Array; t: Int32Array; alphabet: number } {
  const known = new Map<string, number>();
  const p = number(prediction, known);
  const t = number(truth, known);
  return { p, t, alphabet: known.size };
}

function number(items: Iterable<string>, known: Map<string, number>): Int32Array {
  return Int32Array.from(items, (item) => intern(known, item));
}

/** The number that stands for `key`: its own if it has one, else the next. */
function intern<K>(known: Map<K, number>, key: K): number {
  let id = known.get(key);
  if (id === undefined) {
    id = known.size;
    known.set(key, id);
  }
  return id;
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
    const step = steps[column] as number;
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

/**
 * chrF (Popović, WMT 2015) with sacreBLEU's defaults (nc:6, nw:0, space:no, eff:yes): precision and recall of character
 * n-grams are averaged over those n of 1 to 6 for which both texts have n-grams, and combined as F-beta with beta 2:
 * `(1 + 4) P R / (4 P + R)`. Both texts come without white space, and neither is empty.
 */
function chrf(prediction: string, truth: string): number {
  const { p, t, alphabet } = encode(prediction, truth);
  let [pGrams, tGrams, distinct] = [p, t, alphabet];
  let precision = 0;
  let recall = 0;
  let order = 0;
  while (order < CHRF_ORDER && pGrams.length > 0 && tGrams.length > 0) {
    const common = commonCount(pGrams, tGrams, distinct);
    precision += common / pGrams.length;
    recall += common / tGrams.length;
    order++;
    const known = new Map<number, number>();
    pGrams = lengthen(pGrams, p.subarray(order), alphabet, known);
    tGrams = lengthen(tGrams, t.subarray(order), alphabet, known);
    distinct = known.size;
  }
  return fBeta(precision / order, recall / order);
}

function fBeta(precision: number, recall: number): number {
  const weight = CHRF_BETA ** 2;
  const denominator = weight * precision + recall;
  return denominator === 0 ? 0 : (100 * (1 + weight) * precision * recall) / denominator;
}

/** The n-grams one symbol longer, each as a number that stands for it in both texts; `following` is the symbol behind each. */
function lengthen(grams: Int32Array, following: Int32Array, alphabet: number, known: Map<number, number>): Int32Array {
  return following.map((symbol, at) => intern(known, (grams[at] as number) * alphabet + symbol));
}

function commonCount(first: Int32Array, second: Int32Array, distinct: number): number {
  const left = new Int32Array(distinct);
  for (const gram of first) {
    left[gram] = (left[gram] as number) + 1;
  }
  let common = 0;
  for (const gram of second) {
    const count = left[gram] as number;
    if (count > 0) {
      left[gram] = count - 1;
      common++;
    }
  }
  return common;
}

function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
}

/** F1 = 2 |P ∩ T| / (|P| + |T|) over multisets that are not both empty, times 100. */
function multisetF1(prediction: readonly string[], truth: readonly string[]): number {
  const known = new Map<string, number>();
  const p = number(prediction, known);
  const t = number(truth, known);
  return (200 * commonCount(p, t, known.size)) / (p.length + t.length);
}

function jsonF1(prediction: string, truth: string): number | undefined {
  const wanted = parseJson(truth);
  // A bare scalar has no structure: terminal output such as `42` would otherwise count as JSON.
  if (typeof wanted !== 'object' || wanted === null) {
    return undefined;
  }
  const given = parseJson(prediction);
  if (given === undefined) {
    return undefined;
  }
  const paths = new Map<string, number>();
  return multisetF1(leaves(given, paths), leaves(wanted, paths));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Every leaf with its path. An empty object or array is a leaf. Paths are numbers, drawn from one table for both texts,
 * and the walk keeps its own stack: hostile nesting of any depth costs linear time and memory.
 */
function leaves(root: unknown, paths: Map<string, number>): string[] {
  const found: string[] = [];
  const pending: { readonly path: number; readonly value: unknown }[] = [{ path: intern(paths, ''), value: root }];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const { path, value } = node;
    const kind = Array.isArray(value) ? '[' : '.';
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (entries.length === 0) {
      found.push(`${path} ${JSON.stringify(value)}`);
    }
    for (const [key, child] of entries) {
      pending.push({ path: intern(paths, `${path}${kind}${key}`), value: child });
    }
  }
  return found;
}
