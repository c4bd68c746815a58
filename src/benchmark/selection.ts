// Which rows a run chooses, and in which order it asks for them.

import { EXIT, inputMissing, UserError } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { inHashOrder } from '../core/identity.js';
import { unknownName } from '../core/schema.js';
import { DOMAINS, type Domain } from '../core/types.js';
import type { RowRef } from './dataset.js';

/** As named in the settings of commands. An empty list chooses all. */
export interface Choice {
  readonly domains?: readonly Domain[] | undefined;
  /** The first N rows of each domain. */
  readonly limit?: number | undefined;
  /** N rows of each domain, the same ones for the same seed. */
  readonly sample?: number | undefined;
  readonly sampleSeed: number;
  /** Row ids or keys. */
  readonly ids?: readonly string[] | undefined;
  /** Part I of N as `I/N`; trajectories are not split. */
  readonly shard?: string | undefined;
}

/**
 * The chosen rows in input order.
 * @throws UserError: 66 if there are no rows, 2 for a domain that neither the benchmark nor the data has, for an id that no row has, or
 * if no row is left.
 */
export function chooseRows(rows: readonly RowRef[], choice: Choice): readonly RowRef[] {
  const { domains = [], ids = [], sample, sampleSeed, limit, shard } = choice;
  if (rows.length === 0) {
    throw inputMissing(
      'the files of the data folder (*_test.jsonl) have no rows; awb data fetch downloads the benchmark',
    );
  }
  requireKnown(domains, rows);
  let chosen = domains.length === 0 ? rows : rows.filter(({ domain }) => domains.includes(domain));
  if (ids.length > 0) chosen = withIds(chosen, ids);
  if (sample !== undefined) chosen = firstOfEachDomain(byHash(chosen, `sample ${sampleSeed}`), sample);
  if (limit !== undefined) chosen = firstOfEachDomain(chosen, limit);
  if (shard !== undefined) chosen = shardOf(chosen, shard);
  if (chosen.length === 0) {
    throw new UserError(
      `none of the ${rows.length} rows is chosen; loosen --domains, --ids, --limit, --sample or --shard`,
    );
  }
  return chosen;
}

function requireKnown(domains: readonly Domain[], rows: readonly RowRef[]): void {
  if (domains.length === 0) return;
  const known = [...new Set([...DOMAINS, ...rows.map(({ domain }) => domain)])];
  const unknown = domains.find((domain) => !known.includes(domain));
  if (unknown === undefined) return;
  throw new UserError(`--domains: ${unknownName(`domain "${unknown}"`, unknown, known)}`);
}

/** Rows in the order of the data. */
export function inInputOrder(rows: Iterable<RowRef>): RowRef[] {
  return [...rows].sort((a, b) => a.position - b.position);
}

/** Orders of asking. With `prefix`, rows of a trajectory are consecutive, shortest prefix first, so that prefix caches hit. */
export const ORDERS = {
  prefix: (chosen: readonly RowRef[]) =>
    // Trajectories are in the order of their first rows.
    [...groupBy(chosen, ({ trajectory }) => trajectory).values()].flatMap((rows) =>
      rows.toSorted((a, b) => a.turnIdx - b.turnIdx || a.position - b.position),
    ),
  file: (chosen: readonly RowRef[]) => [...chosen],
  random: (chosen: readonly RowRef[], seed: number) => byHash(chosen, `order ${seed}`),
} satisfies Record<string, (chosen: readonly RowRef[], seed: number) => RowRef[]>;

/** The rows, or their predictions, that `--ids` names. @throws UserError (2) for an id that none has */
export function withIds<Row extends Pick<RowRef, 'id' | 'key'>>(chosen: readonly Row[], ids: readonly string[]): Row[] {
  const wanted = new Set(ids);
  const found = chosen.filter(({ id, key }) => wanted.has(id) || wanted.has(key));
  for (const { id, key } of found) {
    wanted.delete(id);
    wanted.delete(key);
  }
  if (wanted.size > 0) throw new UserError(`--ids: no chosen row has id or key ${[...wanted].join(', ')}`, EXIT.usage);
  return found;
}

/** Ranked by a hash of seed and key, so that a choice does not depend on the other rows. */
function byHash(chosen: readonly RowRef[], salt: string): RowRef[] {
  return inHashOrder(chosen, ({ key }) => `${salt} ${key}`);
}

function firstOfEachDomain(chosen: readonly RowRef[], count: number): RowRef[] {
  const byDomain = [...groupBy(chosen, ({ domain }) => domain).values()];
  return inInputOrder(byDomain.flatMap((rows) => rows.slice(0, count)));
}

/** Distributes trajectories, the longest first, each to the shard with the fewest bytes so far. */
function shardOf(chosen: readonly RowRef[], shard: string): RowRef[] {
  const [index = 1, of = 1] = shard.split('/').map(Number);
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
