// Runs the job of a GitHub workflow as a runner does: each shell step for real, and GitHub's own actions by their effect on files.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './cli.js';

interface Step {
  readonly name?: string;
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string | number>>;
}

export interface Job {
  readonly env: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  readonly 'timeout-minutes': number;
}

export async function jobOf(workflow: string): Promise<Job> {
  const [job] = Object.values<Job>(parse(await readFile(join(ROOT, workflow), 'utf8')).jobs);
  if (job === undefined) throw new Error(`${workflow} has no job`);
  return job;
}

interface Runner {
  /** A folder with a script for each program of the runner, found before others on the path. */
  readonly programs: string;
  /** What outlives a job: caches by key, and artefacts. */
  readonly kept: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly runId: number;
  /** Replaces the job's `env`. */
  readonly env: Readonly<Record<string, string>>;
}

export interface JobResult {
  /** The outcome of each step that ran, by its name or what it uses. */
  readonly steps: Readonly<Record<string, number>>;
  readonly log: string;
  readonly outputs: string;
}

/** Runs the job in an empty workspace. */
export async function runJob(job: Job, workspace: string, runner: Runner): Promise<JobResult> {
  const [envFile, output, summary] = ['env', 'output', 'summary'].map((name) =>
    join(workspace, `../${name}-${runner.runId}`),
  );
  for (const file of [envFile, output, summary]) await writeFile(file as string, '');
  const known: Record<string, string> = {};
  const expanded = (value: string | number) =>
    String(value).replace(/\$\{\{ (\w+)\.(\w+) \}\}/g, (_, of: string, name: string) => {
      if (of === 'inputs') return runner.inputs[name] ?? '';
      if (of === 'env') return known[name] ?? '';
      if (of === 'github') return { run_id: String(runner.runId), run_attempt: '1', token: 'token' }[name] ?? '';
      return of === 'secrets' ? 'secret' : '';
    });
  const given = { ...job.env, ...runner.env };
  for (const [name, value] of Object.entries(given)) known[name] = expanded(value);
  const steps: Record<string, number> = {};
  let [log, hasFailed] = ['', false];
  const shell = async (script: string, env: Readonly<Record<string, string>>) => {
    const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', script], {
      cwd: workspace,
      env: {
        PATH: `${runner.programs}:${process.env.PATH}`,
        HOME: workspace,
        RUNNER_TEMP: join(workspace, '..'),
        GITHUB_ACTIONS: 'true',
        GITHUB_ENV: envFile,
        GITHUB_OUTPUT: output,
        GITHUB_STEP_SUMMARY: summary,
        ...known,
        ...env,
      },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        log += chunk;
      });
    }
    return new Promise<number>((done) => child.once('close', (code) => done(code ?? 1)));
  };
  const caches = join(runner.kept, 'caches');
  await mkdir(caches, { recursive: true });
  const restore = async (inputs: Readonly<Record<string, string>>) => {
    const keys = (await readdir(caches)).sort().reverse();
    const found =
      keys.find((key) => key === inputs.key) ??
      keys.find((key) => inputs['restore-keys'] && key.startsWith(inputs['restore-keys']));
    if (found !== undefined) await cp(join(caches, found), join(workspace, inputs.path as string), { recursive: true });
    return 0;
  };
  const save = async ({ path = '', key = '' }: Readonly<Record<string, string>>) => {
    if (existsSync(join(caches, key))) return 1;
    await cp(join(workspace, path), join(caches, key), { recursive: true });
    return 0;
  };
  const uses = async (name: string, inputs: Readonly<Record<string, string>>) => {
    if (name.startsWith('actions/cache/save@')) return save(inputs);
    if (name.startsWith('actions/cache@') || name.startsWith('actions/cache/restore@')) return restore(inputs);
    if (name.startsWith('actions/upload-artifact@')) {
      const place = join(runner.kept, 'artefacts', inputs.name as string);
      await rm(place, { recursive: true, force: true });
      if (existsSync(join(workspace, inputs.path as string))) {
        await cp(join(workspace, inputs.path as string), place, { recursive: true });
      }
      return 0;
    }
    if (name.startsWith('actions/')) return 0;
    return ownAction(inputs);
  };
  const ownAction = async (inputs: Readonly<Record<string, string>>) => {
    const { inputs: declared, runs } = parse(await readFile(join(ROOT, 'action.yml'), 'utf8'));
    const [step] = runs.steps;
    const command = `${process.execPath} ${join(ROOT, 'dist/bin.js')}`;
    const inputOf = (name: string) => ({ ...inputs, command })[name] ?? declared[name]?.default ?? '';
    const env = Object.entries<string>(step.env).map(([name, text]) => [
      name,
      text.replace(/^\$\{\{ inputs\.([\w-]+) \}\}$/, (_, input: string) => inputOf(input)),
    ]);
    return shell(step.run, { ...Object.fromEntries(env), GITHUB_ACTION_PATH: ROOT });
  };
  for (const step of job.steps) {
    const condition = step.if ?? '';
    const isMet = [...condition.matchAll(/env\.(\w+) != ''/g)].every(([, name = '']) => (known[name] ?? '') !== '');
    if ((hasFailed && !condition.includes('always()')) || !isMet) continue;
    const values = (table: Readonly<Record<string, string | number>> = {}) =>
      Object.fromEntries(Object.entries(table).map(([name, value]) => [name, expanded(value)]));
    const label = step.name ?? step.uses ?? '';
    log += `\n## ${label}\n`;
    const code =
      step.run === undefined ? await uses(step.uses ?? '', values(step.with)) : await shell(step.run, values(step.env));
    steps[label] = code;
    hasFailed ||= code !== 0;
    for (const line of (await readFile(envFile as string, 'utf8')).split('\n')) {
      const at = line.indexOf('=');
      if (at > 0) known[line.slice(0, at)] = line.slice(at + 1);
    }
  }
  return { steps, log, outputs: await readFile(output as string, 'utf8') };
}
