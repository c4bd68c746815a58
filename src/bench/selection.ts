// Which rows a run takes, and in which order it asks for them. Rows are numbers: of 100,000, a list is 400 kB.

import { createHash } from 'node:crypto';
import { EXIT, UserError } from '../errors.js';
import { present } from '../present.js';
import type { Domain } from '../types.js';
import type { RowIndex } from './row-index.js';

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
 * The numbers of the chosen rows in input order.
 * @throws UserError: 66 where there are no rows at all, 2 for an id that no row has, or where nothing is left.
 */
export function chooseRows(rows: RowIndex, choice: Choice): Uint32Array {
  if (rows.length === 0) {
    throw new UserError(
      'the files of the data folder (*_test.jsonl) hold no rows; awb data fetch brings those of the benchmark',
      EXIT.inputMissing,
    );
  }
  let chosen: Uint32Array = Uint32Array.from({ length: rows.length }, (_, row) => row);
  if (choice.domains !== undefined) {
    const wanted = new Set(choice.domains);
    chosen = chosen.filter((row) => wanted.has(rows.domain(row)));
  }
  if (choice.ids !== undefined) chosen = withIds(rows, chosen, choice.ids);
  if (choice.sample !== undefined) chosen = sampled(rows, chosen, choice.sample, choice.sampleSeed);
  if (choice.limit !== undefined) chosen = firstOfEachDomain(rows, chosen, choice.limit);
  if (choice.shard !== undefined) chosen = shardOf(rows, chosen, choice.shard.index, choice.shard.of);
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
  file: (_rows: RowIndex, chosen: Uint32Array) => chosen.slice(),
  random: (rows: RowIndex, chosen: Uint32Array, seed: number) => byHash(rows, chosen, `order ${seed}`),
} satisfies Record<string, (rows: RowIndex, chosen: Uint32Array, seed: number) => Uint32Array>;

function byPrefix(rows: RowIndex, chosen: Uint32Array): Uint32Array {
  const sizes = new Map<number, number>();
  for (const row of chosen) {
    const trajectory = rows.trajectoryNumber(row);
    sizes.set(trajectory, (sizes.get(trajectory) ?? 0) + 1);
  }
  // Where each trajectory's rows begin, and then where the next of them goes: trajectories come in the order of their first rows.
  const next = new Map<number, number>();
  let start = 0;
  for (const [trajectory, size] of sizes) {
    next.set(trajectory, start);
    start += size;
  }
  const ordered = new Uint32Array(chosen.length);
  for (const row of chosen) {
    const trajectory = rows.trajectoryNumber(row);
    const place = present(next.get(trajectory));
    ordered[place] = row;
    next.set(trajectory, place + 1);
  }
  for (const [trajectory, end] of next) {
    ordered
      .subarray(end - present(sizes.get(trajectory)), end)
      .sort((a, b) => rows.turnIdx(a) - rows.turnIdx(b) || a - b);
  }
  return ordered;
}

function withIds(rows: RowIndex, chosen: Uint32Array, ids: readonly string[]): Uint32Array {
  const wanted = new Set(ids);
  const found = chosen.filter((row) => wanted.has(rows.id(row)) || wanted.has(rows.key(row)));
  for (const row of found) {
    wanted.delete(rows.id(row));
    wanted.delete(rows.key(row));
  }
  if (wanted.size > 0) throw new UserError(`--ids: no chosen row has id or key ${[...wanted].join(', ')}`, EXIT.usage);
  return found;
}

/** Ranks rows by a hash of seed and key, so that a choice does not change with the rows around it. */
function sampled(rows: RowIndex, chosen: Uint32Array, count: number, seed: number): Uint32Array {
  return firstOfEachDomain(rows, byHash(rows, chosen, `sample ${seed}`), count).sort();
}

function byHash(rows: RowIndex, chosen: Uint32Array, salt: string): Uint32Array {
  const rankOf = (row: number) =>
    createHash('sha256')
      .update(`${salt} ${rows.key(row)}`)
      .digest('hex');
  const ranks = new Map(Array.from(chosen, (row) => [row, rankOf(row)]));
  return chosen.toSorted((a, b) => (present(ranks.get(a)) < present(ranks.get(b)) ? -1 : 1));
}

function firstOfEachDomain(rows: RowIndex, chosen: Uint32Array, count: number): Uint32Array {
  const taken = new Map<Domain, number>();
  return chosen.filter((row) => {
    const before = taken.get(rows.domain(row)) ?? 0;
    taken.set(rows.domain(row), before + 1);
    return before < count;
  });
}

/** Deals trajectories out, the longest first, each to the shard that holds the fewest bytes so far. */
function shardOf(rows: RowIndex, chosen: Uint32Array, index: number, of: number): Uint32Array {
  const sizes = new Map<number, number>();
  for (const row of chosen) {
    const trajectory = rows.trajectoryNumber(row);
    sizes.set(trajectory, (sizes.get(trajectory) ?? 0) + rows.bytes(row));
  }
  // Shards beyond the number of trajectories get none.
  const loads = Array.from({ length: Math.min(of, sizes.size) }, (_, shard) => ({ shard, bytes: 0 }));
  const mine = new Set<number>();
  for (const [trajectory, size] of [...sizes].sort((a, b) => b[1] - a[1])) {
    const lightest = loads.reduce((least, load) => (load.bytes < least.bytes ? load : least));
    lightest.bytes += size;
    if (lightest.shard === index - 1) mine.add(trajectory);
  }
  return chosen.filter((row) => mine.has(rows.trajectoryNumber(row)));
}
