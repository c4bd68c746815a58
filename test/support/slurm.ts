// A Slurm of one node, started and stopped by the script that users have; jobs submitted to it, watched, and their processes killed.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from './cli.js';

const run = promisify(execFile);
export const SLURM = join(ROOT, 'examples/slurm');
const ONE_NODE = join(SLURM, 'one-node.sh');
const PROGRAMS = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'scontrol'];

/** Why tests that need Slurm are left out; undefined where a node can be started. */
export const noSlurm = reason();

function reason(): string | undefined {
  const folders = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin'];
  const missing = PROGRAMS.find((program) => !folders.some((folder) => existsSync(join(folder, program))));
  if (missing !== undefined) return `there is no ${missing} (apt-get install slurm-wlm munge)`;
  return process.getuid?.() === 0 ? undefined : "only root can start Slurm's daemons";
}

export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

export interface SlurmNode {
  readonly dir: string;
  /** What a command gets on stdout, run with this node's configuration and the further variables alone. */
  run(command: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** What `scontrol show job` tells of a job or task. */
  job(id: string): Promise<Readonly<Record<string, string>>>;
  /** The job once it is in one of these states. */
  until(id: string, ...states: string[]): Promise<Readonly<Record<string, string>>>;
  /** The processes of a task, its slurmstepd first. */
  processes(array: string, task: number): readonly Process[];
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
      // An array is told in a line a task; the first is the task that was named, or the part that was not split off.
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
    processes(array, task) {
      const own = allProcesses(`SLURM_ARRAY_JOB_ID=${array}\0SLURM_ARRAY_TASK_ID=${task}`.split('\0'));
      const pids = new Set(own.map(({ pid }) => pid));
      const [stepd] = own.filter(({ parent }) => !pids.has(parent)).map(({ parent }) => describe(parent));
      return stepd?.command.startsWith('slurmstepd') ? [stepd, ...own] : own;
    },
    async stop() {
      await run('bash', [ONE_NODE, 'stop', dir]);
    },
  };
  return node;
}

/** The processes whose environment holds all of these. */
function allProcesses(wanted: readonly string[]): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const variables = read(`/proc/${pid}/environ`).split('\0');
      return wanted.every((variable) => variables.includes(variable));
    })
    .map((pid) => describe(Number(pid)));
}

function describe(pid: number): Process {
  const parent = /^PPid:\s*(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1];
  return { pid, parent: Number(parent), command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') };
}

/** The text of a file of /proc, empty where its process has gone. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
