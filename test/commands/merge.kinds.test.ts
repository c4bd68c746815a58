// What `awb merge` merges besides ordinary runs: rollouts, likelihoods, judgings in their own folders, files of the official script.

import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { start } from '../support/engine.js';
import { jsonOf } from '../support/judging.js';
import { uniformModel } from '../support/known-likelihood.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';
import { serve } from '../support/scripted-server.js';
import { ROWS, type Sharded, sharded } from '../support/shards.js';

/** The unsharded run in `whole`, and its three shards. */
async function inferred(run: Sharded, ...args: string[]): Promise<void> {
  await run.infer('whole', ...args);
  for (const shard of ['1', '2', '3']) await run.infer(shard, ...args, '--shard', `${shard}/3`);
}

describe('a rollout in shards', () => {
  test.each([
    ['', []],
    ['after a given turn, in repeats', ['--rollout-from', '1', '--repeats', '2']],
  ])('%s has the predictions and turns of the unsharded one, and continues if a shard is missing', async (_, more) => {
    const run = await sharded((text) => text.includes('step 2 of mcp 1'));
    await inferred(run, '--rollout', ...more);
    const files = ['predictions.jsonl', 'rollout.jsonl'];
    await run.merge('2', '3', '1', 'merged');
    for (const file of files) expect(await run.text('merged', file)).toBe(await run.text('whole', file));
    const [merged, whole] = await Promise.all(
      ['merged', 'whole'].map((out) => jsonOf(run.path(out, 'predictions.manifest.json'))),
    );
    for (const field of ['counts', 'tokens', 'costs', 'chosen']) expect(merged?.[field]).toEqual(whole?.[field]);
    expect(merged?.beside).toMatchObject({ file: run.path('merged', 'rollout.jsonl'), sha256: whole?.beside.sha256 });
    expect((await run.merge('1', '3', 'late')).code).toBe(EXIT.incomplete);
    await run.infer('late', '--rollout', ...more);
    for (const file of files) expect(await run.text('late', file)).toBe(await run.text('whole', file));
  });
});

test('likelihoods in shards give the complete likelihood', async () => {
  const { path } = await uniformModel(await mkdtemp(join(tmpdir(), 'awb-known-')));
  const server = await serve((await start(path)).engine);
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'a_test.jsonl': madeUpRows('mcp', 12) });
  const measure = (out: string, ...args: string[]) =>
    awb([
      ...['likelihood', '--data-dir', data, '--model-base-url', `${server.url}/v1`, '--model-name', 'tiny'],
      ...['--output-dir', join(folder, out), ...args],
    ]);
  for (const [out, ...args] of [['whole'], ['1', '--shard', '1/2'], ['2', '--shard', '2/2']] as const) {
    expect((await measure(out, ...args)).code).toBe(EXIT.done);
  }
  const parts = ['2', '1'].map((out) => join(folder, out));
  expect((await awb(['merge', ...parts, '--output-dir', join(folder, 'merged')])).code).toBe(EXIT.done);
  const [merged, whole] = await Promise.all(
    ['merged', 'whole'].map((out) => readFile(join(folder, out, 'likelihood.jsonl'), 'utf8')),
  );
  expect(merged).toBe(whole);
  expect((await measure('merged')).stdout).toContain('0 in this session');
});

describe('judgings in folders apart from their predictions', () => {
  /** Judges the predictions in the folder `name` into the folder `judged-name`. */
  const judgeApart = (run: Sharded, out: string) => run.judge(out, '--output-dir', run.path(`judged-${out}`));

  test('are merged with those, in their order', async () => {
    const run = await sharded();
    await inferred(run);
    for (const out of ['whole', '1', '2', '3']) expect((await judgeApart(run, out)).code).toBe(EXIT.done);
    const parts = ['judged-3', 'judged-1', 'judged-2'];
    const refused = await run.merge(...parts, 'merged');
    expect([refused.code, refused.stderr]).toEqual([
      EXIT.usage,
      expect.stringContaining('judges several files of predictions'),
    ]);
    const { code } = await run.merge('1', '2', '3', ...parts, 'merged');
    expect(code).toBe(EXIT.done);
    expect(await run.text('merged', 'judged.jsonl')).toBe(await run.text('judged-whole', 'judged.jsonl'));
  });

  test('of other predictions are refused', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await judgeApart(run, '1');
    await run.infer('other', '--temperature', '0.1');
    const { code, stderr } = await run.merge('judged-1', 'other', 'merged');
    expect([code, stderr]).toEqual([EXIT.identityDiffers, expect.stringContaining('was not made from')]);
  });
});

test('labelled judgings are merged by name, and a judge with another snapshot is refused', async () => {
  const run = await sharded();
  await inferred(run);
  for (const out of ['whole', '1', '2', '3']) {
    await run.judge(out);
    await run.judge(out, '--label', 'again', '--temperature', '0');
  }
  expect((await run.merge('1', '3', '2', 'merged')).code).toBe(EXIT.done);
  for (const file of ['judged.jsonl', 'judged.again.jsonl']) {
    expect(await run.text('merged', file)).toBe(await run.text('whole', file));
  }
  const path = run.path('2', 'judged.manifest.json');
  const { checksum: _, ...manifest } = await jsonOf(path);
  await writeFile(path, JSON.stringify({ ...manifest, identity: { ...manifest.identity, snapshot: 'judge-2' } }));
  const { code, stderr } = await run.merge('1', '2', 'other');
  expect(code).toBe(EXIT.identityDiffers);
  expect(stderr).toContain(`snapshot: "judge" in ${run.path('1')}, "judge-2" in ${run.path('2')}`);
});

test('shards with different labels keep the first, and the others are reported', async () => {
  const run = await sharded();
  await run.infer('1', '--shard', '1/2', '--label', 'step-1');
  await run.infer('2', '--shard', '2/2', '--label', 'step-2');
  const { stdout } = await run.merge('1', '2', 'merged');
  expect(stdout).toContain('labelled step-1; other parts: step-2');
  const { label, counts } = await jsonOf(run.path('merged', 'predictions.manifest.json'));
  expect([label, counts.ok]).toEqual(['step-1', ROWS]);
});
