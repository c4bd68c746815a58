// Made-up runs and their documents, for tests of what the viewer shows.

import type { RunCosts } from '../../src/core/costs.js';
import { DIMENSIONS, DOMAINS, type JudgedRow } from '../../src/core/types.js';
import type { ReadRun } from '../../src/results/read-run.js';
import { madeWith } from '../../src/run/made-with.js';
import { aggregate } from '../../src/stats/aggregate.js';
import type { Index, ListedRun } from '../../src/view/documents.js';
import { runDocument } from '../../src/view/run-document.js';
import { measureOf } from './measures.js';

/** A text that acts as markup if it is not escaped, and reorders the text next to it. */
export const HOSTILE = `"><img src=x onerror=alert(1)></script><script>alert(2)</script><!--'\u202e`;

/** A rated row, the next turn of one of three trajectories. */
export function rowOf(index: number, change: Partial<JudgedRow> = {}): JudgedRow {
  const ratings = { format: 5, factuality: 2, consistency: 3, realism: 4, quality: 1 };
  const place = { key: `k${index}`, trajectory: `t${index % 3}`, repeat: 0, index: 0, domain: 'mcp' };
  return { ...place, turnIdx: index + 1, failed: 0, total: 3, ratings, flags: [], ...change };
}

/** A row that was measured, and not rated. */
export function measuredRow(index: number, measures: JudgedRow['measures']): JudgedRow {
  const { failed: _, ...row } = rowOf(index, { trajectory: `t${index}`, ratings: {}, total: 0 });
  return { ...row, ...(measures && { measures }) };
}

/** A run of these rows. */
export function runWith(rows: readonly JudgedRow[], change: Partial<ReadRun> = {}): ReadRun {
  return {
    name: 'step-1',
    source: '/out/judged.jsonl',
    sha256: 'ab',
    rows: [...rows],
    chosen: undefined,
    manifest: undefined,
    made: madeWith(undefined),
    trust: undefined,
    card: aggregate(rows, undefined, measureOf),
    costs: {},
    ...change,
  };
}

/** The document of a run of these rows. */
export function documentOf(rows: readonly JudgedRow[], costs: RunCosts = {}, run: Partial<ReadRun> = {}) {
  return runDocument(runWith(rows, { costs, ...run }), 'r1');
}

/** Forty trajectories with several turns in every domain, better in the later ones; a few failed, and some are odd. */
export function realisticRows(): JudgedRow[] {
  return DOMAINS.flatMap((domain, place) =>
    Array.from({ length: 120 }, (_, at) => {
      const lot = (at * 37 + place * 11) % 17;
      const level = 2.4 + place * 0.15 + lot / 12 - (at % 5) * 0.12;
      const ratings = Object.fromEntries(
        DIMENSIONS.map((name, more) => [name, Math.max(1, Math.min(5, Math.round(level + (more - 1) * 0.4)))]),
      );
      const total = Object.values(ratings).reduce((sum, rating) => sum + rating, 0) / DIMENSIONS.length;
      const where = { key: `${domain}-${at}`, trajectory: `${domain}-t${Math.floor(at / 5)}`, domain };
      const row = rowOf(at, { ...where, turnIdx: (at % 5) + 1, ratings, total });
      if (at === 40)
        return { ...row, failed: 1, total: 0, ratings: {}, failure: { class: 'empty', reason: 'nothing' } };
      if (at === 80 && place > 2) {
        return { ...row, failed: 1, total: 0, ratings: {}, failure: { class: 'judge-timeout', reason: 'no end' } };
      }
      return lot === 3 ? { ...row, flags: at % 2 === 0 ? ['truncated'] : ['untagged', 'truncated'] } : row;
    }),
  );
}

/** The cost of asking, with a price of one side. */
export const COSTS: RunCosts = {
  world_model: {
    price: { model: 'gpt-5.2', source: 'prices.yaml', input: 1, output: 2 },
    domains: new Map([['mcp', cost(12.35, 3)]]),
    total: cost(12.35, 3),
  },
  judge: { domains: new Map(), total: cost(undefined, 2) },
};

function cost(usd: number | undefined, unpriced: number) {
  return {
    rows: 2,
    unpriced,
    usage: { promptTokens: 19_000, completionTokens: 280 },
    ...(usd === undefined ? {} : { usd }),
  };
}

/** A listed run with an interval of 3 points around its Overall. */
export function listedRun(ref: string, overall: number, change: Partial<ListedRun> = {}): ListedRun {
  const estimate = (value: number) => ({ value, rows: 200, clusters: 40, se: 1.5, low: value - 3, high: value + 3 });
  return {
    ref,
    name: ref,
    mode: 'rubric',
    worldModel: 'my-world-model',
    protocol: 'history',
    judge: 'my-judge',
    rubricPack: 'awb-2',
    lead: { name: 'Overall', decimals: 1, from: 0, to: 100, better: 'larger' },
    overall: estimate(overall),
    domains: [
      { domain: 'mcp', name: 'MCP', estimate: estimate(overall - 8) },
      { domain: 'web', name: 'Web', estimate: estimate(overall + 6) },
    ],
    coverage: 0.999,
    state: 'complete',
    usd: null,
    date: '2026-11-25T04:00:00.000Z',
    trust: null,
    series: null,
    step: null,
    judgedAlike: 'a',
    ...change,
  };
}

export function indexOf(...runs: readonly ListedRun[]): Index {
  return { tool: 'awb 0', isLive: false, scoresOnly: false, runs, episodes: [], work: [], unread: [] };
}
