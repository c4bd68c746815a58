// Items in groups, in the order in which each group first comes, and how many are in each.

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

/** How many items have each key, in the order in which the keys first come. */
export function countBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Record<string, number> {
  return Object.fromEntries([...groupBy(items, keyOf)].map(([key, found]) => [key, found.length]));
}
