import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowRef } from '../../src/benchmark/dataset.js';
import { type Choice, chooseRows, inInputOrder, ORDERS } from '../../src/benchmark/selection.js';
import { EXIT } from '../../src/core/errors.js';
import { keyOf } from '../support/row-refs.js';

/** Rows of three domains, interleaved, with `turns` rows to a trajectory, later turns first. */
function rowsOf(count: number, turns = 4, first = 0): RowRef[] {
  return Array.from({ length: count }, (_, index) => {
    const at = first + index;
    const domain = ['mcp', 'web', 'os'][at % 3] as string;
    return {
      key: keyOf(`key${at}`),
      trajectory: keyOf(`${domain}-${Math.floor(at / 3 / turns)}`),
      domain,
      id: `${at}`,
      turnIdx: turns - (Math.floor(at / 3) % turns),
      position: at,
      file: 0,
      line: at + 1,
      offset: 0,
      length: 1 + ((at * 7919) % 1000),
      checksum: 0,
      trajectoryNumber: (at % 3) + 3 * Math.floor(at / 3 / turns),
    };
  });
}

const choose = (rows: readonly RowRef[], choice: Partial<Choice>) => chooseRows(rows, { sampleSeed: 0, ...choice });
const keys = (rows: readonly RowRef[]) => rows.map((row) => row.key);
const keysOf = (...numbers: number[]) => numbers.map((at) => keyOf(`key${at}`));

function perDomain(rows: readonly RowRef[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[row.domain] = (counts[row.domain] ?? 0) + 1;
  return counts;
}

describe('chooseRows', () => {
  test('says of files without rows how to come by some, whatever was chosen of them', () => {
    for (const choice of [{}, { ids: ['1'] }, { domains: ['mcp'], limit: 1 }] as const) {
      expect(() => choose([], choice)).toThrow(
        expect.objectContaining({
          exitCode: EXIT.inputMissing,
          message: expect.stringMatching(/have no rows; awb data fetch /),
        }),
      );
    }
  });

  test('takes everything, in input order, where nothing is asked for', () => {
    const rows = rowsOf(20);
    expect(choose(rows, {})).toEqual(rows);
  });

  test('--limit takes the first rows of each domain', () => {
    expect(keys(choose(rowsOf(20), { limit: 2 }))).toEqual(keysOf(0, 1, 2, 3, 4, 5));
  });

  test('--domains and --limit together', () => {
    expect(keys(choose(rowsOf(20), { domains: ['web', 'os'], limit: 1 }))).toEqual(keysOf(1, 2));
  });

  test('--sample takes as many rows of each domain, in input order, and all of a small one', () => {
    const rows = [...rowsOf(90), { ...(rowsOf(1)[0] as RowRef), key: keyOf('alone'), domain: 'swe', position: 90 }];
    const chosen = choose(rows, { sample: 5 });
    expect(perDomain(chosen)).toEqual({ mcp: 5, web: 5, os: 5, swe: 1 });
    expect(chosen.map((row) => row.position)).toEqual(chosen.map((row) => row.position).sort((a, b) => a - b));
  });

  test('--sample takes the same rows each time, in whatever order they come, and others under another seed', () => {
    const rows = rowsOf(300);
    const chosen = choose(rows, { sample: 10, sampleSeed: 7 });
    expect(choose(rows.toReversed(), { sample: 10, sampleSeed: 7 })).toEqual(chosen);
    expect(choose(rows, { sample: 10, sampleSeed: 8 })).not.toEqual(chosen);
  });

  test('a larger sample holds the smaller one', () => {
    const rows = rowsOf(300);
    const larger = new Set(choose(rows, { sample: 20 }));
    expect(choose(rows, { sample: 10 }).every((row) => larger.has(row))).toBe(true);
  });

  test('rows that are added to the data push rows out of the sample, and change nothing else', () => {
    const before = choose(rowsOf(300), { sample: 20 });
    const after = choose(rowsOf(330), { sample: 20 });
    const known = new Set(keys(before));
    const fresh = after.filter((row) => row.position >= 300);
    expect(after.filter((row) => !known.has(row.key))).toEqual(fresh);
    expect(fresh.length).toBeLessThan(20);
  });

  test('--ids takes rows by id or key, all rows of an id', () => {
    const rows = rowsOf(9).map((row) => ({ ...row, id: row.position < 3 ? '900719925474099312' : row.id }));
    expect(keys(choose(rows, { ids: ['8', '900719925474099312', keyOf('key5')] }))).toEqual(keysOf(0, 1, 2, 5, 8));
  });

  test('an id that no row has is named', () => {
    expect(() => choose(rowsOf(9), { ids: ['8', 'nine', keyOf('key0')] })).toThrow(/no chosen row has id or key nine$/);
    expect(() => choose(rowsOf(9), { ids: ['8'], domains: ['mcp'] })).toThrow(/key 8$/);
  });

  test('a choice of nothing is refused', () => {
    expect(() => choose(rowsOf(9), { domains: ['swe'] })).toThrow(/none of the 9 rows is chosen/);
  });

  test('shards are disjoint, make up the whole, keep trajectories together, and stay the same', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 12 }),
        (count, turns, of) => {
          const rows = rowsOf(count, turns);
          const owner = new Map<string, number>();
          const seen: RowRef[] = [];
          for (let index = 1; index <= of; index++) {
            const shard = shardOrNothing(rows, index, of);
            expect(shardOrNothing(rows, index, of)).toEqual(shard);
            for (const row of shard) expect(owner.get(row.trajectory) ?? index).toBe(index);
            for (const row of shard) owner.set(row.trajectory, index);
            seen.push(...shard);
          }
          expect(seen.sort((a, b) => a.position - b.position)).toEqual(rows);
        },
      ),
    );
  });

  test('shards differ by no more than the largest trajectory', () => {
    const rows = rowsOf(600);
    const size = (some: readonly RowRef[]) => some.reduce((sum, row) => sum + row.length, 0);
    const sizes = [1, 2, 3, 4, 5].map((index) => size(shardOrNothing(rows, index, 5)));
    const trajectories = [...new Set(rows.map((row) => row.trajectory))];
    const largest = Math.max(...trajectories.map((name) => size(rows.filter((row) => row.trajectory === name))));
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(largest);
  });

  test('more shards than trajectories leave some without rows, be they a million', () => {
    expect(choose(rowsOf(3), { shard: '3/999999' })).toHaveLength(1);
    expect(() => choose(rowsOf(3), { shard: '4/999999' })).toThrow(/none of the 3 rows/);
  });
});

