// Lists and tables: grouping, the names of a table, quantiles.

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

/** The value of a key in a map; a missing one is made and stored first. */
export function heldIn<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const held = map.get(key) ?? make();
  map.set(key, held);
  return held;
}

/** How many items have each key (by default, the same text), in order of first occurrence. */
export function countBy<T>(items: Iterable<T>, keyOf: (item: T) => string = String): Record<string, number> {
  return Object.fromEntries([...groupBy(items, keyOf)].map(([key, found]) => [key, found.length]));
}

/** The sum of a number computed from each item. */
export function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/** The items that both lists have, counting duplicates that both have, in the order of the first. */
export function common<T>(items: readonly T[], others: readonly T[]): T[] {
  const left = new Map<T, number>();
  for (const item of others) left.set(item, (left.get(item) ?? 0) + 1);
  return items.filter((item) => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count > 0;
  });
}

/** Items sorted by the numbers computed from each: by the first number, ties by the second, and so on. */
export function inOrderOf<T>(items: Iterable<T>, placesOf: (item: T) => readonly number[]): T[] {
  return Array.from(items, (item) => ({ item, places: placesOf(item) }))
    .sort((a, b) => {
      const at = a.places.findIndex((place, index) => place !== b.places[index]);
      return at < 0 ? 0 : present(a.places[at]) - present(b.places[at]);
    })
    .map(({ item }) => item);
}

// The names of a table, in the type that the table gives them.

/** The table's own keys in order, such as the choices of an option whose variants form one table. */
export function keysOf<Table extends object>(table: Table): (keyof Table & string)[] {
  // A value of a wider type could have further keys. Tables are constants that have exactly the keys of their type.
  return Object.keys(table) as (keyof Table & string)[];
}

/** A record of what a function returns for each key. */
export function recordOf<Key extends string, T>(keys: readonly Key[], of: (key: Key) => T): Record<Key, T> {
  // Every key has its entry.
  return Object.fromEntries(keys.map((key) => [key, of(key)])) as Record<Key, T>;
}

// Quantiles, as by default in NumPy, or 'inclusive' in Python.

/** The value below which a share (0 to 1) of sorted values lies, interpolated linearly; undefined if there are none. */
export function quantile(sorted: readonly number[], share: number): number | undefined {
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below === undefined || above === undefined ? undefined : below + (above - below) * (at - Math.floor(at));
}
