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
