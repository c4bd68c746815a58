// Which rows a run takes, and in which order it asks for them.

import { createHash } from 'node:crypto';
import { EXIT, inputMissing, UserError } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import type { Domain } from '../core/types.js';
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
 * @throws UserError: 66 where there are no rows at all, 2 for an id that no row has, or where nothing is left.
 */
export function chooseRows(rows: readonly RowRef[], choice: Choice): readonly RowRef[] {
  if (rows.length === 0) {
    throw inputMissing(
      'the files of the data folder (*_test.jsonl) hold no rows; awb data fetch brings those of the benchmark',
    );
  }
  let chosen = rows;
  if (choice.domains !== undefined) {
    const wanted = new Set(choice.domains);
    chosen = chosen.filter(({ domain }) => wanted.has(domain));
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

/** Rows as they stand in the data. */
export function inInputOrder(rows: Iterable<RowRef>): RowRef[] {
  return [...rows].sort((a, b) => a.position - b.position);
}

/** Orders of asking. Under `prefix`, rows of a trajectory come one after the other, shortest prefix first, so that prefix caches hit. */
export const ORDERS = {
  prefix: byPrefix,
  file: (chosen: readonly RowRef[]) => [...chosen],
  random: (chosen: readonly RowRef[], seed: number) => byHash(chosen, `order ${seed}`),
} satisfies Record<string, (chosen: readonly RowRef[], seed: number) => RowRef[]>;

/** Trajectories come in the order of their first rows. */
function byPrefix(chosen: readonly RowRef[]): RowRef[] {
  return [...groupBy(chosen, ({ trajectory }) => trajectory).values()].flatMap((rows) =>
    rows.toSorted((a, b) => a.turnIdx - b.turnIdx || a.position - b.position),
  );
}

function withIds(chosen: readonly RowRef[], ids: readonly string[]): RowRef[] {
  const wanted = new Set(ids);
  const found = chosen.filter(({ id, key }) => wanted.has(id) || wanted.has(key));
  for (const { id, key } of found) {
    wanted.delete(id);
    wanted.delete(key);
  }
  if (wanted.size > 0) throw new UserError(`--ids: no chosen row has id or key ${[...wanted].join(', ')}`, EXIT.usage);
  return found;
}

/** Ranks rows by a hash of seed and key, so that a choice does not change with the rows around it. */
function sampled(chosen: readonly RowRef[], count: number, seed: number): RowRef[] {
  return inInputOrder(firstOfEachDomain(byHash(chosen, `sample ${seed}`), count));
}

function byHash(chosen: readonly RowRef[], salt: string): RowRef[] {
  return chosen
    .map((row) => ({ row, rank: createHash('sha256').update(`${salt} ${row.key}`).digest('hex') }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ row }) => row);
}

function firstOfEachDomain(chosen: readonly RowRef[], count: number): RowRef[] {
  const taken = new Map<Domain, number>();
  return chosen.filter(({ domain }) => {
    const before = taken.get(domain) ?? 0;
    taken.set(domain, before + 1);
    return before < count;
  });
}

/** Deals trajectories out, the longest first, each to the shard that holds the fewest bytes so far. */
function shardOf(chosen: readonly RowRef[], index: number, of: number): RowRef[] {
  const sizes = new Map<string, number>();
  for (const { trajectory, length } of chosen) sizes.set(trajectory, (sizes.get(trajectory) ?? 0) + length);
  // Shards beyond the number of trajectories get none.
  const loads = Array.from({ length: Math.min(of, sizes.size) }, (_, shard) => ({ shard, bytes: 0 }));
  const mine = new Set<string>();
  for (const [trajectory, size] of [...sizes].sort((a, b) => b[1] - a[1])) {
    const lightest = loads.reduce((least, load) => (load.bytes < least.bytes ? load : least));
    lightest.bytes += size;
    if (lightest.shard === index - 1) mine.add(trajectory);
  }
  return chosen.filter(({ trajectory }) => mine.has(trajectory));
}
