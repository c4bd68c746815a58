// A row of a judged file: what judging adds to the prediction's row, and how it is read, whether written by any version of awb judge or
// by the official script.

import { z } from 'zod';
import { type Fact, readFacts } from './facts.js';
import { asObject, isInteger, isObject, isText, type JsonObject } from './json.js';
import { isUnasked, type JudgementRecord } from './judgement.js';
import { LARGEST_MEASURE } from './measures.js';
import { failureToPredict, isJudgementFailure } from './points.js';
import type { PredictionId } from './prediction.js';
import { readPrediction } from './reply.js';
import { DIMENSIONS, type Domain, type Flag, type JudgedRow, type Ratings, rolloutStep } from './types.js';

/** The members of a judged row that an earlier judgement may have left in it. */
export const JUDGEMENT_KEYS: ReadonlySet<string> = new Set([
  'total_score',
  ...DIMENSIONS,
  'failed',
  'strengths',
  'weaknesses',
  'extracted_output',
  'judge_raw_output',
  'error_message',
  'awb',
]);

/** A prediction to be judged, with the `awb` object of its row, which may contain an earlier judgement. */
interface JudgedPrediction extends PredictionId {
  readonly gen: string;
  readonly awb: JsonObject;
  readonly flags: readonly Flag[];
}

/** What judging adds to the prediction's row. `index` is the 0-based number of this judgement among those of the prediction. */
export function judgementMembers(prediction: JudgedPrediction, record: JudgementRecord, index: number): JsonObject {
  const { official, judge, measures } = record;
  const { key, trajectory, repeat, flags, gen } = prediction;
  const { judge: _before, measures: _measures, ...inferred } = prediction.awb;
  const wasAsked = 'failed' in official && !(judge.status === 'failed' && isUnasked(judge.class));
  return {
    ...official,
    ...(wasAsked ? { extracted_output: readPrediction(gen) } : {}),
    awb: {
      ...{ key, trajectory, repeat, flags },
      ...inferred,
      judge: index === 0 ? judge : { index, ...judge },
      ...(measures === undefined ? {} : { measures }),
    },
  };
}

/** Identifies a judgement and its row. */
export type JudgedId = Pick<JudgedRow, 'key' | 'trajectory' | 'repeat' | 'index'>;

/** The id that awb judge wrote into the row; undefined if another program wrote the row. */
export function judgedIdIn({ awb }: JsonObject): JudgedId | undefined {
  const own = asObject(awb);
  const { key, trajectory } = own;
  if (typeof key !== 'string' || typeof trajectory !== 'string') return undefined;
  return { key, trajectory, repeat: countIn(own, 'repeat') ?? 0, index: judgementIndexIn(own) };
}

/** The index of the judgement in a row's `awb` object; 0 if it does not say. */
export function judgementIndexIn({ judge }: JsonObject): number {
  return countIn(asObject(judge), 'index') ?? 0;
}

/** Whether anything in the row comes from judging. */
export function holdsJudgement(fields: JsonObject): boolean {
  const awb = asObject(fields.awb);
  return 'failed' in fields || 'total_score' in fields || awb.judge !== undefined || awb.measures !== undefined;
}

export function readJudgedRow(fields: JsonObject, id: JudgedId, domain: Domain): JudgedRow {
  const awb = asObject(fields.awb);
  const failed = numberIn(fields, 'failed');
  const measures = measuresIn(awb);
  const isFine = failed === 0 || measures !== undefined;
  const failure = failureIn(fields, awb, isFine);
  const rollout = rolloutStep(awb.rollout);
  return {
    ...id,
    domain,
    turnIdx: countIn(fields, 'turn_idx') ?? 1,
    total: numberIn(fields, 'total_score') ?? 0,
    ratings: ratingsIn(fields),
    flags: Array.isArray(awb.flags) ? awb.flags.filter((flag) => typeof flag === 'string') : [],
    ...(failed !== undefined && { failed }),
    ...(failure && { failure }),
    ...(measures && { measures }),
    ...(rollout && { rollout }),
  };
}

function ratingsIn(fields: JsonObject): Ratings {
  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const rating = numberIn(fields, dimension);
    if (rating !== undefined) ratings[dimension] = rating;
  }
  return ratings;
}

