// A judged file, ours or the official script's -> JudgedRows; and the journal beside it -> what each judgement cost.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { EXIT, UserError } from '../errors.js';
import { isObject, type JsonObject, parseObject } from '../json.js';
import type { Line } from '../lines.js';
import { failureToPredict, impossibleFigures, isJudgementFailure, officialRating } from '../points.js';
import { type CallLog, DIMENSIONS, type JudgedRow, type Ratings, type Usage } from '../types.js';
import { EqualRows } from './dataset.js';
import { openToRead, readLines, textOf } from './line-file.js';
import { domainOf, readRow } from './sample.js';

export interface JudgedFile {
  /** In file order. */
  readonly rows: readonly JudgedRow[];
  /** SHA-256 hex of the file's bytes. */
  readonly sha256: string;
  /** Ratings that no judge can have meant, a sentence each, with file and line; of many the first. */
  readonly warnings: readonly string[];
}

type Fields = JsonObject;
type Identified = Pick<JudgedRow, 'key' | 'trajectory' | 'repeat' | 'index'>;

/** Where something stands, for error texts. */
interface Place {
  readonly path: string;
  readonly line: number;
}

/** A larger number in a judged file is damage: no rating or measure comes near it, and means and squares still hold below it. */
const LARGEST_NUMBER = 1e6;
const MOST_WARNINGS = 5;
const HINT = '--predictions names the judged.jsonl that awb judge wrote';

/**
 * Reads a judged file. One row's text is in memory at a time; what is kept of it is small.
 * Rows of the official script have no key of ours: theirs is derived from their input fields, as for the data itself.
 * @throws UserError 66 where the file cannot be read; 65 where a line is not a row, holds a number that cannot be (beyond 1e6, a
 * turn that is no safe integer), a row stands there twice, or nothing was judged; 130 or 143 once `stop` is aborted.
 */
export async function readJudged(path: string, stop?: AbortSignal): Promise<JudgedFile> {
  const handle = await openToRead(path, HINT);
  try {
    return await readRows(path, handle, stop);
  } finally {
    await handle.close();
  }
}

async function readRows(path: string, handle: FileHandle, stop: AbortSignal | undefined): Promise<JudgedFile> {
  const hash = createHash('sha256');
  const equals = new EqualRows();
  const lines = new Map<string, number>();
  const rows: JudgedRow[] = [];
  const warnings: string[] = [];
  let judged = false;
  for await (const line of readLines(handle, path, HINT, stop, (chunk) => hash.update(chunk))) {
    const { fields, text } = parseLine(path, line);
    const place = { path, line: line.number };
    const identified = identify(fields, text, equals, place);
    const id = `${identified.key}#${identified.repeat}#${identified.index}`;
    const earlier = lines.get(id);
    if (earlier !== undefined) {
      throw bad(path, line.number, `the row of line ${earlier} stands here again; take one of the two out`);
    }
    lines.set(id, line.number);
    judged ||= isJudged(fields);
    const row = judgedRow(place, fields, identified);
    const warning = impossibleIn(row);
    if (warning !== undefined) warnings.push(`${path}:${line.number}: ${warning}`);
    rows.push(row);
  }
  if (rows.length === 0) throw new UserError(`${path} holds no rows; run awb judge first`, EXIT.badData);
  if (!judged) {
    throw new UserError(
      `${path} holds no judgements, only rows to be judged; run awb judge --predictions ${path} first and score the judged.jsonl that it writes`,
      EXIT.badData,
    );
  }
  return { rows, sha256: hash.digest('hex'), warnings: shortened(warnings) };
}

function impossibleIn(row: JudgedRow): string | undefined {
  const figures = impossibleFigures(row).map(
    (figure) => `${figure === 'total' ? 'total_score' : figure} ${officialRating(row, figure)}`,
  );
  return figures.length === 0
    ? undefined
    : `${figures.join(', ')} cannot be (ratings are 1 to 5, 0 where none was given)`;
}

