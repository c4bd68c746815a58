// Runs judged with the pack awb-2 by the version that bundled it (fixtures/runs-awb-2, with that version's figures) are read, scored and
// compared, and never mixed with what is judged today.

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { verdict } from '../support/judging.js';
import { startLoopbackServer } from '../support/loopback-server.js';

let dir: string;
const run = (...args: string[]) => awb(args, { cwd: dir });

beforeAll(async () => {
  dir = await temporaryFolder();
  await cp(join(ROOT, 'fixtures/runs-awb-2'), dir, { recursive: true });
});

test('it is scored as before, and a planted verdict counts as rating 1', async () => {
  const { code, stdout } = await run('score', 'step-200', '--json');
  expect(code).toBe(0);
  const { coverage, domains } = JSON.parse(stdout);
  expect(coverage).toBe(1);
  expect(domains.terminal).toMatchObject({ failures: { planted: 1 }, valid: 3 });
  expect(domains.terminal.total_score).toBeCloseTo(48.3333, 3);
  expect(domains.terminal.with_failures.total_score).toBeCloseTo(36.25, 10);
  expect(domains.web.with_failures.total_score).toBeCloseTo(38.75, 10);
});

test('it is compared with runs of the same kind', async () => {
  const { code, stdout } = await run('compare', 'step-100', 'step-200', '--json');
  expect(code).toBe(0);
  const { rows, overall } = JSON.parse(stdout);
  expect(rows).toBe(8);
  expect(overall.total.difference).toBeCloseTo((36.25 - 43.75 + 38.75 - 48.75) / 2, 10);
});

test('it is not compared with runs judged today', async () => {
  const server = await startLoopbackServer(() => ({ content: verdict(3), model: 'judge-2026-01-01' }));
  try {
    const judge = ['--judge-base-url', server.url, '--judge-model', 'judge', '--output-dir', 'today'];
    expect((await run('judge', '--predictions', 'step-100/judged.jsonl', ...judge)).code).toBe(0);
    const { code, stderr } = await run('compare', 'step-100', 'today');
    expect(code).toBe(78);
    expect(stderr).toContain('name: "awb-2" in the base, "awb-3" in the candidate');
  } finally {
    await server.close();
  }
});
