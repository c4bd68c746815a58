// The sizes of the code: they only shrink.

import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT } from '../support/cli.js';

test('of the code are at most what they were', () => {
  const { status, stdout } = spawnSync(process.execPath, ['scripts/sizes.mjs'], { cwd: ROOT, encoding: 'utf8' });
  console.log(stdout);
  expect(stdout).toMatch(/^lines of code in src +\d+ of \d+$/m);
  expect(status, stdout).toBe(0);
});
