// A run into the tables of the SQLite file.

import { ASKED, type Cost, type RunCosts } from '../costs.js';
import type { List } from '../list.js';
import { eachInSteps, type Steps } from '../steps.js';
import type { Estimate, ScoreCard } from '../types.js';
import { COST_COLUMNS, JUDGEMENT_KEY, PREDICTION_COLUMNS, QUERY_COLUMNS, READ_COLUMNS } from './columns.js';
import { saveEquivalence } from './equivalence.js';
import type { RunRecord, StoredJudgement, StoredName } from './records.js';
import { insert, Row } from './row.js';
import { saveScenarios } from './scenarios.js';
import type { Sqlite } from './sqlite.js';

/**
 * Writes a run with its judgements and scores in one transaction of many steps: all of it is stored, or the file stays as it was.
 * @param labelOver the label under which it replaces an earlier one
 */
export function saveRun(
  database: Sqlite,
  run: RunRecord,
  judgements: List<StoredJudgement>,
  card: ScoreCard,
  labelOver: (before: StoredName) => string | undefined,
): Steps<{ id: number; replaced: boolean }> {
  return database.immediateSteps(function* () {
    const found = database.prepare('SELECT id, label, manifest FROM runs WHERE identity = ?').get(run.identity);
    const before = found && new Row(found);
    const id = before?.number('id') ?? null;
    if (id !== null) yield* removeRun(database, id);
    // Read in the transaction, so that a run is not given back the label that it loses at this moment.
    const label = before && labelOver({ label: before.textIn('label'), manifest: before.textIn('manifest') });
    const values = runValues(before === undefined ? run : { ...run, label }, card);
    const inserted = insert(database, 'runs', ['id', ...Object.keys(values)]).run({ id, ...values });
    const runId = Number(inserted.lastInsertRowid);
    yield* saveJudgements(database, runId, judgements);
    yield* savePredictions(database, runId, judgements);
    saveCosts(database, runId, run.costs ?? {});
    saveScores(database, runId, card);
    saveEquivalence(database, runId, run.equivalence);
    if (run.scenarios !== undefined) saveScenarios(database, runId, run.scenarios);
    return { id: runId, replaced: id !== null };
  });
}

/** Rows of the database that one statement removes. */
const REMOVED_AT_ONCE = 256;

/** A run with all that belongs to it. Judgements take their measures along; to leave all of them to the last statement takes seconds. */
function* removeRun(database: Sqlite, id: number): Steps<void> {
  for (const [table, key] of LARGE_TABLES) {
    const names = key.join(', ');
    const some = database.prepare(
      `DELETE FROM ${table} WHERE run_id = @id AND (${names}) IN (SELECT ${names} FROM ${table} WHERE run_id = @id ORDER BY ${names} LIMIT ${REMOVED_AT_ONCE})`,
    );
    while (some.run({ id }).changes > 0) yield;
  }
  database.prepare('DELETE FROM runs WHERE id = ?').run(id);
}

const LARGE_TABLES = [
  ['judgements', JUDGEMENT_KEY],
  ['predictions', ['key', 'repeat']],
] as const;

function runValues(run: RunRecord, card: ScoreCard) {
  return {
    identity: run.identity,
    label: run.label ?? null,
    kind: run.kind,
    source: run.source,
    source_sha256: run.sourceSha256,
    world_model: run.worldModel ?? null,
    judge_model: run.judgeModel ?? null,
    rubric_pack: run.rubricPack ?? null,
    rubric_fingerprint: run.rubricFingerprint ?? null,
    protocol: run.protocol ?? null,
    meta: JSON.stringify(run.meta),
    manifest: run.manifest ?? null,
    started_at: run.startedAt ?? null,
    ended_at: run.endedAt ?? null,
    scored_at: run.scoredAt,
    tool_version: run.toolVersion,
    chosen: card.chosen,
    valid: card.valid,
    failed: card.failed,
    coverage: card.coverage,
    macro_of: card.macroOf,
  };
}

