// The recipes of docs/recipes.md do what they say: their Python runs on runs of this program, if pandas and DuckDB are installed.

import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { startLoopbackServer } from '../support/loopback-server.js';

const PYTHON = process.env.AWB_RECIPES_PYTHON ?? 'python3';
const recipes = [...readFileSync(join(ROOT, 'docs/recipes.md'), 'utf8').matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(
  ([, code]) => String(code),
);

const found = spawnSync(PYTHON, ['-c', 'import pandas, duckdb'], { encoding: 'utf8' });
const missing = found.status === 0 ? undefined : `no Python with pandas and duckdb: ${found.error ?? found.stderr}`;
let dir: string;
let scores: Record<string, { total_score: number }>;

beforeAll(async () => {
  if (missing !== undefined) return;
  dir = await temporaryFolder();
  // Depends on the text, not on the order of requests: the scores are the same in every run.
  const judge =
    (rating: number) =>
    ({ body }: { readonly body: { readonly messages?: unknown } }) => {
      const [kind = 0, more = 0] = createHash('sha256').update(JSON.stringify(body.messages)).digest();
      const names = ['format', 'factuality', 'consistency', 'realism', 'quality'];
      const ratings = Object.fromEntries(names.map((name) => [name, rating - 1 + (more % 3)]));
      // Some verdicts are unreadable, and the others differ.
      const verdict = kind % 9 === 0 ? 'none' : JSON.stringify({ strengths: [], weaknesses: [], scores: ratings });
      return { content: `<final_evaluation>${verdict}</final_evaluation>` };
    };
  for (const [label, rating] of [
    ['step-100', 3],
    ['step-200', 4],
  ] as const) {
    const server = await startLoopbackServer();
    const out = ['--output-dir', `results/${label}`, '--quiet'];
    await awb(
      ['infer', '--data-dir', RECORDED, '--model-base-url', server.url, '--model-name', 'm', '--label', label, ...out],
      { cwd: dir },
    );
    const asked = await startLoopbackServer(judge(rating));
    const judging = [
      '--predictions',
      `results/${label}/predictions.jsonl`,
      '--judge-base-url',
      asked.url,
      '--judge-model',
      'j',
    ];
    await awb(['judge', ...judging, '--max-retries', '1', ...out], { cwd: dir });
    const { stdout } = await awb(['score', `results/${label}`, '--json'], { cwd: dir });
    scores ??= JSON.parse(stdout).domains;
    await Promise.all([server.close(), asked.close()]);
  }
  await awb(['export', 'csv', 'results/step-100', '--output', 'rows.csv'], { cwd: dir });
}, 120_000);

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing);
});

const run = async (code: string) =>
  (await promisify(execFile)(PYTHON, ['-W', 'error', '-c', code], { cwd: dir })).stdout;

describe('every recipe runs without a warning, and prints something', () => {
  test.each(recipes.map((code, at) => [at + 1, code] as const))('%i', async (_number, code) => {
    expect((await run(code)).trim()).not.toBe('');
  });
});

test('scores by domain are those of awb score', async () => {
  const byDomain = recipes.find((code) => code.includes('rated.groupby')) ?? '';
  const printed = Object.fromEntries(
    (await run(byDomain))
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/ +/)),
  );
  expect(Object.keys(printed)).toEqual(Object.keys(scores).sort());
  // pandas rounds 53.125 to the even digit before it, and JavaScript away from zero.
  for (const [name, { total_score }] of Object.entries(scores)) {
    expect(Math.abs(Number(printed[name]) - total_score), name).toBeLessThan(0.005_001);
  }
});

test('the Parquet file exists for other programs', async () => {
  await run(recipes.find((code) => code.includes('parquet')) ?? '');
  expect(existsSync(join(dir, 'judged.parquet'))).toBe(true);
});
