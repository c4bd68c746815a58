// The part of the rows that a cluster's environment names.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import { shardForm, shardIn } from '../../src/infer/options.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';

/** What Slurm sets for a task of `--array=FIRST-LAST:STEP`, of which it counts the tasks itself. */
function slurm(task: number, first: number, last: number, step = 1) {
  return {
    SLURM_ARRAY_TASK_ID: String(task),
    SLURM_ARRAY_TASK_MIN: String(first),
    SLURM_ARRAY_TASK_MAX: String(last),
    SLURM_ARRAY_TASK_STEP: String(step),
    SLURM_ARRAY_TASK_COUNT: String(Math.floor((last - first) / step) + 1),
  };
}

describe('the part', () => {
  test.each<[string, Record<string, string>, string]>([
    ['3/8', slurm(7, 0, 7), '3/8'],
    ['slurm/8', slurm(0, 0, 7), '1/8'],
    ['slurm/8', slurm(7, 0, 7), '8/8'],
    ['slurm/8', slurm(12, 10, 17), '3/8'],
    ['slurm/1', slurm(5, 5, 5), '1/1'],
    ['slurm/8', { ...slurm(3, 0, 7), SLURM_RESTART_COUNT: '2' }, '4/8'],
    ['k8s/4', { JOB_COMPLETION_INDEX: '0' }, '1/4'],
    ['k8s/4', { JOB_COMPLETION_INDEX: '3', ...slurm(0, 0, 7) }, '4/4'],
  ])('of %s under %j is %s', (shard, env, part) => {
    expect(shardIn(shard, env)).toBe(part);
  });

  test.each<[string, string, Record<string, string>, RegExp]>([
    [
      'no task of an array',
      'slurm/8',
      {},
      /needs SLURM_ARRAY_TASK_ID, .* of a job array of exactly 8 consecutive tasks/,
    ],
    ['no number', 'slurm/8', { SLURM_ARRAY_TASK_ID: 'x' }, /needs SLURM_ARRAY_TASK_ID/],
    ['no beginning', 'slurm/8', { SLURM_ARRAY_TASK_ID: '3' }, /needs SLURM_ARRAY_TASK_ID/],
    ['one task started alone', 'slurm/8', slurm(3, 3, 3), /exactly 8 consecutive tasks.*requeue/],
    ['a part of the array', 'slurm/8', slurm(5, 3, 6), /exactly 8 consecutive tasks/],
    ['a larger array', 'slurm/4', slurm(2, 0, 7), /exactly 4 consecutive tasks, such as --array=0-3/],
    ['steps of two', 'slurm/4', slurm(2, 0, 7, 2), /exactly 4 consecutive tasks/],
    [
      'tasks that are not in a row',
      'slurm/3',
      { ...slurm(3, 1, 5), SLURM_ARRAY_TASK_COUNT: '3' },
      /exactly 3 consecutive tasks/,
    ],
    ['a task outside of its array', 'slurm/8', slurm(9, 0, 7), /exactly 8 consecutive tasks/],
    ['no indexed Job', 'k8s/4', {}, /JOB_COMPLETION_INDEX of an indexed Job of 4 completions/],
    ['an index beyond N', 'k8s/4', { JOB_COMPLETION_INDEX: '4' }, /an indexed Job of 4 completions/],
  ])('is refused as misuse where there is %s', (_, shard, env, message) => {
    expect(() => shardIn(shard, env)).toThrow(message);
    const refusal = (() => {
      try {
        return shardIn(shard, env);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal instanceof UserError && refusal.exitCode).toBe(EXIT.usage);
  });

  test.each(['1/1', '4/4', 'slurm/8', 'k8s/999999'])('may be named %s', (text) => {
    expect(shardForm(text)).toBeUndefined();
  });

  test.each(['0/4', '5/4', 'slurm', 'slurm/', 'slurm/0', 'k8s/x', 'slurm/8/2', 'pbs/4', 'toString/4'])(
    'may not be named %s',
    (text) => {
      expect(shardForm(text)).toMatch(/I\/N/);
    },
  );
});

describe('awb infer --shard slurm/3', () => {
  const infer = async (shard: string, env: Record<string, string>) => {
    const out = await temporaryFolder();
    const args = ['infer', '--data-dir', RECORDED, '--baseline', 'oracle', '--output-dir', out, '--shard', shard];
    const { code, stderr } = await awb(args, { env });
    const rows = code === EXIT.done ? await readFile(join(out, 'predictions.jsonl'), 'utf8') : '';
    return { code, stderr, rows, out };
  };

  test('takes the same rows as the part that it names, and the manifest names that part', async () => {
    const named = await infer('2/3', {});
    const taken = await infer('slurm/3', slurm(8, 7, 9));
    expect([taken.code, taken.rows]).toEqual([EXIT.done, named.rows]);
    expect(taken.stderr).toContain('shard 2/3 of --shard slurm/3\n');
    const manifest = JSON.parse(await readFile(join(taken.out, 'predictions.manifest.json'), 'utf8'));
    expect(manifest.settings.shard).toBe('2/3');
  });

  test('outside of a job array it reads no data and asks nothing', async () => {
    const { code, stderr } = await infer('slurm/3', {});
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain('or name the part, such as --shard 1/4');
  });
});
