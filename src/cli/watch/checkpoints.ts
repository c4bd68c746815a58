// The options of awb watch. The checkpoints in a folder: which are there, which are complete, and a stamp that tells when one has changed.
// What the watch knows of each: a small file in the folder of its run, so that a watch that was killed goes on.

import type { Stats } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, inputMissing } from '../../core/errors.js';
import { isObject } from '../../core/json.js';
import { readJson, sizeOf, writeJson } from '../../disk/files.js';
import { type OptionTable, option, type Settings, under } from '../../settings/command.js';

export const WATCH_OPTIONS = {
  ...under('Checkpoints', {
    dir: option.text('DIR', 'folder in which checkpoints arrive, each a folder or a file of it', { required: true }),
    pattern: option.text('GLOB', 'names of checkpoints, with * and ?, such as "step-*"', { default: '*' }),
    marker: option.text('NAME', 'file in a checkpoint, or beside it as <checkpoint>.NAME, once it is complete', {
      default: 'COMPLETE',
      check: (text) => (/^[^/\\]+$/.test(text) ? undefined : 'the name of a file'),
    }),
  }),
  ...under('Server', {
    'serve-command': option.list('COMMAND', 'serves {checkpoint} at {port}; no shell', { required: true, whole: true }),
    endpoint: option.text('URL', 'where it is asked', { default: 'http://127.0.0.1:{port}/v1' }),
    port: option.integer('its port; a free one where none is given', { min: 1, max: 65535 }),
    'served-model': option.text('NAME', 'model to ask for; the first that the server lists where none is given'),
    'wait-ready': option.duration('longest wait until the server lists its models', { min: 0.001, default: 900 }),
  }),
  ...under('Gate', {
    base: option.text('RUN', 'the fixed run: a label or number in --db, or a path', { required: true }),
  }),
  ...under('Output', {
    'output-dir': option.text('DIR', 'folder of watch.jsonl and of a folder a checkpoint', { default: './watch' }),
    db: option.text('FILE', 'SQLite file that scores go to', { default: 'awb.sqlite' }),
    'on-result': option.list('COMMAND', 'gets each result as JSON on its standard input', { whole: true }),
  }),
  ...under('Watching', {
    'pass-env': option.list('NAME', 'secrets, by the names of their variables, that the server and --on-result get'),
    once: option.flag('take what is there, and end with its exit code'),
    every: option.duration('time between two looks at DIR', { min: 0.01, default: 60 }),
    tries: option.integer('rounds in which a checkpoint that cannot be evaluated is tried', { min: 1, default: 3 }),
  }),
} as const satisfies OptionTable;

/** As they were given, with the path of the configuration file that the steps read, too. */
export type WatchSettings = Settings<typeof WATCH_OPTIONS> & { readonly config: string };

interface Checkpoint {
  /** Its name in the folder. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Size and time of its marker, which is written anew with other weights. */
  readonly stamp: string;
}

/** `step-2` before `step-10`. */
const IN_ORDER = new Intl.Collator('en', { numeric: true });

/**
 * The complete checkpoints of a folder in the order of their names, numbers by their size.
 * @throws UserError (66) where the folder cannot be read
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

/** The steps that are kept once they are done, with their exit codes. */
export const STEPS = ['infer', 'judge', 'score', 'gate'] as const;
export type Step = (typeof STEPS)[number];

interface CheckpointRecord extends Checkpoint {
  readonly steps: Partial<Record<Step, number>>;
  /** Rounds that failed. */
  readonly failures: number;
  /** Set once its result has been told. */
  readonly verdict?: string;
  readonly finishedAt?: string;
}

/** A checkpoint with its run's folder, and what is known of it. */
export interface Kept {
  readonly dir: string;
  record: CheckpointRecord;
}

/**
 * The run folder of a checkpoint: that of its name, or the next one (`step-100.2`) where another checkpoint had that name, since
 * predictions of other weights must not be mixed.
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

/** The record in a run's folder; undefined where the watch has not made it. */
export async function recordIn(dir: string): Promise<CheckpointRecord | undefined> {
  const value = await readJson(join(dir, FILE));
  if (value?.schema !== SCHEMA || typeof value.stamp !== 'string' || !isObject(value.steps)) return undefined;
  // The watch has written it, in this form.
  return value as unknown as CheckpointRecord;
}

/** Adds to what is known of a checkpoint, and writes it down. */
export async function keepRecord(kept: Kept, more: Partial<CheckpointRecord>): Promise<void> {
  kept.record = { ...kept.record, ...more };
  await mkdir(kept.dir, { recursive: true });
  await writeJson(join(kept.dir, FILE), { schema: SCHEMA, ...kept.record });
}
