// Reports, made up for tests of their page.

import { createHash } from 'node:crypto';
import { measuresOf } from '../../src/core/measures.js';
import type { JudgedRow } from '../../src/core/types.js';
import { aggregate } from '../../src/stats/aggregate.js';
import { reportPage } from '../../src/view/report.js';
import type { Report, ReportSample } from '../../src/view/report-contents.js';
import { collectTexts, type SampleTexts } from '../../src/view/texts.js';
import { measureOf } from './measures.js';

/** A text that acts where it is not escaped. */
export const EVIL = `"><img src=x onerror=alert(1)></script><script>alert(2)</script><!--'\u202e`;

/** A rated row. */
export function rowOf(index: number, change: Partial<JudgedRow> = {}): JudgedRow {
  const ratings = { format: 5, factuality: 2, consistency: 3, realism: 4, quality: 1 };
  const base = {
    key: `k${index}`,
    trajectory: `t${index % 3}`,
    repeat: 0,
    index: 0,
    domain: 'mcp',
    turnIdx: index + 1,
  };
  return { ...base, failed: 0, total: 3, ratings, flags: [], ...change };
}

/** A report of these rows. */
export function reportOf(rows: readonly JudgedRow[], change: Partial<Report> = {}): Report {
  return {
    run: { name: 'step-1', facts: [['judge', 'j']], card: aggregate(rows), trust: undefined },
    other: undefined,
    change: undefined,
    equivalence: undefined,
    rollout: undefined,
    manifest: undefined,
    warnings: [],
    turns: [],
    contexts: [],
    costs: {},
    samples: rows.map((row) => ({ row, ...(row.failed === 0 ? { points: 50 } : {}), note: '' })),
    measureOf: measuresOf(),
    ...change,
  };
}

export const TEXTS: SampleTexts = {
  prediction: 'a\nb',
  truth: 'a\nc',
  action: 'do it',
  history: [{ action: 'first', observation: 'seen' }],
  systemPrompt: 'be a shell',
  strengths: [],
  weaknesses: ['wrong'],
  judgeReply: 'b is wrong',
};

export const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');
/** In place of the browser script. */
export const script = 'addEventListener("hashchange", show);';
export const pageOf = (report: Report, texts = collectTexts(), runs = script, tool = 'awb 0') =>
  reportPage(report, texts.json(), { tool, script: runs, sha256 });

/** Rows of a measure alone, each a trajectory of its own. */
function measuredRows(measure: string, values: readonly number[]): JudgedRow[] {
  return values.map((value, index) => {
    const { failed: _, ...row } = rowOf(index, { trajectory: `t${index}`, ratings: {}, total: 0 });
    return { ...row, measures: { [measure]: value } };
  });
}

/** A report that leads with a measure, beside a run in which it was another. */
export function reportOfMeasure(measure: string, values: readonly number[], before: readonly number[]): Report {
  const rows = measuredRows(measure, values);
  const run = { name: 'run', facts: [], card: aggregate(rows, undefined, measureOf), trust: undefined };
  const samples = rows.map((row, index): ReportSample => {
    const [now, then] = [values[index] ?? 0, before[index] ?? 0];
    return { row, points: now, other: { row, points: then }, change: now - then, note: '' };
  });
  return reportOf(rows, { run, other: { ...run, name: 'before' }, samples, measureOf });
}
