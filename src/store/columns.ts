// The columns of a judgement, a prediction and a cost: what each holds, and what is read back from them.

import type { Cost } from '../costs.js';
import { keysOf } from '../keys.js';
import { isJudgementFailure } from '../points.js';
import { DIMENSIONS, type JudgedRow, type Usage } from '../types.js';
import type { StoredJudgement } from './records.js';
import { DamagedValue, type Row } from './row.js';

/** What a column holds of a judgement. A new column is an entry in one of the two tables below, and a migration that makes it. */
type Columns = Readonly<Record<string, (stored: StoredJudgement) => string | number | null>>;

/** The columns that tell the judgements of a run apart. */
export const JUDGEMENT_KEY = ['key', 'repeat', 'judgement_index'];

/** The columns that `judgedRowOf` takes. */
export const READ_COLUMNS: Columns = {
  key: ({ row }) => row.key,
  repeat: ({ row }) => row.repeat,
  judgement_index: ({ row }) => row.index,
  trajectory: ({ row }) => row.trajectory,
  domain: ({ row }) => row.domain,
  turn_idx: ({ row }) => row.turnIdx,
  failure_class: ({ row }) => row.failure?.class ?? null,
  failure_reason: ({ row }) => row.failure?.reason ?? null,
  failed: ({ row }) => row.failed ?? null,
  format: ({ row }) => row.ratings.format ?? null,
  factuality: ({ row }) => row.ratings.factuality ?? null,
  consistency: ({ row }) => row.ratings.consistency ?? null,
  realism: ({ row }) => row.ratings.realism ?? null,
  quality: ({ row }) => row.ratings.quality ?? null,
  total: ({ row }) => row.total,
  flags: ({ row }) => JSON.stringify(row.flags),
  chain: ({ row }) => row.rollout?.chain ?? null,
  step: ({ row }) => row.rollout?.step ?? null,
  distance: ({ row }) => row.rollout?.distance ?? null,
  off_script: ({ row }) => (row.rollout === undefined ? null : JSON.stringify(row.rollout.offScript)),
};

/** The columns that stand there for queries alone. */
export const QUERY_COLUMNS: Columns = {
  status: ({ row }) => (row.failure === undefined ? 'ok' : 'failed'),
  attempts: ({ log }) => log?.attempts ?? null,
  prompt_tokens: ({ log }) => log?.usage.promptTokens ?? null,
  cached_tokens: ({ log }) => log?.usage.cachedTokens ?? null,
  completion_tokens: ({ log }) => log?.usage.completionTokens ?? null,
  reasoning_tokens: ({ log }) => log?.usage.reasoningTokens ?? null,
  ms: ({ log }) => log?.ms ?? null,
  usd: ({ usd }) => usd ?? null,
};

/** The columns of a prediction, which stand there for queries alone. */
export const PREDICTION_COLUMNS: Columns = {
  key: ({ row }) => row.key,
  repeat: ({ row }) => row.repeat,
  domain: ({ row }) => row.domain,
  attempts: ({ prediction }) => prediction?.log?.attempts ?? null,
  prompt_tokens: ({ prediction }) => prediction?.log?.usage.promptTokens ?? null,
  cached_tokens: ({ prediction }) => prediction?.log?.usage.cachedTokens ?? null,
  completion_tokens: ({ prediction }) => prediction?.log?.usage.completionTokens ?? null,
  reasoning_tokens: ({ prediction }) => prediction?.log?.usage.reasoningTokens ?? null,
  ms: ({ prediction }) => prediction?.log?.ms ?? null,
  usd: ({ prediction }) => prediction?.usd ?? null,
};

/** The columns of what rows took together. */
export const COST_COLUMNS: Readonly<Record<string, (cost: Cost) => number | null>> = {
  rows: ({ rows }) => rows,
  prompt_tokens: ({ usage }) => usage.promptTokens ?? null,
  cached_tokens: ({ usage }) => usage.cachedTokens ?? null,
  completion_tokens: ({ usage }) => usage.completionTokens ?? null,
  reasoning_tokens: ({ usage }) => usage.reasoningTokens ?? null,
  usd: ({ usd }) => usd ?? null,
  unpriced: ({ unpriced }) => unpriced,
};

/** A cost from its row of `COST_COLUMNS`. @throws DamagedValue */
export function costIn(row: Row): Cost {
  const usd = row.numberIn('usd');
  const usage: Usage = {};
  for (const name of keysOf(TOKEN_COLUMNS)) {
    const tokens = row.numberIn(TOKEN_COLUMNS[name]);
    if (tokens !== undefined) usage[name] = tokens;
  }
  return { rows: row.number('rows'), unpriced: row.number('unpriced'), usage, ...(usd === undefined ? {} : { usd }) };
}

/** What was written into a cache shows in the dollars alone. */
const TOKEN_COLUMNS: Readonly<Record<Exclude<keyof Usage, 'writtenTokens'>, string>> = {
  promptTokens: 'prompt_tokens',
  cachedTokens: 'cached_tokens',
  completionTokens: 'completion_tokens',
  reasoningTokens: 'reasoning_tokens',
};

/** A judgement from its row of `READ_COLUMNS`, with its measures, where it has some. @throws DamagedValue */
export function judgedRowOf(row: Row, measures: JudgedRow['measures']): JudgedRow {
  const failed = row.numberIn('failed');
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
    flags: row.texts('flags'),
    ...rolloutIn(row),
  };
}

/** Most rows stand in no rollout. */
function rolloutIn(row: Row): Pick<JudgedRow, 'rollout'> {
  const chain = row.textIn('chain');
  if (chain === undefined) return {};
  const [step, distance] = [row.number('step'), row.number('distance')];
  return { rollout: { chain, from: step - distance, step, distance, offScript: row.texts('off_script') } };
}
