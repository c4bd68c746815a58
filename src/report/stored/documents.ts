// Stored runs as JSON. Figures are unrounded; what nobody knows is null.

import { z } from 'zod';
import { documentOf, ESTIMATE, FIGURE, TEXT } from '../../core/document.js';
import { COSTS, costsSource } from '../costs.js';
import { CARD, COUNTS, cardSource } from '../score-document.js';
import { TRUST, trustDocument } from '../trust.js';
import type { ListedRun, ShownRun } from './runs.js';

/** What names and describes a stored run. */
const NAMED = z.strictObject({
  db: z.string(),
  id: z.number(),
  label: TEXT,
  label_given: z.boolean(),
  kind: z.string(),
  world_model: TEXT,
  protocol: TEXT,
  judge_model: TEXT,
  rubric_pack: TEXT,
  rubric_fingerprint: TEXT,
  meta: z.record(z.string(), z.unknown()),
  source: z.string(),
  source_sha256: z.string(),
  source_exists: z.boolean(),
  started_at: TEXT,
  ended_at: TEXT,
  scored_at: z.string(),
  tool_version: z.string(),
  bytes: z.number(),
  costs: COSTS,
});

/** The document of `awb runs list`. */
export const RUNS = z.strictObject({
  schema: z.literal('awb.runs/1'),
  databases: z.array(z.strictObject({ db: z.string(), bytes: z.number(), runs: z.number() })),
  runs: z.array(
    z.strictObject({
      ...NAMED.shape,
      ...COUNTS.shape,
      domains: z.array(z.string()),
      overall: ESTIMATE.nullable(),
      overall_with_failures: ESTIMATE.nullable(),
      overall_measures: z.record(z.string(), ESTIMATE),
      macro_of: z.number(),
    }),
  ),
});

/** A SQLite file whose runs were asked for: its absolute path, its size, and how many runs it holds. */
export type ListedDatabase = z.infer<typeof RUNS>['databases'][number];

export function runsDocument(databases: readonly ListedDatabase[], runs: readonly ListedRun[]) {
  return documentOf(RUNS, {
    schema: 'awb.runs/1',
    databases,
    runs: runs.map((run) => ({
      ...run.card,
      ...namedSource(run),
      domains: run.card.domains.map(({ domain }) => domain),
      overall: run.card.overall.total,
      overallWithFailures: run.card.overallWithFailures.total,
    })),
  });
}

/** The document of `awb runs show`. */
export const RUN = z.strictObject({
  schema: z.literal('awb.run/1'),
  ...NAMED.shape,
  own_label: TEXT,
  source_state: z.enum(['same', 'changed', 'missing', 'unreadable']),
  source_bytes: FIGURE,
  journal_bytes: FIGURE,
  stored_judgements: z.number(),
  judge_trust: TRUST.nullable(),
  ...CARD.shape,
  warnings: z.array(z.string()),
  notices: z.array(z.string()),
  manifest: z.record(z.string(), z.unknown()).nullable(),
});

export function runDocument(run: ShownRun) {
  const { file } = run;
  return documentOf(RUN, {
    ...run,
    schema: 'awb.run/1',
    ...namedSource(run),
    sourceState: file.state,
    sourceBytes: 'bytes' in file ? file.bytes : undefined,
    journalBytes: file.journalBytes,
    storedJudgements: run.judgements,
    judgeTrust: trustDocument(run.trust),
    ...cardSource(run.card),
    judgements: run.card.judgements,
  });
}

/** The document of `awb runs remove`. */
export const REMOVAL = z.strictObject({
  schema: z.literal('awb.runs-removed/1'),
  db: z.string(),
  removed: z.boolean(),
  runs: z.array(NAMED),
  bytes_before: FIGURE,
  bytes_after: FIGURE,
});

/** @param bytes of the file before and after; absent where nothing was removed */
export function removalDocument(
  db: string,
  runs: readonly ListedRun[],
  bytes?: { readonly before: number; readonly after: number },
) {
  return documentOf(REMOVAL, {
    schema: 'awb.runs-removed/1',
    db,
    removed: bytes !== undefined,
    runs: runs.map(namedSource),
    bytesBefore: bytes?.before,
    bytesAfter: bytes?.after,
  });
}

function namedSource(run: ListedRun) {
  return {
    ...run,
    db: run.path,
    labelGiven: run.isLabelGiven,
    sourceExists: run.isSourceThere,
    costs: costsSource(run.costs),
  };
}