function failureIn(fields: JsonObject, awb: JsonObject, isFine: boolean): JudgedRow['failure'] {
  const { judge } = awb;
  if (!isObject(judge)) return isFine ? undefined : guessFailure(fields, awb);
  if (judge.status !== 'failed') return undefined;
  return {
    class: isJudgementFailure(judge.class) ? judge.class : 'unreadable',
    reason: typeof judge.reason === 'string' ? judge.reason : 'no reason was recorded',
  };
}

/** The official script does not record why a row failed: an empty `gen` was never judged, anything else was unreadable. */
function guessFailure({ error_message: message, gen }: JsonObject, awb: JsonObject): JudgedRow['failure'] {
  const reason = typeof message === 'string' ? message : 'no reason was recorded';
  if (typeof gen === 'string' && gen !== '') return { class: 'unreadable', reason };
  if (awb.status !== 'failed') return { class: 'empty', reason };
  // awb made the prediction and recorded why it is missing.
  return { class: failureToPredict(awb.class), reason };
}

function measuresIn({ measures }: JsonObject): Record<string, number> | undefined {
  const fields = asObject(measures);
  const names = Object.keys(fields).filter(
    (name) => typeof fields[name] === 'number' && numberIn(fields, name) !== undefined,
  );
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map((name) => [name, numberIn(fields, name) ?? 0]));
}

/** Numbers as the official script reads them in Python: true is 1 and false is 0. An absurdly large one counts as absent. */
function numberIn(fields: JsonObject, key: string): number | undefined {
  const value = fields[key];
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' && Math.abs(value) <= LARGEST_MEASURE ? value : undefined;
}

/** A whole number from 0; undefined for anything else. */
function countIn(fields: JsonObject, key: string): number | undefined {
  const value = fields[key];
  return isInteger(value) && value >= 0 ? value : undefined;
}

/** The judge's words about the prediction. */
export interface Remarks {
  readonly strengths: readonly string[];
  readonly weaknesses: readonly string[];
  /** The checklist; absent if the row has no readable one. */
  readonly facts?: readonly Fact[];
  /** The judge's unchanged reply, and its reasoning; absent if the row has none. */
  readonly judgeReply?: string;
  readonly judgeReasoning?: string;
}

export function remarksIn(fields: JsonObject): Remarks {
  const awb = asObject(fields.awb);
  const judge = asObject(awb.judge);
  // Replies to several parts are joined into one text.
  const replies = textsIn(judge.raw_outputs).join('\n\n') || undefined;
  const judgeReply = [fields.judge_raw_output, judge.raw_output, replies].find(isText);
  const facts = readFacts(judge.facts);
  return {
    strengths: textsIn(fields.strengths),
    weaknesses: textsIn(fields.weaknesses),
    ...(typeof facts === 'string' ? {} : { facts }),
    ...(judgeReply === undefined ? {} : { judgeReply }),
    ...(typeof judge.reasoning === 'string' ? { judgeReasoning: judge.reasoning } : {}),
  };
}

const COUNT = z.int().min(0);
/** What is kept of a row so that a list can show it without reading its line. */
const EXCERPT = z.object({
  /** The span of the row's line in the judged file. */
  offset: COUNT,
  length: COUNT,
  checksum: COUNT,
  /** The judge's first weakness, or why the row failed; absent if there is neither. */
  note: z.string().optional(),
  /** Claims of determined facts that the prediction did not meet; absent if there are none. */
  unmet: z.array(z.string()).readonly().optional(),
  /** How many determined facts the checklist lists; absent without a checklist. */
  determined: COUNT.optional(),
  /** Characters (UTF-16 units) of system prompt, history and action; absent for a lean row, which does not contain them. */
  chars: COUNT.optional(),
});
export type Excerpt = Readonly<z.infer<typeof EXCERPT>>;

/** Whether a value, as read from a SQLite file, is an excerpt. */
export function isExcerpt(value: unknown): value is Excerpt {
  return EXCERPT.safeParse(value).success;
}

/** The official script writes whatever the judge gave: a list, a text, or something else. */
function textsIn(value: unknown): string[] {
  return [value].flat().filter((item): item is string => isText(item) && item !== '');
}
