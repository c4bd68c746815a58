// Shards as separate processes: one is killed and restarted, and merging itself is killed at any moment.

import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { startAwb } from '../support/cli.js';
import { randomFrom } from '../support/random.js';
import { readRows } from '../support/run-folder.js';
import { ROWS, type Sharded, sharded } from '../support/shards.js';

/** The arguments of a shard as an array task gives them, and its environment. */
function task(run: Sharded, index: number) {
  const args = [
    ...['infer', '--data-dir', run.data, '--model-base-url', run.server.url, '--model-name', 'wm', '--quiet'],
    ...['--output-dir', run.path(`part-${index}`), '--shard', 'slurm/4', '--concurrency', '1'],
  ];
  const env = {
    SLURM_ARRAY_TASK_ID: String(index),
    SLURM_ARRAY_TASK_MIN: '0',
    SLURM_ARRAY_TASK_MAX: '3',
    SLURM_ARRAY_TASK_COUNT: '4',
  };
  return { args, env };
}

test('an array of processes, one of them killed and requeued, merges into the bytes of the unsharded run', async () => {
  const run = await sharded();
  await run.infer('whole');
  const start = (index: number) => {
    const { args, env } = task(run, index);
    return startAwb(args, env);
  };
  const journal = run.path('part-2', 'predictions.journal.jsonl');
  const victim = start(2);
  while ((await readRows(journal).catch(() => [])).length < 2) await wait(5);
  victim.child.kill('SIGKILL');
  await victim.ended;
  const ended = await Promise.all([0, 1, 2, 3].map((index) => start(index).ended));
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const parts = [3, 2, 1, 0].map((index) => `part-${index}`);
  const { code, stdout } = await run.merge(...parts, 'merged');
  expect([code, stdout]).toEqual([EXIT.done, expect.stringContaining(`predictions: ${ROWS} of ${ROWS} done`)]);
  expect(await run.text('merged', 'predictions.jsonl')).toBe(await run.text('whole', 'predictions.jsonl'));
});

test('a merge that is killed leaves the old or the new state, and the next one completes it', async () => {
  const run = await sharded();
  for (const out of ['whole', '1', '2']) {
    await run.infer(out, ...(out === 'whole' ? [] : ['--shard', `${out}/2`]));
    await run.judge(out);
  }
  await run.merge('1', 'merged');
  const random = randomFrom(7);
  const rowsIn = async () => (await readRows(run.path('merged', 'predictions.journal.jsonl'))).length;
  const before = await rowsIn();
  for (let kill = 0; kill < 6; kill++) {
    const merging = startAwb(['merge', run.path('1'), run.path('2'), '--output-dir', run.path('merged')]);
    const timer = setTimeout(() => merging.child.kill('SIGKILL'), 200 + random() * 800);
    await merging.ended;
    clearTimeout(timer);
    expect([before, ROWS]).toContain(await rowsIn());
  }
  expect((await run.merge('2', 'merged')).code).toBe(EXIT.done);
  for (const file of ['predictions.jsonl', 'judged.jsonl']) {
    expect(await run.text('merged', file)).toBe(await run.text('whole', file));
  }
  expect(await readdir(run.path('merged'))).not.toContainEqual(expect.stringMatching(/^\.merge-/));
});

describe('a folder that cannot take the run', () => {
  test('contains files of another program: nothing is merged, and they stay', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await mkdir(run.path('merged'));
    await writeFile(run.path('merged', 'predictions.jsonl'), 'mine\n');
    const { code, stderr } = await run.merge('1', 'merged');
    expect([code, stderr]).toEqual([
      EXIT.cannotCreate,
      expect.stringContaining('was not made by a run in this folder'),
    ]);
    expect(await readFile(run.path('merged', 'predictions.jsonl'), 'utf8')).toBe('mine\n');
  });

  test('awaits results of batch files: it is left to its own command', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    const batch = ['--batch-dir', run.path('batch'), '--assume-params'];
    expect((await run.infer('merged', ...batch)).code).toBe(EXIT.later);
    const { code, stderr } = await run.merge('1', 'merged');
    expect([code, stderr]).toEqual([EXIT.later, expect.stringContaining('awaits results of its batch files')]);
    const part = await run.merge('merged', '1', 'other');
    expect([part.code, part.stdout]).toEqual([
      EXIT.incomplete,
      expect.stringMatching(/merged: predictions.jsonl has no rows|merged is awaiting/),
    ]);
  });

  test('is where nothing can be created', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await writeFile(run.path('file'), '');
    const { code, stderr } = await run.merge('1', 'file/merged');
    expect([code, stderr]).toEqual([EXIT.cannotCreate, expect.stringContaining('choose another --output-dir')]);
  });

  test.skipIf(process.getuid?.() === 0)('may not be written to: root may write everywhere', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await mkdir(run.path('merged'));
    await chmod(run.path('merged'), 0o555);
    expect((await run.merge('1', 'merged')).code).toBe(EXIT.cannotCreate);
  });

  test('is in use by another awb', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await run.merge('1', 'merged');
    const infer = startAwb([
      ...['infer', '--data-dir', run.data, '--model-base-url', 'http://127.0.0.1:9/v1', '--model-name', 'wm'],
      ...['--output-dir', run.path('merged'), '--wait-ready', '10m', '--retry-minutes', '10'],
    ]);
    const manifest = run.path('merged', 'predictions.manifest.json');
    while (!(await readFile(manifest, 'utf8')).includes('"running"')) await wait(20);
    const { code, stderr } = await run.merge('1', 'merged');
    infer.child.kill('SIGKILL');
    await infer.ended;
    expect([code, stderr]).toEqual([EXIT.cannotCreate, expect.stringContaining('another awb is working in')]);
  });
});
