// The commands of the cluster examples: awb accepts every one of them.

import { execFile, spawn } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EXIT, present } from '../../src/core/errors.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { AT_A_TIME, startClusterTrial } from '../support/cluster-trial.js';

const run = promisify(execFile);
const EXAMPLES = join(ROOT, 'examples');
const text = (path: string) => readFile(join(EXAMPLES, path), 'utf8');

let bin: string;

beforeAll(async () => {
  bin = await temporaryFolder();
  // An awb that parses its command line, shows what it understood, and does nothing.
  const shows = `#!/bin/sh\necho "$1" >> '${join(bin, 'called')}'\nexec '${process.execPath}' '${join(ROOT, 'dist/bin.js')}' "$@" --print-config\n`;
  await writeFile(join(bin, 'awb'), shows);
  await chmod(join(bin, 'awb'), 0o755);
});

/** The settings that an example script shows, and the commands that it calls, run in an otherwise empty environment. */
async function shown(script: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
  await writeFile(join(bin, 'called'), '');
  const [program, ...args] = script as [string, ...string[]];
  const options = { cwd, env: { PATH: `${bin}:${process.env.PATH}`, HOME: bin, ...env } };
  const { stdout } = await run(program, args, options);
  return { stdout, called: (await readFile(join(bin, 'called'), 'utf8')).trim().split('\n') };
}

const TASK = {
  SLURM_JOB_ID: '10',
  SLURM_ARRAY_JOB_ID: '7',
  SLURM_ARRAY_TASK_ID: '3',
  SERVE: '',
  MODEL_BASE_URL: 'http://10.0.0.5:8000/v1',
};

describe('examples/slurm', () => {
  test.each([
    ['infer.sbatch', ['infer']],
    ['judge.sbatch', ['judge']],
    ['merge.sbatch', ['merge']],
    ['gate.sbatch', ['score', 'gate']],
  ])('%s calls awb with flags that it has', async (script, commands) => {
    const { stdout, called } = await shown(['bash', script], join(EXAMPLES, 'slurm'), TASK);
    expect(called).toEqual(commands);
    if (script === 'infer.sbatch') expect(stdout).toMatch(/shard +slurm\/8 /);
  });

  test('exit codes that it distinguishes are those of awb', async () => {
    const cases = [...(await text('slurm/task.sh')).matchAll(/^ {4}([\d |]+)\)/gm)];
    const known = new Set<number>([...Object.values(EXIT), ...[6, 9, 11].map((signal) => 128 + signal)]);
    const named = cases.flatMap(([, codes = '']) => codes.split(' | ').map(Number));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((code) => !known.has(code))).toEqual([]);
  });
});

interface Job {
  readonly spec: {
    readonly completionMode?: string;
    readonly completions?: number;
    readonly podFailurePolicy: {
      readonly rules: readonly { readonly onExitCodes?: { readonly values: readonly number[] } }[];
    };
    readonly template: {
      readonly spec: {
        readonly restartPolicy: string;
        readonly containers: readonly {
          readonly name: string;
          readonly env: readonly { readonly name: string; readonly value: string }[];
          readonly command: readonly string[];
          readonly args: readonly string[];
        }[];
      };
    };
  };
}

const jobOf = async (file: string) => parse(await text(`kubernetes/${file}`)) as Job;

