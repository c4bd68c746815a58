// The options of awb watch. The checkpoints in a folder: which exist, which are complete, and a stamp that changes with the weights.
// The record of each: a small file in the folder of its run, so that a watch can continue after a kill.

import type { Stats } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, inputMissing } from '../../core/errors.js';
import { isObject } from '../../core/json.js';
import { readJson, sizeOf, writeJson } from '../../disk/files.js';
import { type OptionTable, option, type Settings, under } from '../../settings/command.js';

export const WATCH_OPTIONS = {
  ...under('Checkpoints', {
    dir: option.text('DIR', 'folder in which checkpoints (folders or files) arrive', { required: true }),
    pattern: option.text('GLOB', 'names of checkpoints, with * and ?, such as "step-*"', { default: '*' }),
    marker: option.text('NAME', 'file that marks a checkpoint as complete: in it, or next to it as <checkpoint>.NAME', {
      default: 'COMPLETE',
      check: (text) => (/^[^/\\]+$/.test(text) ? undefined : 'the name of a file'),
    }),
  }),
  ...under('Server', {
    'serve-command': option.list('COMMAND', 'serves {checkpoint} on {port}; no shell', { required: true, whole: true }),
    endpoint: option.text('URL', 'address of the server', { default: 'http://127.0.0.1:{port}/v1' }),
    port: option.integer('port of the server (default: a free one)', { min: 1, max: 65535 }),
    'served-model': option.text('NAME', 'model to ask for (default: the first that the server lists)'),
    'wait-ready': option.duration('maximum wait for the server to list its models', { min: 0.001, default: 900 }),
  }),
  ...under('Gate', {
    base: option.text('RUN', 'run to compare with: a label or number in --db, or a path', { required: true }),
  }),
  ...under('Output', {
    'output-dir': option.text('DIR', 'folder for watch.jsonl and one folder per checkpoint', { default: './watch' }),
    db: option.text('FILE', 'SQLite file for the scores', { default: 'awb.sqlite' }),
    'on-result': option.list('COMMAND', 'run for each result (JSON on standard input)', { whole: true }),
  }),
  ...under('Watching', {
    'pass-env': option.list('NAME', 'secret environment variables to pass to the server and --on-result'),
    once: option.flag('evaluate what is there now, then exit'),
    every: option.duration('time between scans of DIR', { min: 0.01, default: 60 }),
    tries: option.integer('rounds per checkpoint before giving up', { min: 1, default: 3 }),
  }),
} as const satisfies OptionTable;

/** The settings as given, plus the path of the configuration file that the steps read. */
export type WatchSettings = Settings<typeof WATCH_OPTIONS> & { readonly config: string };

interface Checkpoint {
  /** Its name in the folder. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Size and time of its marker, which is rewritten with new weights. */
  readonly stamp: string;
}

/** `step-2` before `step-10`. */
const IN_ORDER = new Intl.Collator('en', { numeric: true });

/**
 * The complete checkpoints of a folder, sorted by name with numbers by value.
 * @throws UserError (66) if the folder cannot be read
 */
export async function checkpointsIn(
  dir: string,
  { pattern, marker }: Pick<WatchSettings, 'pattern' | 'marker'>,
): Promise<Checkpoint[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    throw inputMissing(`cannot read the folder of checkpoints ${dir} (${codeOf(error)})`);
  });
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/[*?]/g, (sign) => (sign === '*' ? '.*' : '.'));
  const isNamed = new RegExp(`^${source}$`, 's');
  const complete: Checkpoint[] = [];
  const isOther = (name: string) => name.startsWith('.') || name === marker || name.endsWith(`.${marker}`);
  const candidates = names.filter((name) => isNamed.test(name) && !isOther(name));
  for (const name of candidates.sort(IN_ORDER.compare)) {
    const path = join(dir, name);
    const marked = (await statOf(join(path, marker))) ?? (await statOf(`${path}.${marker}`));
    if (marked !== undefined) complete.push({ name, path, stamp: `${marked.size} ${marked.mtimeMs}` });
  }
  return complete;
}

async function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

const SCHEMA = 'awb.watch-checkpoint/1';
const FILE = 'checkpoint.json';

/** The steps, recorded with their exit codes once they are done. */
export const STEPS = ['infer', 'judge', 'score', 'gate'] as const;
export type Step = (typeof STEPS)[number];

interface CheckpointRecord extends Checkpoint {
  readonly steps: Partial<Record<Step, number>>;
  /** Number of failed rounds. */
  readonly failures: number;
  /** Set once its result has been reported. */
  readonly verdict?: string;
  readonly finishedAt?: string;
}

/** A checkpoint's record, and the folder of its run. */
export interface Kept {
  readonly dir: string;
  record: CheckpointRecord;
}

/**
 * The run folder of a checkpoint: named after it, or with a number (`step-100.2`) if another checkpoint had that name, since
 * predictions of different weights must not be mixed.
 * @throws UserError (65, 66) for a record that cannot be read
 */
export async function keptOf(outputDir: string, checkpoint: Checkpoint): Promise<Kept> {
  for (let round = 1; ; round++) {
    const dir = join(outputDir, round === 1 ? checkpoint.name : `${checkpoint.name}.${round}`);
    const record = await recordIn(dir);
    if (record?.stamp === checkpoint.stamp && record.path === checkpoint.path) return { dir, record };
    const isFree = record === undefined && (await sizeOf(dir)) === undefined;
    if (isFree) return { dir, record: { ...checkpoint, steps: {}, failures: 0 } };
  }
}

/** The record in a run's folder; undefined if the watch did not create the folder. */
export async function recordIn(dir: string): Promise<CheckpointRecord | undefined> {
  const value = await readJson(join(dir, FILE));
  if (value?.schema !== SCHEMA || typeof value.stamp !== 'string' || !isObject(value.steps)) return undefined;
  // Written by `keepRecord`, in this form.
  return value as unknown as CheckpointRecord;
}

/** Adds to a checkpoint's record, and writes it. */
export async function keepRecord(kept: Kept, more: Partial<CheckpointRecord>): Promise<void> {
  kept.record = { ...kept.record, ...more };
  await mkdir(kept.dir, { recursive: true });
  await writeJson(join(kept.dir, FILE), { schema: SCHEMA, ...kept.record });
}
