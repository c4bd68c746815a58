// Lists and tables: items in groups, names of a table, quantiles.

import { present } from './errors.js';

/** One item or more. */
export type Some<T> = readonly [T, ...T[]];

/** The items of each key, in their order. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, Some<T>> {
  const groups = new Map<K, [T, ...T[]]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** What a map holds under a key; where it holds nothing yet, what is made for it. */
export function heldIn<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const held = map.get(key) ?? make();
  map.set(key, held);
  return held;
}

/** How many items have each key, or are the same text, in the order in which they first come. */
export function countBy<T>(items: Iterable<T>, keyOf: (item: T) => string = String): Record<string, number> {
  return Object.fromEntries([...groupBy(items, keyOf)].map(([key, found]) => [key, found.length]));
}

/** The sum of what is said of each item. */
export function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** What both lists hold, as often as both hold it, in the order of the first. */
export function common<T>(items: readonly T[], others: readonly T[]): T[] {
  const left = new Map<T, number>();
  for (const item of others) left.set(item, (left.get(item) ?? 0) + 1);
  return items.filter((item) => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count > 0;
  });
}

/** Items by the numbers that are said of each: by the first of them, where those are equal by the second, and so on. */
export function inOrderOf<T>(items: Iterable<T>, placesOf: (item: T) => readonly number[]): T[] {
  return Array.from(items, (item) => ({ item, places: placesOf(item) }))
    .sort((a, b) => {
      const at = a.places.findIndex((place, index) => place !== b.places[index]);
      return at < 0 ? 0 : present(a.places[at]) - present(b.places[at]);
    })
    .map(({ item }) => item);
}

// The names of a table, in the type that the table gives them.

/** The table's own keys in its order: the choices of an option whose variants stand in one table. */
export function keysOf<Table extends object>(table: Table): (keyof Table & string)[] {
  // A value of a wider type could hold further keys. Tables are constants that hold what their type says.
  return Object.keys(table) as (keyof Table & string)[];
}

/** What a function says of each key. */
export function recordOf<Key extends string, T>(keys: readonly Key[], of: (key: Key) => T): Record<Key, T> {
  // Every key has its entry.
  return Object.fromEntries(keys.map((key) => [key, of(key)])) as Record<Key, T>;
}

// Quantiles, as NumPy has them by default and Python under 'inclusive'.

/** The value below which a share (0 to 1) of sorted values lies, between two of them in proportion; undefined where there are none. */
export function quantile(sorted: readonly number[], share: number): number | undefined {
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below === undefined || above === undefined ? undefined : below + (above - below) * (at - Math.floor(at));
}