/** What the awb container of a Job runs, and in which environment. */
interface Container {
  readonly script: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function containerIn(file: string): Promise<Container> {
  const { containers } = (await jobOf(file)).spec.template.spec;
  const { command, args, env } = present(containers.find(({ name }) => name === 'awb'));
  return { script: [...command, ...args], env: Object.fromEntries(env.map(({ name, value }) => [name, value])) };
}

describe('examples/kubernetes', () => {
  test.each([
    ['infer.yaml', ['infer']],
    ['judge.yaml', ['merge', 'judge']],
    ['gate.yaml', ['score', 'gate']],
  ])('%s calls awb with flags that it has', async (file, commands) => {
    const { script, env } = await containerIn(file);
    const { called } = await shown(script, bin, { ...env, JOB_COMPLETION_INDEX: '0' });
    expect(called).toEqual(commands);
  });

  test('run for every index, with a pod of each Job ended and restarted, they give the bytes of an unsharded run', async () => {
    const trial = await startClusterTrial(24);
    const { dir, held } = trial;
    const [infer, judge, gate] = await Promise.all(['infer.yaml', 'judge.yaml', 'gate.yaml'].map(containerIn));
    const here = {
      PATH: `${dir}:${process.env.PATH}`,
      OUT: join(dir, 'step-2000'),
      DATA_DIR: join(dir, 'data'),
      DB: join(dir, 'runs.sqlite'),
      POLICY: join(dir, 'gate.yaml'),
      MODEL: 'wm',
      MODEL_BASE_URL: trial.server.url,
      JUDGE_MODEL: 'judge',
      JUDGE_BASE_URL: trial.server.url,
      AWB_CONCURRENCY: String(AT_A_TIME),
      AWB_QUIET: 'true',
    };
    /** A pod, from its start to its container's exit code. */
    const start = ({ script: [program = '', ...args], env }: Container, index = '') => {
      const child = spawn(program, args, { env: { ...env, ...here, JOB_COMPLETION_INDEX: index }, stdio: 'ignore' });
      return { child, ended: new Promise<number | null>((done) => child.once('exit', done)) };
    };
    const indexes = Array.from({ length: 8 }, (_, index) => String(index));
    const evicted = 4;
    const last = new Set((await trial.rowsOf(evicted + 1, 8)).slice(-AT_A_TIME));
    for (const name of last) held.add(name);
    const pods = indexes.map((index) => start(present(infer), index));
    await trial.untilAsked(last);
    // The kubelet signals only the container's first process.
    present(pods[evicted]).child.kill('SIGTERM');
    expect(await present(pods[evicted]).ended).toBe(EXIT.terminated);
    held.clear();
    pods[evicted] = start(present(infer), String(evicted));
    expect(await Promise.all(pods.map(({ ended }) => ended))).toEqual(indexes.map(() => EXIT.done));
    trial.held.add('judge');
    const judging = start(present(judge));
    while (trial.judge.asked === 0) await wait(50);
    judging.child.kill('SIGTERM');
    expect(await judging.ended).toBe(EXIT.terminated);
    trial.held.clear();
    for (const job of [judge, gate]) expect(await start(present(job)).ended).toBe(EXIT.done);

    for (const file of ['predictions.jsonl', 'judged.jsonl']) {
      expect(await trial.text('step-2000/merged', file)).toBe(await trial.text('whole', file));
    }
    expect(trial.askedAgain()).toEqual(last);
    expect(trial.judge.asked).toBeLessThanOrEqual(3 * 24 + AT_A_TIME);
    await trial.server.close();
  }, 300_000);

  test('infer has as many pods as there are shards, and the judge has one', async () => {
    const [infer, judge] = [await jobOf('infer.yaml'), await jobOf('judge.yaml')];
    const { completions } = infer.spec;
    expect(infer.spec).toMatchObject({ completionMode: 'Indexed', completions });
    expect((await containerIn('infer.yaml')).script.at(-1)).toContain(`--shard k8s/${completions} `);
    expect(judge.spec).not.toHaveProperty('completions');
  });

  test.each(['infer.yaml', 'judge.yaml', 'gate.yaml'])('%s gives up only for exit codes of awb', async (file) => {
    const { spec } = await jobOf(file);
    // The API requires this of a Job with a podFailurePolicy.
    expect(spec.template.spec.restartPolicy).toBe('Never');
    const codes = spec.podFailurePolicy.rules.flatMap(({ onExitCodes }) => onExitCodes?.values ?? []);
    const known = new Set<number>(Object.values(EXIT));
    expect(codes.filter((code) => !known.has(code))).toEqual([]);
    // Retrying fixes none of these; it fixes an endpoint outage, and a command ended by a signal.
    expect(codes).toEqual(expect.arrayContaining([EXIT.usage, EXIT.badData, EXIT.identityDiffers]));
    for (const code of [EXIT.done, EXIT.unavailable, EXIT.terminated]) expect(codes).not.toContain(code);
  });
});

test.each([
  ['ray/shards.py', /^ {4}python shards\.py [\s\S]*?\n\n/m],
  ['ray/README.md', /^python examples\/ray\/shards\.py [\s\S]*?\n```/m],
])('awb accepts the commands that examples/%s shows for a shard', async (path, shown) => {
  const line = (shown.exec(await text(path))?.[0] ?? '').replace('```', '').replaceAll('\\\n', ' ').replaceAll("'", '');
  const [, ...commands] = line.split(/ -- /).map((part) => part.trim().split(/\s+/));
  expect(commands.map(([name]) => name)).toEqual(['infer', 'judge']);
  for (const words of commands) {
    const filled = words.map((word) =>
      word.replace('{k}', '3').replace('{n}', '8').replace('{dir}', 'shards/3').replace('{merged}', 'merged'),
    );
    expect(await awb([...filled, '--print-config'])).toMatchObject({ code: EXIT.done, stderr: '' });
  }
});
