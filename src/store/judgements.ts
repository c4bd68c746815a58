// The judgements of a run and its predictions, a row each: what their columns hold, and what is read back from them.

import type { Spent } from '../core/costs.js';
import { isNumber, isText, listOf, mapOf } from '../core/json.js';
import { isJudgementFailure } from '../core/points.js';
import { DIMENSIONS, type JudgedRow } from '../core/types.js';
import { DamagedValue, insertion, type Row, rowsOf, type Sqlite } from '../disk/sqlite.js';
import type { StoredJudgement } from './records.js';

/** Writes the judgements of a run, which has none in the file; and each prediction once, where something is known of it. */
export function saveJudgements(database: Sqlite, runId: number, judgements: readonly StoredJudgement[]): void {
  const insertJudgement = insertion(database, 'judgements', ['run_id', ...JUDGEMENT_COLUMNS, ...CALL_COLUMNS]);
  const predictionColumns = ['run_id', 'key', 'repeat', 'domain', ...CALL_COLUMNS];
  const insertPrediction = insertion(database, 'predictions', predictionColumns, 'ON CONFLICT DO NOTHING');
  for (const { row, log, usd, prediction } of judgements) {
    const { key, repeat, domain } = row;
    insertJudgement({ run_id: runId, ...valuesOf(row), ...callOf(log, usd) });
    if (prediction === undefined) continue;
    insertPrediction({ run_id: runId, key, repeat, domain, ...callOf(prediction.log, prediction.usd) });
  }
}

const JUDGEMENT_COLUMNS = [
  ...['key', 'repeat', 'judgement_index', 'trajectory', 'domain', 'turn_idx'],
  ...['status', 'failure_class', 'failure_reason', 'failed'],
  ...DIMENSIONS,
  ...['total', 'measures', 'flags', 'chain', 'step', 'distance', 'off_script'],
];

function valuesOf({ failure, ratings, measures, rollout, ...row }: JudgedRow) {
  return {
    key: row.key,
    repeat: row.repeat,
    judgement_index: row.index,
    trajectory: row.trajectory,
    domain: row.domain,
    turn_idx: row.turnIdx,
    status: failure === undefined ? 'ok' : 'failed',
    failure_class: failure?.class,
    failure_reason: failure?.reason,
    failed: row.failed,
    ...ratings,
    total: row.total,
    measures: measures && JSON.stringify(byName(measures)),
    flags: JSON.stringify(row.flags),
    chain: rollout?.chain,
    step: rollout?.step,
    distance: rollout?.distance,
    off_script: rollout && JSON.stringify(rollout.offScript),
  };
}

/** Measures come by name, in whatever order a file has them: tables of a stored run keep their order. */
export function byName<T>(measures: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(measures).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** They stand there for queries alone. */
const CALL_COLUMNS = [
  ...['attempts', 'prompt_tokens', 'cached_tokens', 'completion_tokens', 'reasoning_tokens'],
  ...['ms', 'usd'],
];

function callOf(log: Spent['log'], usd: number | undefined) {
  return {
    attempts: log?.attempts,
    prompt_tokens: log?.usage.promptTokens,
    cached_tokens: log?.usage.cachedTokens,
    completion_tokens: log?.usage.completionTokens,
    reasoning_tokens: log?.usage.reasoningTokens,
    ms: log?.ms,
    usd,
  };
}

/** A run's judged rows by key, repeat and index; none for an id that is not there. @throws DamagedValue */
export function readJudgements(database: Sqlite, runId: number): JudgedRow[] {
  const sql = `SELECT ${JUDGEMENT_COLUMNS.join(', ')} FROM judgements WHERE run_id = ? ORDER BY key, repeat, judgement_index`;
  return Array.from(rowsOf(database, sql, runId), judgedRowOf);
}

function judgedRowOf(row: Row): JudgedRow {
  const failed = row.numberIn('failed');
  const measures = row.documentIn('measures', isMeasures);
  const ratings: JudgedRow['ratings'] = {};
  for (const name of DIMENSIONS) {
    const rating = row.numberIn(name);
    if (rating !== undefined) ratings[name] = rating;
  }
  const failure = row.textIn('failure_class');
  if (failure !== undefined && !isJudgementFailure(failure)) throw new DamagedValue('failure_class');
  return {
    key: row.text('key'),
    trajectory: row.text('trajectory'),
    repeat: row.number('repeat'),
    index: row.number('judgement_index'),
    domain: row.text('domain'),
    turnIdx: row.number('turn_idx'),
    ...(failed === undefined ? {} : { failed }),
    total: row.number('total'),
    ratings,
    ...(failure === undefined ? {} : { failure: { class: failure, reason: row.text('failure_reason') } }),
    ...(measures === undefined ? {} : { measures }),
    flags: row.document('flags', isTexts),
    ...rolloutIn(row),
  };
}

/** Most rows stand in no rollout. */
function rolloutIn(row: Row): Pick<JudgedRow, 'rollout'> {
  const chain = row.textIn('chain');
  if (chain === undefined) return {};
  const [step, distance] = [row.number('step'), row.number('distance')];
  return { rollout: { chain, from: step - distance, step, distance, offScript: row.document('off_script', isTexts) } };
}

function isMeasures(value: unknown): value is Record<string, number> {
  return mapOf(isNumber)(value);
}

function isTexts(value: unknown): value is string[] {
  return listOf(isText)(value);
}
