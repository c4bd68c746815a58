// What a new column takes: one migration at the end, and one entry among the columns.

import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { MIGRATIONS } from '../../src/store/migrations.js';
import type { StoredJudgement } from '../../src/store/records.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { openExistingStore } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { failed, queryIn, rated, runOf, saveIn } from '../support/stored-runs.js';

vi.mock('../../src/store/migrations.js', async (original) => {
  const actual = await original<typeof import('../../src/store/migrations.js')>();
  return { ...actual, MIGRATIONS: [...actual.MIGRATIONS, 'ALTER TABLE judgements ADD COLUMN host TEXT'] };
});

vi.mock('../../src/store/columns.js', async (original) => {
  const actual = await original<typeof import('../../src/store/columns.js')>();
  const host = ({ log }: StoredJudgement) => log?.host ?? null;
  return { ...actual, QUERY_COLUMNS: { ...actual.QUERY_COLUMNS, host } };
});

it('is filled from its entry, in a new file and in one of the version before', async () => {
  const folder = await temporaryFolder();
  const [path, earlier] = [join(folder, 'new.sqlite'), join(folder, 'earlier.sqlite')];
  saveIn(path, runOf('a'));
  saveIn(earlier, runOf('before'));
  const database = openSqlite(earlier);
  database.exec(`ALTER TABLE judgements DROP COLUMN host; PRAGMA user_version = ${MIGRATIONS.length - 1}`);
  database.close();
  saveIn(earlier, runOf('a'));

  const hosts = (file: string) => queryIn(file, 'SELECT host FROM judgements ORDER BY run_id, repeat');
  expect(hosts(path)).toEqual([{ host: 'judge:443' }, { host: null }]);
  expect(hosts(earlier)).toEqual([{ host: null }, { host: null }, { host: 'judge:443' }, { host: null }]);
  const store = openExistingStore(earlier);
  expect(store.judgements(2)).toEqual([rated.row, failed.row]);
  store.close();
});
