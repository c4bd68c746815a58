// The script of examples/ray on its own Ray cluster, with a worker killed while its shard runs.

import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { present } from '../../src/core/errors.js';
import { ROOT } from '../support/cli.js';
import { AT_A_TIME, type ClusterTrial, startClusterTrial } from '../support/cluster-trial.js';
import { processes, processOf } from '../support/processes.js';

const PYTHON = process.env.AWB_RAY_PYTHON ?? 'python3';
const hasRay = spawnSync(PYTHON, ['-c', 'import ray']).status === 0;

// Reported once if no Python has Ray, which takes 240 MB; CI does not install it.
if (!hasRay) it.skip('examples/ray: pip install ray, and name its Python by AWB_RAY_PYTHON', () => {});

describe.skipIf(!hasRay)('examples/ray', () => {
  let trial: ClusterTrial;

  beforeAll(async () => {
    trial = await startClusterTrial(24);
  }, 120_000);
  afterAll(() => trial.server.close());

  test('a killed worker costs the rows in flight, and the merged run is judged once, like an unsharded run', async () => {
    const { dir, held } = trial;
    const last = new Set((await trial.rowsOf(2, 4)).slice(-AT_A_TIME));
    for (const name of last) held.add(name);
    const common = ['--concurrency', String(AT_A_TIME), '--quiet'];
    const infer = [
      'infer',
      '--shard',
      '{k}/{n}',
      '--output-dir',
      '{dir}',
      '--data-dir',
      join(dir, 'data'),
      '--model-base-url',
      trial.server.url,
    ];
    const judge = ['judge', '{merged}', '--judge-base-url', trial.server.url];
    const child = spawn(
      PYTHON,
      [
        ...[join(ROOT, 'examples/ray/shards.py'), '--awb', join(dir, 'awb'), '--shards', '4', '--cpus', '0.5'],
        ...['--out', join(dir, 'out'), '--', ...infer, '--model-name', 'wm', ...common],
        ...['--', ...judge, '--judge-model', 'judge', ...common],
      ],
      { env: { ...process.env, RAY_ADDRESS: 'local', RAY_USAGE_STATS_ENABLED: '0' }, stdio: 'pipe' },
    );
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
    const ended = new Promise((done) => child.once('close', done));

    await trial.untilAsked(last);
    const { pid, parent } = present(
      processes().find(({ command }) => / infer --shard 2\/4 /.test(command) && command.includes(dir)),
    );
    process.kill(parent, 'SIGKILL');
    // The kernel ends awb once the worker is gone; an answer before that would be kept.
    while (processOf(pid).command.includes(dir)) await wait(20);
    held.clear();

    expect(await ended, said).toBe(0);
    for (const file of ['predictions.jsonl', 'judged.jsonl']) {
      expect(await trial.text('out/merged', file)).toBe(await trial.text('whole', file));
    }
    expect(trial.askedAgain()).toEqual(last);
    expect(trial.judge.asked).toBe(72);
  }, 300_000);
});
