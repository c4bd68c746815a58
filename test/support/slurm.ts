// A Slurm of one node, started and stopped by the users' script; submits jobs, watches them, and kills their processes.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from './cli.js';
import { processes as allProcesses, type Process, processOf } from './processes.js';

const run = promisify(execFile);
export const SLURM = join(ROOT, 'examples/slurm');
const ONE_NODE = join(SLURM, 'one-node.sh');
const PROGRAMS = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'scontrol'];

/** Why tests that need Slurm are skipped; undefined if a node can be started. */
export const noSlurm = reason();

function reason(): string | undefined {
  const folders = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin'];
  const missing = PROGRAMS.find((program) => !folders.some((folder) => existsSync(join(folder, program))));
  if (missing !== undefined) return `there is no ${missing} (apt-get install slurm-wlm munge)`;
  return process.getuid?.() === 0 ? undefined : "only root can start Slurm's daemons";
}

export interface SlurmNode {
  readonly dir: string;
  /** The stdout of a command, run with only this node's configuration and these variables. */
  run(command: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** The output of `scontrol show job` for a job or task. */
  job(id: string): Promise<Readonly<Record<string, string>>>;
  /** The job once it is in one of these states. */
  until(id: string, ...states: string[]): Promise<Readonly<Record<string, string>>>;
  /** The processes of a job, or of a task of an array, its slurmstepd first. */
  processes(job: string, task?: number): readonly Process[];
  stop(): Promise<void>;
}

export async function startSlurm(dir: string): Promise<SlurmNode> {
  const { stdout } = await run('bash', [ONE_NODE, 'start', dir]);
  const env = { PATH: process.env.PATH ?? '', HOME: dir, SLURM_CONF: stdout.trim() };
  const node: SlurmNode = {
    dir,
    async run(command, args, further = {}) {
      return (await run(command, [...args], { env: { ...env, ...further } })).stdout.trim();
    },
    async job(id) {
      const told = await node.run('scontrol', ['show', 'job', '--oneliner', id]);
      // An array has one line per task; the first is the named task, or the part that was not split off.
      const words = (told.split('\n')[0] as string).split(' ').map((word) => word.split('='));
      return Object.fromEntries(words.map(([name, ...value]) => [name, value.join('=')]));
    },
    async until(id, ...states) {
      for (;;) {
        const job = await node.job(id);
        if (states.includes(job.JobState as string)) return job;
        await wait(100);
      }
    },
    processes(job, task) {
      const ofTask = [`SLURM_ARRAY_JOB_ID=${job}`, `SLURM_ARRAY_TASK_ID=${task}`];
      const wanted = task === undefined ? [`SLURM_JOB_ID=${job}`] : ofTask;
      const own = allProcesses().filter(({ environment }) => wanted.every((one) => environment.includes(one)));
      const pids = new Set(own.map(({ pid }) => pid));
      const [stepd] = own.filter(({ parent }) => !pids.has(parent)).map(({ parent }) => processOf(parent));
      return stepd?.command.startsWith('slurmstepd') ? [stepd, ...own] : own;
    },
    async stop() {
      await run('bash', [ONE_NODE, 'stop', dir]);
    },
  };
  return node;
}