/** The first of many warnings, and what follows from all of them. */
function shortened(warnings: readonly string[]): string[] {
  if (warnings.length === 0) return [];
  const left = warnings.length - MOST_WARNINGS;
  return [
    ...warnings.slice(0, MOST_WARNINGS),
    ...(left > 0 ? [`and ${left} more ${left === 1 ? 'row' : 'rows'} with such ratings`] : []),
    'the official figures count such ratings as the official script does; all others leave them out, and awb gate passes no run that has them',
  ];
}

/**
 * What each judgement cost, by the journal's record id; empty where there is no journal. Later records replace earlier ones;
 * torn and strange lines are passed over, since the judged file itself is whole.
 * @throws UserError: 66 where the journal is there and cannot be read, 130 or 143 once `stop` is aborted.
 */
export async function readCosts(path: string, stop?: AbortSignal): Promise<ReadonlyMap<string, CallLog>> {
  const costs = new Map<string, CallLog>();
  if (!existsSync(path)) return costs;
  const hint = 'it says what judging cost; move it away to go on without';
  const handle = await openToRead(path, hint);
  try {
    for await (const line of readLines(handle, path, hint, stop)) {
      const found = textOf(line);
      const record = 'text' in found ? parseObject(found.text) : undefined;
      const log = callLog(record?.log);
      if (typeof record?.id === 'string' && log !== undefined) costs.set(record.id, log);
    }
  } finally {
    await handle.close();
  }
  return costs;
}

function parseLine(path: string, line: Line): { fields: Fields; text: string } {
  const found = textOf(line);
  if ('flaw' in found) throw bad(path, line.number, `${found.flaw}; mend the line or take it out`);
  const fields = parseObject(found.text);
  if (fields !== undefined) return { fields, text: found.text };
  throw line.ended
    ? bad(path, line.number, 'not a JSON object; mend the line or take it out')
    : bad(path, line.number, 'the last line is cut off; run awb judge again, which asks for no finished row twice');
}

function bad(path: string, line: number, reason: string): UserError {
  return new UserError(`${path}:${line}: ${reason}`, EXIT.badData);
}

function objectOf(value: unknown): Fields | undefined {
  return isObject(value) ? value : undefined;
}

function identify(fields: Fields, text: string, equals: EqualRows, place: Place): Identified {
  const awb = objectOf(fields.awb);
  if (typeof awb?.key === 'string' && typeof awb.trajectory === 'string') {
    const { key, trajectory } = awb;
    const index = countIn(objectOf(awb.judge) ?? {}, 'index', place) ?? 0;
    return { key, trajectory, repeat: countIn(awb, 'repeat', place) ?? 0, index };
  }
  const reading = readRow(text);
  if (reading.ok) {
    const { key, trajectory } = reading.row.sample;
    return { key: equals.keyOf(key), trajectory, repeat: 0, index: 0 };
  }
  const key = equals.keyOf(createHash('sha256').update(text).digest('hex').slice(0, 24));
  return { key, trajectory: key, repeat: 0, index: 0 };
}

function judgedRow(place: Place, fields: Fields, identified: Identified): JudgedRow {
  const domain = typeof fields.task === 'string' ? domainOf(fields.task) : '';
  if (domain === '') {
    throw bad(place.path, place.line, 'the key "task" is missing or names no domain; mend the line or take it out');
  }
  const awb = objectOf(fields.awb);
  const failed = numberIn(fields, 'failed', place);
  const measures = measuresOf(awb?.measures, place);
  const isFine = failed === 0 || measures !== undefined;
  const failure = failureOf(fields, awb, isFine);
  // Spread into one another, each row would get a hidden class of its own, and every look at a hundred thousand of them be slow.
  const row: { -readonly [K in keyof JudgedRow]: JudgedRow[K] } = {
    key: identified.key,
    trajectory: identified.trajectory,
    repeat: identified.repeat,
    index: identified.index,
    domain,
    turnIdx: countIn(fields, 'turn_idx', place) ?? 1,
    total: numberIn(fields, 'total_score', place) ?? 0,
    ratings: ratingsOf(fields, place),
    flags: Array.isArray(awb?.flags) ? awb.flags.filter((flag) => typeof flag === 'string') : [],
  };
  if (failed !== undefined) row.failed = failed;
  if (failure !== undefined) row.failure = failure;
  if (measures !== undefined) row.measures = measures;
  return row;
}

