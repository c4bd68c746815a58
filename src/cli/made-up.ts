// Judged runs that are made up: no model predicted these rows and no judge rated them. They show how checkpoints are compared.

import { type Random, randomOf } from '../core/random.js';
import { RELEASED } from '../core/released.js';
import { DIMENSIONS, DOMAINS } from '../core/types.js';

type Domain = (typeof DOMAINS)[number];

/** Made-up checkpoints by step, and how much better their rows are than those of the first: ratings of 1 to 5, by domain. */
const LIFTS = {
  100: () => 0,
  200: () => 0.12,
  300: (domain: Domain) => (domain === 'android' ? -0.25 : 0.25),
} as const;
export const MADE_UP_STEPS = [100, 200, 300] as const;

// biome-ignore format: a table
const LEVELS: Readonly<Record<Domain, number>> = { mcp: 3.6, search: 2.5, terminal: 3.2, swe: 3.6, android: 3.3, web: 3, os: 3.7 };

/** A judged file's rows, and its manifest. */
export interface MadeUpRun {
  readonly label: string;
  readonly rows: readonly object[];
  readonly manifest: object;
}

/** Rows of a trajectory. */
const TURNS = 4;

/**
 * As many rows as the benchmark has, as a judged file holds them, and the file's manifest; the same each time. What makes a row hard is
 * the same for all checkpoints.
 */
export function madeUpRun(step: (typeof MADE_UP_STEPS)[number]): MadeUpRun {
  const [shared, own] = [randomOf(0), randomOf(step)];
  const around = (random: Random, width: number) => width * (random.uniform() - 0.5);
  const rows = DOMAINS.flatMap((domain) => {
    let trajectory = 0;
    return Array.from({ length: RELEASED.rows[domain] }, (_, at) => {
      if (at % TURNS === 0) trajectory = around(shared, 1) + around(own, 0.4);
      const level = LEVELS[domain] + LIFTS[step](domain) + trajectory + around(shared, 1.6) + around(own, 0.8);
      return rowOf(domain, at, () => Math.min(5, Math.max(1, Math.round(level + around(own, 1.5)))));
    });
  });
  return { label: `made-up-${step}`, rows, manifest: manifestOf(step) };
}

/** As the official script writes rows: what a key and a trajectory are, is read from what was asked. */
function rowOf(domain: Domain, at: number, rating: () => number) {
  const [id, turn] = [Math.floor(at / TURNS), 1 + (at % TURNS)];
  const ratings = DIMENSIONS.map((dimension) => [dimension, rating()] as const);
  const texts = (kind: string) => Array.from({ length: turn }, (_, earlier) => `made-up ${kind} ${id}.${earlier + 1}`);
  return {
    ...{ task: domain, id, system_str: 'A made-up environment.', turn_idx: turn, total_turns: TURNS },
    ...{ prompt: texts('action'), response: texts('observation'), gen: `made-up prediction ${id}.${turn}` },
    ...Object.fromEntries(ratings),
    total_score: ratings.reduce((sum, [, value]) => sum + value, 0) / ratings.length,
    ...{ failed: 0, strengths: [], weaknesses: ['made up'] },
  };
}

/** With a judge that is no other run's, so that nothing else compares with it. */
function manifestOf(step: number) {
  const at = { startedAt: `2026-01-01T00:${step / 10}:00.000Z`, endedAt: `2026-01-01T00:${step / 10}:30.000Z` };
  const common = { schema: 'awb.manifest/1', meta: { step: String(step) }, state: 'complete', ...at };
  const rubrics = { name: 'made-up', fingerprint: 'made-up' };
  return {
    ...{ ...common, kind: 'judge', label: `made-up-${step}`, chosen: RELEASED.rows },
    identity: { mode: 'rubric', judge: 'made-up judge', rubrics, verdicts: 'strict', sampling: {} },
    predictions: {
      ...{ ...common, kind: 'infer', label: `made-up-${step}` },
      identity: { model: `made-up model ${step}`, protocol: 'history', system_prompt: 'row', data: 'made-up' },
    },
  };
}
