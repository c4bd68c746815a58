// Which part of the rows a process takes: as the user names it, or as the cluster says that started it.

import { UserError } from '../core/errors.js';
import { isInteger } from '../core/json.js';
import type { Io } from '../core/types.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where a cluster says which of its tasks a process is. */
const CLUSTERS: Readonly<Record<string, (of: number, env: Environment) => number>> = { slurm: slurmTask, k8s: k8sTask };

const FORM = /^(?<part>[1-9]\d{0,5}|slurm|k8s)\/(?<of>[1-9]\d{0,5})$/;

/** What is wrong with the value of --shard; undefined where nothing is. */
export function shardForm(text: string): string | undefined {
  const { part, of } = FORM.exec(text)?.groups ?? {};
  const isPart = part !== undefined && (Object.hasOwn(CLUSTERS, part) || Number(part) <= Number(of));
  return isPart ? undefined : 'I/N with I from 1 to N, such as 1/4, or slurm/N or k8s/N';
}

/**
 * The shard as `I/N`. Of `slurm/N` and `k8s/N`, I comes from the environment. N never does: a part that is started once more would be
 * another part, where it is started alone.
 * @throws UserError (2) where the environment does not say which of N parts this is
 */
export function shardIn(shard: string, env: Environment): string {
  const [part = '', of = ''] = shard.split('/');
  const index = CLUSTERS[part]?.(Number(of), env);
  return index === undefined ? shard : `${index}/${of}`;
}

/** The same of the settings, said on stderr where a cluster chose it. @throws UserError as `shardIn` */
export function takenShard(
  { shard, quiet }: { readonly shard?: string | undefined; readonly quiet: boolean },
  { env, stderr }: Pick<Io, 'env' | 'stderr'>,
): string | undefined {
  const taken = shard === undefined ? undefined : shardIn(shard, env);
  if (taken !== shard && !quiet) stderr.write(`shard ${taken} of --shard ${shard}\n`);
  return taken;
}

function slurmTask(of: number, env: Environment): number {
  const task = numberIn(env, 'SLURM_ARRAY_TASK_ID', `slurm/${of}`, 'this is no task of a job array (sbatch --array)');
  const number = (name: string) => numberIn(env, name, `slurm/${of}`, 'Slurm sets it for every task of a job array');
  const first = number('SLURM_ARRAY_TASK_MIN');
  const last = number('SLURM_ARRAY_TASK_MAX');
  const step = env.SLURM_ARRAY_TASK_STEP === undefined ? 1 : number('SLURM_ARRAY_TASK_STEP');
  const count = env.SLURM_ARRAY_TASK_COUNT === undefined ? of : number('SLURM_ARRAY_TASK_COUNT');
  const isArray = step === 1 && count === of && last - first + 1 === of && task >= first && task <= last;
  if (isArray) return task - first + 1;
  throw new UserError(
    `--shard slurm/${of} needs a job array of exactly ${of} tasks in a row, such as --array=0-${of - 1}; this one has ${count} from ${first} to ${last}${step === 1 ? '' : ` in steps of ${step}`}. To run some parts again, requeue their tasks (scontrol requeue JOB_TASK), or give each its part, such as --shard ${Math.min(4, of)}/${of}`,
  );
}

function k8sTask(of: number, env: Environment): number {
  const why = 'this is no pod of an indexed Job (completionMode: Indexed)';
  const index = numberIn(env, 'JOB_COMPLETION_INDEX', `k8s/${of}`, why);
  if (index < of) return index + 1;
  throw new UserError(
    `--shard k8s/${of} has no part for JOB_COMPLETION_INDEX ${index}, which counts from 0; give the Job ${of} completions, or --shard the number that it has`,
  );
}

function numberIn(env: Environment, name: string, shard: string, why: string): number {
  const text = env[name];
  const value = text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  if (value !== undefined && isInteger(value)) return value;
  const found = text === undefined ? 'is not set' : `is ${JSON.stringify(text)}`;
  throw new UserError(
    `--shard ${shard} takes its part from ${name}, which ${found}: ${why}; or name the part, such as --shard 1/4`,
  );
}
