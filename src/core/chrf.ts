// chrF: how many character n-grams two texts share.

import { commonCount, encode, intern } from './symbols.js';

const CHRF_ORDER = 6;
const CHRF_BETA = 2;

/**
 * chrF (Popović, WMT 2015) with sacreBLEU's defaults (nc:6, nw:0, space:no, eff:yes): precision and recall of character
 * n-grams are averaged over those n of 1 to 6 for which both texts have n-grams, and combined as F-beta with beta 2:
 * `(1 + 4) P R / (4 P + R)`. Both texts come without white space, and neither is empty.
 */
export function chrf(prediction: string, truth: string): number {
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
  // There is one symbol behind each n-gram that is lengthened, so `at` is within both.
  return following.map((symbol, at) => intern(known, (grams[at] as number) * alphabet + symbol));
}
