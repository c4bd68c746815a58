// Which rows a run takes, and in which order it asks for them.

import { createHash } from 'node:crypto';
import { EXIT, UserError } from '../errors.js';
import type { Domain } from '../types.js';
import type { RowRef } from './dataset.js';

export interface Choice {
  readonly domains?: readonly Domain[];
  /** The first N rows of each domain. */
  readonly limit?: number;
  /** N rows of each domain, the same ones for the same seed. */
  readonly sample?: number;
  readonly sampleSeed: number;
  /** Row ids or keys. */
  readonly ids?: readonly string[];
  /** Part `index` (1-based) of `of`; whole trajectories stay together. */
  readonly shard?: { readonly index: number; readonly of: number };
}

/**
 * The chosen rows in input order.
 * @throws UserError (2) for an id that no row has, or where nothing is left.
 */
export function chooseRows(rows: readonly RowRef[], choice: Choice): RowRef[] {
  let chosen = [...rows];
  if (choice.domains !== undefined) {
    const wanted = new Set(choice.domains);
    chosen = chosen.filter((row) => wanted.has(row.domain));
  }
  if (choice.ids !== undefined) chosen = withIds(chosen, choice.ids);
  if (choice.sample !== undefined) chosen = sampled(chosen, choice.sample, choice.sampleSeed);
  if (choice.limit !== undefined) chosen = firstOfEachDomain(chosen, choice.limit);
  if (choice.shard !== undefined) chosen = shardOf(chosen, choice.shard.index, choice.shard.of);
  if (chosen.length === 0) {
    throw new UserError(
      `none of the ${rows.length} rows is chosen; loosen --domains, --ids, --limit, --sample or --shard`,
    );
  }
  return chosen;
}

/** Orders of asking. Under `prefix`, rows of a trajectory come one after the other, shortest prefix first, so that prefix caches hit. */
export const ORDERS = {
  prefix: byPrefix,
  file: (rows: readonly RowRef[]) => [...rows],
  random: (rows: readonly RowRef[], seed: number) => byHash(rows, `order ${seed}`),
} satisfies Record<string, (rows: readonly RowRef[], seed: number) => RowRef[]>;

function byPrefix(rows: readonly RowRef[]): RowRef[] {
  const trajectories = groupBy(rows, (row) => row.trajectory);
  return [...trajectories.values()].flatMap((turns) =>
    turns.sort((a, b) => a.turnIdx - b.turnIdx || a.position - b.position),
  );
}

function withIds(rows: readonly RowRef[], ids: readonly string[]): RowRef[] {
  const wanted = new Set(ids);
  const found = rows.filter((row) => wanted.has(row.id) || wanted.has(row.key));
  for (const row of found) {
    wanted.delete(row.id);
    wanted.delete(row.key);
  }
  if (wanted.size > 0) throw new UserError(`--ids: no chosen row has id or key ${[...wanted].join(', ')}`, EXIT.usage);
  return found;
}

/** Ranks rows by a hash of seed and key, so that a choice does not change with the rows around it. */
function sampled(rows: readonly RowRef[], count: number, seed: number): RowRef[] {
  const ranked = byHash(rows, `sample ${seed}`);
  return firstOfEachDomain(ranked, count).sort((a, b) => a.position - b.position);
}

function byHash(rows: readonly RowRef[], salt: string): RowRef[] {
  return rows
    .map((row) => ({ row, rank: createHash('sha256').update(`${salt} ${row.key}`).digest('hex') }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ row }) => row);
}

function firstOfEachDomain(rows: readonly RowRef[], count: number): RowRef[] {
  const taken = new Map<Domain, number>();
  return rows.filter((row) => {
    const before = taken.get(row.domain) ?? 0;
    taken.set(row.domain, before + 1);
    return before < count;
  });
}

/** Deals trajectories out, the longest first, each to the shard that holds the fewest bytes so far. */
function shardOf(rows: readonly RowRef[], index: number, of: number): RowRef[] {
  const sizes = new Map<string, number>();
  for (const row of rows) sizes.set(row.trajectory, (sizes.get(row.trajectory) ?? 0) + row.length);
  // Shards beyond the number of trajectories get none.
  const loads = Array.from({ length: Math.min(of, sizes.size) }, (_, shard) => ({ shard, bytes: 0 }));
  const mine = new Set<string>();
  for (const [trajectory, size] of [...sizes].sort((a, b) => b[1] - a[1])) {
    const lightest = loads.reduce((least, load) => (load.bytes < least.bytes ? load : least));
    lightest.bytes += size;
    if (lightest.shard === index - 1) mine.add(trajectory);
  }
  return rows.filter((row) => mine.has(row.trajectory));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
