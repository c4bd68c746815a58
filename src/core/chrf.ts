// chrF: how many character n-grams two texts share; and the numbers that stand for texts where they are compared.

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

// Texts and lists as numbers: equal items get equal numbers, so that comparing them costs no string.

/** Both texts as code points, renumbered from 0 without gaps; `alphabet` is how many different ones there are. */
export function encode(prediction: string, truth: string): { p: Int32Array; t: Int32Array; alphabet: number } {
  const known = new Map<string, number>();
  const p = numbered(prediction, known);
  const t = numbered(truth, known);
  return { p, t, alphabet: known.size };
}

/** The items renumbered; `known` holds the numbers given so far. */
export function numbered(items: Iterable<string>, known: Map<string, number>): Int32Array {
  return Int32Array.from(items, (item) => intern(known, item));
}

/** The number that stands for `key`: its own if it has one, else the next. */
export function intern<K>(known: Map<K, number>, key: K): number {
  let id = known.get(key);
  if (id === undefined) {
    id = known.size;
    known.set(key, id);
  }
  return id;
}

/** How many items two lists share, each counted as often as both hold it; `distinct` is how many different numbers there are. */
export function commonCount(first: Int32Array, second: Int32Array, distinct: number): number {
  const left = new Int32Array(distinct);
  for (const gram of first) {
    // Every number is less than `distinct`, the table's length.
    left[gram] = (left[gram] as number) + 1;
  }
  let common = 0;
  for (const gram of second) {
    // The same holds for the second list.
    const count = left[gram] as number;
    if (count > 0) {
      left[gram] = count - 1;
      common++;
    }
  }
  return common;
}
