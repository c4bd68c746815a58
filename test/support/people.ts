// Judged files with predictions, and people's ratings of them, made up for tests of rate and agree.

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DIMENSIONS } from '../../src/types.js';

/** A row of a judged file. */
export interface MadeRow {
  readonly key: string;
  readonly domain?: string;
  readonly trajectory?: string;
  readonly repeat?: number;
  /** Which of the prediction's judgements it is. */
  readonly index?: number;
  /** The judge's rating in each dimension; null where it could not rate. */
  readonly rating: number | null;
  readonly prediction?: string;
  readonly weakness?: string;
}

export const predictionOf = ({ key, prediction = `prediction of ${key}` }: Pick<MadeRow, 'key' | 'prediction'>) =>
  prediction;

export const sha256Of = (text: string) => createHash('sha256').update(text).digest('hex');

/** Writes `<dir>/judged.jsonl`. */
export async function judgedFile(dir: string, rows: readonly MadeRow[]): Promise<string> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, 'judged.jsonl');
  await writeFile(path, rows.map((row) => `${JSON.stringify(lineOf(row))}\n`).join(''));
  return path;
}

function lineOf(row: MadeRow) {
  const { key, domain = 'mcp', trajectory = `t-${key}`, repeat = 0, index = 0, rating, weakness = 'it is off' } = row;
  const awb = { key, trajectory, repeat, flags: [] };
  const told = {
    ...{ task: domain, id: key, turn_idx: 2, system_str: 'be a shell' },
    ...{ prompts: ['ls', `cat ${key}`], responses: ['a b', `truth of ${key}\nsecond line`] },
    ...{ current_prompt: `cat ${key}`, gen: `<predicted_observation>${predictionOf(row)}</predicted_observation>` },
  };
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
  row: Pick<MadeRow, 'key' | 'prediction'>,
  rater: string,
  rating: number,
  change: Readonly<Record<string, unknown>> = {},
): string {
  const ratings = Object.fromEntries(DIMENSIONS.map((name) => [name, rating]));
  const hash = sha256Of(predictionOf(row));
  return `${JSON.stringify({ schema: 'awb.person-rating/1', key: row.key, repeat: 0, rater, ...ratings, prediction_sha256: hash, ...change })}\n`;
}
