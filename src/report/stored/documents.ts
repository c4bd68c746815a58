// Stored runs as JSON. Figures are unrounded; what nobody knows is null.

import type { Estimate } from '../../types.js';
import { costsDocument } from '../cost-json.js';
import { estimateDocument } from '../estimate-json.js';
import { cardDocument } from '../score-json.js';
import { trustDocument } from '../trust.js';
import type { ListedRun } from './listed-run.js';
import type { ShownRun } from './shown-run.js';

/** A SQLite file whose runs were asked for. */
export interface ListedDatabase {
  readonly path: string;
  readonly bytes: number;
  /** How many runs it holds. */
  readonly count: number;
}

/** The document of `awb runs list`. */
export function runsDocument(databases: readonly ListedDatabase[], runs: readonly ListedRun[]) {
  return {
    schema: 'awb.runs/1',
    databases: databases.map(({ path, bytes, count }) => ({ db: path, bytes, runs: count })),
    runs: runs.map((run) => ({ ...namesDocument(run), ...summaryDocument(run) })),
  };
}

/** The document of `awb runs show`. */
export function runDocument(run: ShownRun) {
  const { file } = run;
  return {
    schema: 'awb.run/1',
    ...namesDocument(run),
    own_label: run.ownLabel ?? null,
    source_state: file.state,
    source_bytes: 'bytes' in file ? file.bytes : null,
    journal_bytes: file.journalBytes ?? null,
    stored_judgements: run.judgements,
    judge_trust: trustDocument(run.trust),
    ...cardDocument(run.card),
    warnings: run.warnings,
    notices: run.notices,
    manifest: run.manifest ?? null,
  };
}

/** What `awb runs remove` did, or would do. */
export interface Removal {
  /** Absolute path of the SQLite file. */
  readonly db: string;
  readonly runs: readonly ListedRun[];
  /** Bytes of the file; absent where nothing was removed. */
  readonly bytes?: { readonly before: number; readonly after: number };
}

/** The document of `awb runs remove`. */
export function removalDocument({ db, runs, bytes }: Removal) {
  return {
    schema: 'awb.runs-removed/1',
    db,
    removed: bytes !== undefined,
    runs: runs.map(namesDocument),
    bytes_before: bytes?.before ?? null,
    bytes_after: bytes?.after ?? null,
  };
}

/** What names and describes a stored run. */
function namesDocument(run: ListedRun) {
  return {
    db: run.path,
    id: run.id,
    label: run.label ?? null,
    label_given: run.isLabelGiven,
    kind: run.kind,
    world_model: run.worldModel ?? null,
    protocol: run.protocol ?? null,
    judge_model: run.judgeModel ?? null,
    rubric_pack: run.rubricPack ?? null,
    rubric_fingerprint: run.rubricFingerprint ?? null,
    meta: run.meta,
    source: run.source,
    source_sha256: run.sourceSha256,
    source_exists: run.isSourceThere,
    started_at: run.startedAt ?? null,
    ended_at: run.endedAt ?? null,
    scored_at: run.scoredAt,
    tool_version: run.toolVersion,
    bytes: run.bytes,
    costs: costsDocument(run.costs),
  };
}

function summaryDocument({ card }: ListedRun) {
  const figure = (estimate: Estimate | undefined) => (estimate === undefined ? null : estimateDocument(estimate));
  return {
    chosen: card.chosen,
    valid: card.valid,
    failed: card.failed,
    coverage: card.coverage,
    domains: card.domains.map(({ domain }) => domain),
    overall: figure(card.overall.total),
    overall_with_failures: figure(card.overallWithFailures.total),
    overall_measures: Object.fromEntries(
      Object.entries(card.overallMeasures).map(([name, estimate]) => [name, estimateDocument(estimate)]),
    ),
    macro_of: card.macroOf,
  };
}
