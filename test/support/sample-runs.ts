// Judged files with complete texts, and their runs, for tests of what shows samples.

import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fact } from '../../src/core/facts.js';
import { DIMENSIONS, type Dimension } from '../../src/core/types.js';
import type { ListedSample, SampleList } from '../../src/view/documents.js';

export interface MadeRow {
  readonly domain?: string;
  readonly trajectory?: string;
  readonly turn?: number;
  readonly repeat?: number;
  readonly judgement?: number;
  /** All ratings, or those of some dimensions (the others are 5), or a class of failure. */
  readonly rated?: number | Partial<Record<Dimension, number>> | string;
  readonly gen?: string;
  readonly weaknesses?: readonly string[];
  readonly facts?: readonly Fact[];
  readonly flags?: readonly string[];
  readonly lean?: boolean;
}

/** The key of a row; rows with the same place share it. */
export const keyOf = ({ domain = 'terminal', trajectory = 'a', turn = 1 }: MadeRow) =>
  createHash('sha256').update(`${domain} ${trajectory} ${turn}`).digest('hex').slice(0, 24);

/** The line of a judged file. Turns of a trajectory share their history. */
export function lineOf(row: MadeRow) {
  const { domain = 'terminal', trajectory = 'a', turn = 1, repeat = 0, judgement = 0, rated = 5, lean = false } = row;
  const turns = Array.from({ length: turn }, (_, at) => at + 1);
  const texts = {
    prompt: turns.map((at) => `**Action:** step ${at} of ${trajectory}`),
    response: turns.map((at) => `**Environment Observation:**\nline ${at} of ${trajectory}\nend`),
    current_prompt: '',
    system_str: `you are ${domain}`,
  };
  const isFailed = typeof rated === 'string';
  const ratings = Object.fromEntries(
    DIMENSIONS.map((name) => [name, typeof rated === 'object' ? (rated[name] ?? 5) : isFailed ? 0 : rated]),
  );
  const { gen = isFailed ? '' : `<think>hm</think>line ${turn} of ${trajectory}\nfin`, facts } = row;
  const judge = isFailed
    ? { status: 'failed', class: rated, reason: `${rated}: nothing came` }
    : { status: 'ok', facts };
  return {
    task: `agentworld/${domain}`,
    id: trajectory,
    turn_idx: turn,
    total_turns: turn,
    ...(lean ? {} : texts),
    gen,
    ...ratings,
    total_score: Object.values(ratings).reduce((sum, rating) => sum + rating, 0) / DIMENSIONS.length,
    failed: isFailed ? 1 : 0,
    strengths: ['fluent'],
    weaknesses: row.weaknesses ?? [],
    judge_raw_output: 'the verdict',
    awb: {
      ...{ key: keyOf(row), trajectory: `t-${trajectory}`, repeat, flags: row.flags ?? [] },
      judge: judgement > 0 ? { index: judgement, ...judge } : judge,
    },
  };
}

/** Writes `<dir>/judged.jsonl` with the manifest of a judging over predictions of a model, and returns the file's path. */
export async function sampleRun(dir: string, rows: readonly MadeRow[], more: object = {}): Promise<string> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'judged.jsonl');
  await writeFile(file, rows.map((row) => `${JSON.stringify(lineOf(row))}\n`).join(''));
  const sampling = { maxTokens: 100, temperature: 0.5, seed: 7, extraBody: { top_a: 1 } };
  const predictions = {
    ...{ schema: 'awb.manifest/1', kind: 'infer', meta: {}, startedAt: '2026-01-01T00:00:00.000Z' },
    identity: { data: 'd', model: 'wm', protocol: 'history', system_prompt: 'row', sampling },
    settings: {
      ...{ 'data-dir': 'data', 'model-base-url': ['http://user:secret@host:8000/v1/'], 'model-name': 'wm' },
      ...{ protocol: 'history', 'system-prompt': 'row', 'max-tokens': 100, temperature: 0.5, seed: 7, concurrency: 4 },
    },
    data: { dir: '/data/awb' },
    chosen: {},
    ...more,
  };
  const manifest = {
    ...{ schema: 'awb.manifest/1', kind: 'judge', meta: {}, startedAt: '2026-01-02T00:00:00.000Z' },
    identity: { mode: 'rubric', judge: 'j', predictions: { file: 'predictions.jsonl', run: 'r' }, sampling: {} },
    settings: { 'judge-base-url': ['http://judge/v1'], 'judge-model': 'j', mode: 'rubric', 'max-tokens': 32768 },
    fingerprint: createHash('sha256').update(dir).digest('hex'),
    predictions,
  };
  await writeFile(join(dir, 'judged.manifest.json'), JSON.stringify(manifest));
  return file;
}

/** A list of samples rated in five dimensions. */
export function listOf(
  samples: readonly (Partial<ListedSample> & { readonly k: string })[],
  more: Partial<SampleList> = {},
): SampleList {
  return {
    ref: 'r',
    name: 'run',
    lead: { name: 'Overall', decimals: 1, from: 0, to: 100, better: 'larger' },
    domains: [
      { domain: 'terminal', name: 'Terminal' },
      { domain: 'web', name: 'Web' },
    ],
    figures: DIMENSIONS.map((name) => [name[0]?.toUpperCase() + name.slice(1), 5] as const),
    trajectories: ['t-a', 't-b'],
    samples: samples.map((sample) => ({ d: 0, g: 0, t: 1, ...sample })),
    ...more,
  };
}
