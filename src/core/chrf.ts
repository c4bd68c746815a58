// chrF: how many character n-grams two texts share; and the numbering of texts that makes comparing them cheap.

const CHRF_ORDER = 6;
const CHRF_BETA = 2;

/**
 * chrF (Popović, WMT 2015) with sacreBLEU's defaults (nc:6, nw:0, space:no, eff:yes): precision and recall of character n-grams are
 * averaged over every n from 1 to 6 for which both texts have n-grams, then combined as F-beta with beta 2: `(1 + 4) P R / (4 P + R)`.
 * Both texts must have no white space and must not be empty.
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

/** The n-grams extended by one symbol, numbered alike in both texts; `following` is the symbol after each n-gram. */
function lengthen(grams: Int32Array, following: Int32Array, alphabet: number, known: Map<number, number>): Int32Array {
  // One symbol follows each n-gram, so `at` is within both arrays.
  return following.map((symbol, at) => intern(known, (grams[at] as number) * alphabet + symbol));
}

// Texts and lists as numbers: equal items get equal numbers, so comparing them needs no strings.

/** Both texts as code points, renumbered from 0 without gaps; `alphabet` is the number of distinct ones. */
export function encode(prediction: string, truth: string): { p: Int32Array; t: Int32Array; alphabet: number } {
  const known = new Map<string, number>();
  const p = numbered(prediction, known);
  const t = numbered(truth, known);
  return { p, t, alphabet: known.size };
}

/** The items renumbered; `known` contains the numbers given so far. */
export function numbered(items: Iterable<string>, known: Map<string, number>): Int32Array {
  return Int32Array.from(items, (item) => intern(known, item));
}

/** The number of `key`: its existing one, or the next. */
export function intern<K>(known: Map<K, number>, key: K): number {
  let id = known.get(key);
  if (id === undefined) {
    id = known.size;
    known.set(key, id);
  }
  return id;
}

/** How many items two lists share, counting duplicates that both have; `distinct` is the number of distinct numbers. */
export function commonCount(first: Int32Array, second: Int32Array, distinct: number): number {
  const left = new Int32Array(distinct);
  for (const gram of first) {
    // Every number is less than `distinct`, the table's length.
    left[gram] = (left[gram] as number) + 1;
  }
  let common = 0;
  for (const gram of second) {
    // As above.
    const count = left[gram] as number;
    if (count > 0) {
      left[gram] = count - 1;
      common++;
    }
  }
  return common;
}
