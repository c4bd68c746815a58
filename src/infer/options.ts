// The options of awb infer: which rows to take, which world model to ask, and how.

import { BASELINES } from '../benchmark/baselines.js';
import { ORDERS } from '../benchmark/selection.js';
import { UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { MOST_REPEATS } from '../core/prediction.js';
import { DOMAINS, type Io } from '../core/types.js';
import type { BatchSettings } from '../run/batch/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, option, type Settings, under } from '../settings/command.js';
import { shortLabel } from '../settings/sources.js';
import { PROTOCOLS, SYSTEM_PROMPT_OPTIONS } from './messages.js';

export const INFER_OPTIONS = {
  ...under('Data', {
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files', { default: 'data' }),
    'output-dir': option.text('DIR', "the run's folder", { default: './results' }),
    domains: option.list('LIST', `only these domains: ${DOMAINS.join(', ')}, or your own`),
    limit: option.integer('only the first N rows of each domain', { min: 1 }),
    sample: option.integer('N rows of each domain, the same for the same seed', { min: 1 }),
    'sample-seed': option.integer('seed of --sample and --order random', { min: 0, default: 0 }),
    ids: option.list('LIST', 'only rows with these ids or keys'),
    shard: option.text(
      'I/N',
      'part I of N, in whole trajectories; slurm/N and k8s/N take I from the array task or Job index',
      { check: shardForm },
    ),
    'skip-invalid': option.flag('leave unusable rows out, counted against coverage'),
    lean: option.flag('leave the trajectory text out of predictions.jsonl'),
    fresh: option.flag('start over; the old files are moved aside'),
    label: option.text('NAME', "the checkpoint's name in manifest, database and tables", { check: shortLabel }),
    meta: option.map('facts about the checkpoint, such as step=100', { value: 'K=V' }),
  }),
  ...under('Model', {
    'model-base-url': option.list('URL', 'OpenAI-compatible endpoint; several share the rows', { check: httpUrl }),
    'model-name': option.text('NAME', 'model to ask for'),
    'model-api-key': option.text('KEY', 'key, sent as bearer token', { secret: true }),
    baseline: option.choice(keysOf(BASELINES), 'use a baseline in place of a model, for calibration'),
    protocol: option.choice(keysOf(PROTOCOLS), 'message layout; history is the official one', { default: 'history' }),
  }),
  ...SYSTEM_PROMPT_OPTIONS,
  repeats: option.integer('ask every row N times', { min: 1, max: MOST_REPEATS, default: 1, group: 'Model' }),
  ...under('Simulation', {
    rollout: option.flag("ask every turn of a trajectory in order, after the model's own earlier predictions"),
    'rollout-from': option.integer('with --rollout, keep the first N turns as recorded (default: 0)', { min: 0 }),
  }),
  order: option.choice(keysOf(ORDERS), 'prefix: turns of a trajectory together, so that prefix caches hit', {
    default: 'prefix',
    group: 'Speed',
  }),
  ...ASKING_OPTIONS,
} as const satisfies OptionTable;

/** The table without some of its options. */
export function without<Table extends OptionTable, Name extends keyof Table>(table: Table, ...names: readonly Name[]) {
  const left = Object.entries(table).filter(([name]) => !names.some((other) => other === name));
  // The remaining options keep their names and kinds.
  return Object.fromEntries(left) as Omit<Table, Name>;
}

export type InferSettings = Settings<typeof INFER_OPTIONS> & BatchSettings;

const FORM = /^(?:(?<part>[1-9]\d{0,5})|slurm|k8s)\/(?<of>[1-9]\d{0,5})$/;

/** What is wrong with the value of --shard; undefined if it is valid. */
export function shardForm(text: string): string | undefined {
  const { part = '1', of = '0' } = FORM.exec(text)?.groups ?? {};
  return Number(part) <= Number(of) ? undefined : 'I/N with I from 1 to N, such as 1/4, or slurm/N or k8s/N';
}

/** The shard of the settings as `shardIn` reads it, reported on stderr if a cluster chose it. @throws UserError as `shardIn` */
export function takenShard(
  { shard, quiet }: { readonly shard?: string | undefined; readonly quiet: boolean },
  { env, stderr }: Pick<Io, 'env' | 'stderr'>,
): string | undefined {
  const taken = shard === undefined ? undefined : shardIn(shard, env);
  if (taken !== shard && !quiet) stderr.write(`shard ${taken} of --shard ${shard}\n`);
  return taken;
}

/**
 * The shard as `I/N`. For `slurm/N` and `k8s/N`, I comes from the environment. N never does: a part that is started again on its own
 * would become another part.
 * @throws UserError (2) if the environment does not say which of N parts this is
 */
export function shardIn(shard: string, env: Io['env']): string {
  const [part, of] = shard.split('/');
  if (part !== 'slurm' && part !== 'k8s') return shard;
  const parts = Number(of);
  const numberIn = (name: string) => (/^\d{1,15}$/.test(env[name] ?? '') ? Number(env[name]) : Number.NaN);
  const [index = 0, first = 0, last = 0, count = 0] =
    part === 'k8s'
      ? [numberIn('JOB_COMPLETION_INDEX'), 0, parts - 1, parts]
      : ['ID', 'MIN', 'MAX', 'COUNT'].map((name) => numberIn(`SLURM_ARRAY_TASK_${name}`));
  if (count === parts && last - first + 1 === parts && index >= first && index <= last) {
    return `${index - first + 1}/${of}`;
  }
  const needed =
    part === 'k8s'
      ? `JOB_COMPLETION_INDEX of an indexed Job of ${of} completions`
      : `SLURM_ARRAY_TASK_ID, MIN, MAX and COUNT of a job array of exactly ${of} consecutive tasks, such as --array=0-${parts - 1} (rerun some with scontrol requeue)`;
  throw new UserError(`--shard ${shard} needs ${needed}; or name the part, such as --shard 1/4`);
}
