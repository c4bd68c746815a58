// The judgements of a run and its predictions, a row each: what their columns hold, and what is read back from them.

import type { Spent } from '../costs.js';
import { isNumber, isText, listOf, mapOf } from '../json.js';
import { isJudgementFailure } from '../points.js';
import { DIMENSIONS, type JudgedRow } from '../types.js';
import type { StoredJudgement } from './records.js';
import { DamagedValue, insertion, type Row, rowsOf, type Sqlite } from './sqlite.js';

/** Writes the judgements of a run, which has none in the file; and each prediction once, where something is known of it. */
export function saveJudgements(database: Sqlite, runId: number, judgements: readonly StoredJudgement[]): void {
  const judgement = insertion(database, 'judgements', ['run_id', ...JUDGEMENT_COLUMNS, ...CALL_COLUMNS]);
  const predicted = insertion(
    database,
    'predictions',
    ['run_id', 'key', 'repeat', 'domain', ...CALL_COLUMNS],
    'ON CONFLICT DO NOTHING',
  );
  for (const { row, log, usd, prediction } of judgements) {
    judgement.run(runId, ...valuesOf(row), ...callOf(log, usd));
    if (prediction === undefined) continue;
    predicted.run(runId, row.key, row.repeat, row.domain, ...callOf(prediction.log, prediction.usd));
  }
}

/** In the order of `valuesOf`. */
const JUDGEMENT_COLUMNS = [
  'key',
  'repeat',
  'judgement_index',
  'trajectory',
  'domain',
  'turn_idx',
  'status',
  'failure_class',
  'failure_reason',
  'failed',
  ...DIMENSIONS,
  'total',
  'measures',
  'flags',
  'chain',
  'step',
  'distance',
  'off_script',
];

function valuesOf({ failure, ratings, measures, rollout, ...row }: JudgedRow): (string | number | null)[] {
  return [
    row.key,
    row.repeat,
    row.index,
    row.trajectory,
    row.domain,
    row.turnIdx,
    failure === undefined ? 'ok' : 'failed',
    failure?.class ?? null,
    failure?.reason ?? null,
    row.failed ?? null,
    ...DIMENSIONS.map((dimension) => ratings[dimension] ?? null),
    row.total,
    measures === undefined ? null : JSON.stringify(byName(measures)),
    JSON.stringify(row.flags),
    rollout?.chain ?? null,
    rollout?.step ?? null,
    rollout?.distance ?? null,
    rollout === undefined ? null : JSON.stringify(rollout.offScript),
  ];
}

/** Measures come by name, in whatever order a file has them: tables of a stored run keep their order. */
export function byName<T>(measures: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(measures).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** In the order of `callOf`. They stand there for queries alone. */
const CALL_COLUMNS = [
  'attempts',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'ms',
  'usd',
];

function callOf(log: Spent['log'], usd: number | undefined): (number | null)[] {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = log?.usage ?? {};
  const tokens = [promptTokens, cachedTokens, completionTokens, reasoningTokens];
  return [log?.attempts, ...tokens, log?.ms, usd].map((value) => value ?? null);
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