function isJudged(fields: Fields): boolean {
  const awb = objectOf(fields.awb);
  return 'failed' in fields || 'total_score' in fields || awb?.judge !== undefined || awb?.measures !== undefined;
}

function ratingsOf(fields: Fields, place: Place): Ratings {
  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const rating = numberIn(fields, dimension, place);
    if (rating !== undefined) ratings[dimension] = rating;
  }
  return ratings;
}

/** Numbers as the official script, being Python, counts them: true is 1 and false is 0. */
function numberIn(fields: Fields, key: string, place: Place): number | undefined {
  const value = fields[key];
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'number') return undefined;
  if (Math.abs(value) > LARGEST_NUMBER) throw impossible(key, value, `is beyond ${LARGEST_NUMBER}`, place);
  return value;
}

/** A whole number from 0; undefined for what is none. */
function countIn(fields: Fields, key: string, place: Place): number | undefined {
  const value = fields[key];
  if (!isCount(value)) {
    if (value === Infinity) throw impossible(key, value, 'is not finite', place);
    return undefined;
  }
  if (!Number.isSafeInteger(value)) throw impossible(key, value, `is beyond ${Number.MAX_SAFE_INTEGER}`, place);
  return value;
}

function impossible(key: string, value: number, why: string, { path, line }: Place): UserError {
  return bad(path, line, `"${key}" cannot be ${value}, which ${why}; mend the line or take it out`);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function failureOf(fields: Fields, awb: Fields | undefined, isFine: boolean): JudgedRow['failure'] {
  const judge = objectOf(awb?.judge);
  if (judge === undefined) return isFine ? undefined : guessFailure(fields, awb);
  if (judge.status !== 'failed') return undefined;
  return {
    class: isJudgementFailure(judge.class) ? judge.class : 'unreadable',
    reason: typeof judge.reason === 'string' ? judge.reason : 'no reason was recorded',
  };
}

/** The official script does not record why a row failed: an empty `gen` was never judged, anything else could not be read. */
function guessFailure(fields: Fields, awb: Fields | undefined): JudgedRow['failure'] {
  const reason = typeof fields.error_message === 'string' ? fields.error_message : 'no reason was recorded';
  if (typeof fields.gen === 'string' && fields.gen !== '') return { class: 'unreadable', reason };
  if (awb?.status !== 'failed') return { class: 'empty', reason };
  // The prediction is ours and says why it is missing.
  return { class: failureToPredict(awb.class), reason };
}

function measuresOf(value: unknown, place: Place): Record<string, number> | undefined {
  const fields = objectOf(value) ?? {};
  const entries = Object.keys(fields).flatMap((name) => {
    const measure = typeof fields[name] === 'number' ? numberIn(fields, name, place) : undefined;
    return measure === undefined ? [] : [[name, measure] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function callLog(value: unknown): CallLog | undefined {
  const log = objectOf(value);
  if (!isCount(log?.attempts) || typeof log.ms !== 'number') return undefined;
  const usage: Usage = {};
  for (const count of ['promptTokens', 'cachedTokens', 'completionTokens', 'reasoningTokens'] as const) {
    const tokens = objectOf(log.usage)?.[count];
    if (isCount(tokens)) usage[count] = tokens;
  }
  return { attempts: log.attempts, usage, ms: log.ms, host: typeof log.host === 'string' ? log.host : '' };
}
