// Runs for tests of the SQLite file.

import type { RunCosts } from '../../src/core/costs.js';
import { UserError } from '../../src/core/errors.js';
import type { Estimate, ScoreCard } from '../../src/core/types.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { EquivalenceCard } from '../../src/stats/equivalence.js';
import type { ScenarioFigures } from '../../src/stats/scenarios.js';
import type { RunRecord, StoredJudgement } from '../../src/store/runs.js';
import { openStore } from '../../src/store/store.js';

/** A run as `score` describes it. */
export function runOf(identity: string, label = 'step-1'): RunRecord {
  return {
    identity,
    label,
    kind: 'rubric',
    source: '/out/judged.jsonl',
    sourceSha256: 'ab',
    worldModel: 'world',
    judgeModel: 'judge',
    meta: { step: '1' },
    manifest: '{"schema": 1}',
    scoredAt: '2026-01-01T00:00:00.000Z',
    toolVersion: '0.1.0',
    costs,
    equivalence,
    scenarios,
  };
}

/** Two scenarios: one has no interval, and the other lacks the figure for what must stay. */
const followed = { value: 70, rows: 40, clusters: 20, se: 7.25, df: 18.5, low: 53.5, high: 82.5 };
const nothing = { leaked: null, undisturbed: null, twin_false_positives: null };
const part = { samples: 40, trajectories: 20, failures: {}, followed, ...nothing };
const leaked = { value: 0, rows: 4, clusters: 4, se: null, df: null, low: null, high: null };
const scenarios: ScenarioFigures = {
  schema: 'awb.scenarios/1',
  overall: part,
  domains: { mcp: part },
  scenarios: { 'power-cut': { ...part, leaked, domains: { mcp: part } }, 'slow-disk': { ...part, domains: {} } },
};

const usage = { promptTokens: 19_000, cachedTokens: 18_000, completionTokens: 280 };

/** The cost of the run: two of the judge's calls have unknown costs, and nothing is known about one domain. */
const costs: RunCosts = {
  world_model: {
    price: { model: 'world', source: 'prices.yaml', input: { base: 1, tiers: [{ start: 9, price: 2 }] }, output: 4 },
    total: { rows: 3, unpriced: 0, usage: { ...usage, reasoningTokens: 5 }, usd: 0.25 },
    domains: new Map([
      ['mcp', { rows: 2, unpriced: 0, usage, usd: 0.15 }],
      ['os', { rows: 1, unpriced: 0, usage: { reasoningTokens: 5 }, usd: 0.1 }],
    ]),
  },
  judge: { total: { rows: 1, unpriced: 2, usage }, domains: new Map() },
};

/** An agent's figures for the run: one domain has none, and the other lacks only an interval. */
const equivalence: EquivalenceCard = {
  domains: [
    { domain: 'mcp', predicted: 40, ceiling: 80, floor: 20, rows: 9, clusters: 3, found: 'few' },
    {
      ...{ domain: 'os', predicted: 70, ceiling: 100, floor: 0, rows: 9, clusters: 9, gap: { low: 100, high: 100 } },
      found: { value: 70 },
    },
  ],
  overall: {
    ...{ predicted: 55, ceiling: 90, floor: 10, rows: 18, clusters: 12, gap: { low: 60.5, high: 99 } },
    found: { value: 56.25, interval: { low: -3, high: 104.5 } },
  },
  macroOf: 2,
};

/** A judgement with everything, and a failed one, for two repeats of one row. */
export const rated: StoredJudgement = {
  row: {
    key: 'k1',
    trajectory: 't1',
    repeat: 0,
    index: 0,
    domain: 'mcp',
    turnIdx: 2,
    failed: 0,
    total: 3.8,
    ratings: { format: 5, factuality: 4, consistency: 4, realism: 3, quality: 3 },
    measures: { chrf: 61.25, exact_match: 0 },
    flags: ['truncated'],
  },
  log: { attempts: 2, usage: { promptTokens: 19_000, completionTokens: 280 }, ms: 4200.5 },
  usd: 0.0375,
  prediction: { log: { attempts: 1, usage, ms: 99.5 }, usd: 0.15 },
};

export const failed: StoredJudgement = {
  row: {
    key: 'k1',
    trajectory: 't1',
    repeat: 1,
    index: 0,
    domain: 'mcp',
    turnIdx: 2,
    failed: 1,
    total: 0,
    ratings: {},
    failure: { class: 'judge-timeout', reason: 'no token for 900 s' },
    flags: [],
  },
};

const estimate: Estimate = { value: 70, rows: 1, clusters: 1 };
const certain: Estimate = { value: 60, rows: 2, clusters: 2, se: 1, df: 1, low: 47.3, high: 72.7 };

/** The score card stored with them. */
export const card: ScoreCard = {
  domains: [
    {
      domain: 'mcp',
      chosen: 3,
      valid: 1,
      failed: 1,
      failures: { 'judge-timeout': 1, 'not-judged': 1 },
      coverage: 1 / 3,
      scores: { total: estimate, format: certain },
      withFailures: { total: estimate },
      measures: { chrf: certain },
      flags: { truncated: 1 },
    },
  ],
  overall: { total: estimate },
  macroOf: 1,
  overallMicro: { total: certain },
  overallWithFailures: { total: estimate },
  overallMeasures: { chrf: certain },
  chosen: 3,
  valid: 1,
  failed: 1,
  coverage: 1 / 3,
};

/** Stores a run in a file. */
export function saveIn(path: string, run: RunRecord, judgements: readonly StoredJudgement[] = [rated, failed]) {
  const store = openStore(path);
  try {
    return store.saveRun(run, judgements, card);
  } finally {
    store.close();
  }
}

/** The rows that SQLite returns for a query. */
export function queryIn(path: string, sql: string): Readonly<Record<string, unknown>>[] {
  const database = openSqlite(path, { fileMustExist: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** The error with which an action refuses to continue. */
export function refusal(action: () => unknown): UserError {
  try {
    action();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
