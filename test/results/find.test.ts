// Which run a name means if several have it.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWithOther } from '../../src/results/find.js';
import { temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { around, judgedRun } from '../support/judged-runs.js';

test('next to a rollout, a label means the run that predicted the same rows with true histories', async () => {
  const dir = await temporaryFolder();
  const db = join(dir, 'awb.sqlite');
  const rollout = { label: 'rollout', rating: around(2.5), predictions: { rollout: { from: 0, version: 1 } } };
  await judgedRun(join(dir, 'rollout'), rollout, db);
  const forced = await judgedRun(join(dir, 'forced'), { label: 'x', rating: around(3) }, db);
  // Judged later, and therefore the first with its name.
  await judgedRun(join(dir, 'other'), { label: 'x', rating: around(3), identity: { judge: 'another' } }, db);
  const naming = { run: 'rollout', compare: 'x', db: [db], quiet: true };
  expect((await readWithOther(naming, ioIn(dir))).other?.source).toBe(forced);
});