function* saveJudgements(database: Sqlite, runId: number, judgements: List<StoredJudgement>): Steps<void> {
  const columns = Object.entries({ ...READ_COLUMNS, ...QUERY_COLUMNS });
  const names = ['run_id', ...columns.map(([name]) => name)];
  // By place: a hundred thousand objects with a member for each column take longer.
  const judgement = database.prepare(
    `INSERT INTO judgements (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  const measure = insert(database, 'measures', ['run_id', ...JUDGEMENT_KEY, 'name', 'value']);
  yield* eachInSteps(judgements, (stored) => {
    judgement.run(runId, ...columns.map(([, of]) => of(stored)));
    const { key, repeat, index, measures } = stored.row;
    for (const [name, value] of Object.entries(measures ?? {})) {
      measure.run({ run_id: runId, key, repeat, judgement_index: index, name, value });
    }
  });
}

/** Each prediction once, however often it was judged; none that nothing is known of. */
function* savePredictions(database: Sqlite, runId: number, judgements: List<StoredJudgement>): Steps<void> {
  const columns = Object.entries(PREDICTION_COLUMNS);
  const names = ['run_id', ...columns.map(([name]) => name)];
  const insertion = database.prepare(
    `INSERT INTO predictions (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`,
  );
  yield* eachInSteps(judgements, (stored) => {
    if (stored.prediction !== undefined) insertion.run(runId, ...columns.map(([, of]) => of(stored)));
  });
}

function saveCosts(database: Sqlite, runId: number, costs: RunCosts): void {
  const names = Object.keys(COST_COLUMNS);
  const run = insert(database, 'run_costs', ['run_id', 'asked', 'price', ...names]);
  const domainCost = insert(database, 'domain_costs', ['run_id', 'asked', 'domain', ...names]);
  const values = (cost: Cost) => Object.fromEntries(Object.entries(COST_COLUMNS).map(([name, of]) => [name, of(cost)]));
  for (const asked of ASKED) {
    const spending = costs[asked];
    if (spending === undefined) continue;
    const { price, total, domains } = spending;
    const priceText = price === undefined ? null : JSON.stringify(price);
    run.run({ run_id: runId, asked, price: priceText, ...values(total) });
    for (const [domain, cost] of domains) domainCost.run({ run_id: runId, asked, domain, ...values(cost) });
  }
}

const ESTIMATE_COLUMNS = ['run_id', 'kind', 'dimension', 'value', 'n', 'clusters', 'se', 'df', 'low', 'high'] as const;

function saveScores(database: Sqlite, runId: number, card: ScoreCard): void {
  const counts = insert(database, 'domain_counts', [
    'run_id',
    'domain',
    'chosen',
    'valid',
    'failed',
    'coverage',
    'failures',
    'flags',
  ]);
  const domainScore = insert(database, 'domain_scores', ['domain', ...ESTIMATE_COLUMNS]);
  for (const score of card.domains) {
    const { domain, chosen, valid, failed, coverage } = score;
    const failures = JSON.stringify(score.failures);
    const flags = JSON.stringify(score.flags);
    counts.run({ run_id: runId, domain, chosen, valid, failed, coverage, failures, flags });
    const kinds = { official: score.scores, with_failures: score.withFailures, measure: score.measures };
    for (const values of estimateValues(runId, kinds)) domainScore.run({ domain, ...values });
  }
  const overallScore = insert(database, 'overall_scores', ESTIMATE_COLUMNS);
  const kinds = {
    official: card.overall,
    with_failures: card.overallWithFailures,
    micro: card.overallMicro,
    measure: card.overallMeasures,
  };
  for (const values of estimateValues(runId, kinds)) overallScore.run(values);
}

function* estimateValues(runId: number, kinds: Readonly<Record<string, Readonly<Record<string, Estimate>>>>) {
  for (const [kind, estimates] of Object.entries(kinds)) {
    for (const [dimension, estimate] of Object.entries(estimates)) {
      const { value, rows: n, clusters, se = null, df = null, low = null, high = null } = estimate;
      yield { run_id: runId, kind, dimension, value, n, clusters, se, df, low, high };
    }
  }
}
