// Made-up judged files with predictions, and people's ratings of them, for tests of rate and agree.

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRow } from '../../src/benchmark/sample.js';
import { DIMENSIONS } from '../../src/core/types.js';

/** A row of a judged file. */
export interface MadeRow {
  /** The row's name here; its key in files is `keyOf`. */
  readonly name: string;
  readonly domain?: string;
  readonly trajectory?: string;
  readonly repeat?: number;
  /** The number of the judgement of its prediction. */
  readonly index?: number;
  /** The judge's rating in each dimension; null if it could not rate. */
  readonly rating: number | null;
  readonly prediction?: string;
  readonly weakness?: string;
}

export const predictionOf = ({ name, prediction = `prediction of ${name}` }: MadeRow) => prediction;

export const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

/** Writes `<dir>/judged.jsonl`. */
export async function judgedFile(dir: string, rows: readonly MadeRow[]): Promise<string> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, 'judged.jsonl');
  await writeFile(path, rows.map((row) => `${JSON.stringify(lineOf(row))}\n`).join(''));
  return path;
}

/** The row's key, computed from the benchmark's fields. */
export const keyOf = (row: MadeRow) => idsOf(row).key;
export const trajectoryOf = (row: MadeRow) => idsOf(row).trajectory;

function idsOf(row: MadeRow) {
  const reading = readRow(JSON.stringify(inputOf(row)));
  if (!reading.ok) throw new Error('no row');
  return reading.row.sample;
}

function inputOf({ name, domain = 'mcp', trajectory = name }: MadeRow) {
  return {
    ...{ task: domain, id: name, turn_idx: 2, total_turns: 2, system_str: 'be a shell' },
    ...{ prompt: [`ls ${trajectory}`, `cat ${name}`], response: ['a b', `truth of ${name}\nsecond line`] },
    current_prompt: `cat ${name}`,
  };
}

function lineOf(row: MadeRow) {
  const { repeat = 0, index = 0, rating, weakness = 'it is off' } = row;
  const { key, trajectory } = idsOf(row);
  const awb = { key, trajectory, repeat, flags: [] };
  const told = { ...inputOf(row), gen: `<predicted_observation>${predictionOf(row)}</predicted_observation>` };
  if (rating === null) {
    const judge = { status: 'failed', class: 'judge-timeout', reason: 'no end' };
    return { ...told, total_score: 0, failed: 1, awb: { ...awb, judge } };
  }
  const ratings = Object.fromEntries([...DIMENSIONS, 'total_score'].map((name) => [name, rating]));
  const judge = index === 0 ? { status: 'ok' } : { index, status: 'ok' };
  return { ...told, ...ratings, failed: 0, weaknesses: [weakness], awb: { ...awb, judge } };
}

/** A line of a ratings file: the same rating in each dimension, unless some are given. */
export function ratingLine(
  row: MadeRow,
  rater: string,
  rating: number,
  change: Readonly<Record<string, unknown>> = {},
): string {
  const ratings = Object.fromEntries(DIMENSIONS.map((name) => [name, rating]));
  const ids = { schema: 'awb.person-rating/1', key: keyOf(row), repeat: 0, rater };
  return `${JSON.stringify({ ...ids, ...ratings, prediction_sha256: sha256Of(predictionOf(row)), ...change })}\n`;
}