function shardOrNothing(rows: readonly RowRef[], index: number, of: number): readonly RowRef[] {
  try {
    return choose(rows, { shard: `${index}/${of}` });
  } catch {
    return [];
  }
}

describe('orders', () => {
  const rows = rowsOf(60);
  const order = (name: keyof typeof ORDERS, seed = 0, chosen = rows) => ORDERS[name](chosen, seed);

  test('prefix: each trajectory in one piece, shortest prefix first, the trajectories in input order', () => {
    const ordered = order('prefix');
    const pieces = ordered.filter((row, at) => row.trajectory !== ordered[at - 1]?.trajectory);
    expect(pieces.map((row) => row.trajectory)).toEqual([...new Set(rows.map((row) => row.trajectory))]);
    for (const [at, row] of ordered.entries()) {
      const before = ordered[at - 1];
      if (before?.trajectory === row.trajectory) expect(before.turnIdx).toBeLessThan(row.turnIdx);
    }
  });

  test('prefix: of chosen rows, trajectories come in the order of their first chosen row', () => {
    const chosen = rows.slice(7);
    const ordered = order('prefix', 0, chosen);
    const pieces = ordered.filter((row, at) => row.trajectory !== ordered[at - 1]?.trajectory);
    const byFirst = new Set(chosen.map((row) => row.trajectory));
    expect(pieces.map((row) => row.trajectory)).toEqual([...byFirst]);
    expect([...byFirst]).not.toEqual([...new Set(rows.map((row) => row.trajectory))]);
  });

  test('file: as they come', () => {
    expect(order('file')).toEqual(rows);
  });

  test('random: the same for the same seed, another for another', () => {
    expect(order('random', 1, rows.toReversed())).toEqual(order('random', 1));
    expect(order('random', 2)).not.toEqual(order('random', 1));
  });

  test.each(Object.entries(ORDERS))('%s loses and doubles no row, and leaves its input alone', (_name, orderRows) => {
    const given = rows.slice();
    expect(inInputOrder(orderRows(given, 3))).toEqual(rows);
    expect(given).toEqual(rows);
  });
});
