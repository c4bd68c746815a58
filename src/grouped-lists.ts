// The items of a list in groups that are made when they are looked at: of 100,000 items a few bytes each are kept.

import { TextNumbers } from './hashed-texts.js';
import { itemsAt, type List, listOf } from './list.js';
import { present } from './present.js';
import { eachInSteps, type Steps } from './steps.js';

/**
 * The items of each key, in their order; the groups in the order in which each first comes, as `groupBy` has them.
 * @param wordCount of a key that begins with a hash: its hex digits divided by eight; any other text may be one, too
 */
export function* groupedLists<T>(items: List<T>, wordCount: number, keyOf: (item: T) => string): Steps<List<List<T>>> {
  const numbers = new TextNumbers(wordCount);
  const groupOf = new Uint32Array(items.length);
  yield* eachInSteps(items, (item, place) => {
    groupOf[place] = numbers.add(keyOf(item));
  });
  const count = numbers.size;
  // Each item is a group of its own.
  if (count === items.length) return listOf(count, (place) => listOf(1, () => present(items.at(place))));
  const starts = new Uint32Array(count + 1);
  for (const group of groupOf) starts[group + 1] = present(starts[group + 1]) + 1;
  for (let group = 0; group < count; group++) starts[group + 1] = present(starts[group + 1]) + present(starts[group]);
  yield;
  const next = starts.slice();
  const places = new Uint32Array(items.length);
  for (const [place, group] of groupOf.entries()) {
    const at = present(next[group]);
    places[at] = place;
    next[group] = at + 1;
  }
  yield;
  return listOf(count, (group) => itemsAt(items, places.subarray(starts[group], starts[group + 1])));
}
