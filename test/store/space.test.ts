// Space in the file: who uses it, and what happens to unused space.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { StoredJudgement } from '../../src/store/runs.js';
import { giveBackSpace, spaceOf } from '../../src/store/runs.js';
import { openExistingStore } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { rated, runOf, saveIn } from '../support/stored-runs.js';

let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

function many(count: number): StoredJudgement[] {
  return Array.from({ length: count }, (_, row) => ({ ...rated, row: { ...rated.row, key: `key-${row}` } }));
}

it('the sizes of all runs add up to about that of the file, and each has its share', () => {
  saveIn(path, runOf('a'), many(1000));
  saveIn(path, runOf('b'), many(3000));
  const store = openExistingStore(path);
  const [first = 0, second = 0] = [...store.bytesByRun().values()];
  store.close();
  const { size } = statSync(path);
  expect(first + second).toBeGreaterThan(0.9 * size);
  expect(first + second).toBeLessThan(size);
  expect(second / first).toBeGreaterThan(2.5);
  expect(second / first).toBeLessThan(3.5);
});

it('unused space stays while another process writes, and is given back when that has ended', () => {
  saveIn(path, runOf('a'), many(3000));
  const [own, other] = [openSqlite(path, { timeout: 20 }), openSqlite(path)];
  own.exec('PRAGMA foreign_keys = ON');
  own.exec('DELETE FROM runs');
  const before = spaceOf(own);
  expect(before.freeBytes).toBeGreaterThan(before.bytes / 2);
  other.exec('BEGIN IMMEDIATE');
  giveBackSpace(own);
  expect(spaceOf(own)).toEqual(before);
  other.exec('COMMIT');
  giveBackSpace(own);
  expect(spaceOf(own).freeBytes).toBe(0);
  expect(spaceOf(own).bytes).toBeLessThan(before.bytes / 2);
  own.close();
  other.close();
});
