// What the watch knows of a checkpoint: a small file in the folder of its run, so that a watch that was killed goes on.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../json.js';
import { readJson, sizeOf } from '../run/file-reading.js';
import { writeJson } from '../run/files.js';
import type { Checkpoint } from './checkpoints.js';

const SCHEMA = 'awb.watch-checkpoint/1';
const FILE = 'checkpoint.json';

/** The steps that are kept once they are done, with their exit codes. */
export const STEPS = ['infer', 'judge', 'score', 'gate'] as const;
export type Step = (typeof STEPS)[number];

export interface CheckpointRecord {
  readonly name: string;
  readonly path: string;
  readonly stamp: string;
  readonly steps: Partial<Record<Step, number>>;
  /** Rounds that failed, and when the latest did: milliseconds since the epoch. */
  readonly failures: number;
  readonly failedAt?: number;
  /** Of its batch files, how many requests were told of, and when their results were looked for the last time. */
  readonly awaited?: { readonly requests: number; readonly at: number };
  /** Set once its result has been told. */
  readonly verdict?: string;
  readonly finishedAt?: string;
}

/** A checkpoint with its run's folder, and what is known of it. */
export interface Kept {
  readonly dir: string;
  readonly record: CheckpointRecord;
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

export async function keepRecord({ dir, record }: Kept): Promise<void> {
  await mkdir(dir, { recursive: true });
  await writeJson(join(dir, FILE), { schema: SCHEMA, ...record });
}
