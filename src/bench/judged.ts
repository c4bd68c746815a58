// A judged file, ours or the official script's -> JudgedRows; and the journal beside it -> what each judgement cost.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { EXIT, UserError } from '../errors.js';
import { type Line, splitLines } from '../lines.js';
import { isModelCaused } from '../points.js';
import { type CallLog, DIMENSIONS, type JudgedRow, type JudgementFailure, type Ratings, type Usage } from '../types.js';
import { EqualRows } from './dataset.js';
import { decodeLine, domainOf, readRow } from './sample.js';

export interface JudgedFile {
  /** In file order. */
  readonly rows: readonly JudgedRow[];
  /** SHA-256 hex of the file's bytes. */
  readonly sha256: string;
}

type Fields = Readonly<Record<string, unknown>>;
type Identified = Pick<JudgedRow, 'key' | 'trajectory' | 'repeat'>;

/**
 * Reads a judged file. One row's text is in memory at a time; what is kept of it is small.
 * Rows of the official script have no key of ours: theirs is derived from their input fields, as for the data itself.
 * @throws UserError 66 where the file cannot be read; 65 where a line is not a row, a row stands there twice, or nothing was judged.
 */
export async function readJudged(path: string): Promise<JudgedFile> {
  const hash = createHash('sha256');
  const equals = new EqualRows();
  const lines = new Map<string, number>();
  const rows: JudgedRow[] = [];
  let judged = false;
  for await (const line of splitLines(hashed(chunksOf(path), hash))) {
    const { fields, text } = parseLine(path, line);
    const identified = identify(fields, text, equals);
    const id = `${identified.key}#${identified.repeat}`;
    const earlier = lines.get(id);
    if (earlier !== undefined) {
      throw bad(path, line.number, `the row of line ${earlier} stands here again; take one of the two out`);
    }
    lines.set(id, line.number);
    judged ||= isJudged(fields);
    rows.push(judgedRow(path, line.number, fields, identified));
  }
  if (rows.length === 0) throw new UserError(`${path} holds no rows; run awb judge first`, EXIT.badData);
  if (!judged) {
    throw new UserError(
      `${path} holds no judgements, only rows to be judged; run awb judge --predictions ${path} first and score the judged.jsonl that it writes`,
      EXIT.badData,
    );
  }
  return { rows, sha256: hash.digest('hex') };
}

/**
 * What each judgement cost, by the journal's record id; empty where there is no journal. Later records replace earlier ones;
 * torn and strange lines are passed over, since the judged file itself is whole.
 * @throws UserError 66 where the journal is there and cannot be read.
 */
export async function readCosts(path: string): Promise<ReadonlyMap<string, CallLog>> {
  const costs = new Map<string, CallLog>();
  try {
    for await (const line of splitLines(createReadStream(path, { highWaterMark: 1 << 20 }))) {
      const record = objectOf(parsed(decodeLine(line.bytes)));
      const log = callLog(record?.log);
      if (typeof record?.id === 'string' && log !== undefined) costs.set(record.id, log);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadable(path, error);
  }
  return costs;
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { highWaterMark: 1 << 20 });
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

function unreadable(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const reason = { ENOENT: 'there is no such file', EISDIR: 'it is a folder' }[code] ?? code;
  return new UserError(
    `cannot read ${path}: ${reason}; --predictions names the judged.jsonl that awb judge wrote`,
    EXIT.inputMissing,
  );
}

function parseLine(path: string, line: Line): { fields: Fields; text: string } {
  const text = decodeLine(line.bytes);
  const fields = objectOf(parsed(text));
  if (text !== undefined && fields !== undefined) return { fields, text };
  throw line.ended
    ? bad(path, line.number, 'not a JSON object; mend the line or take it out')
    : bad(path, line.number, 'the last line is cut off; run awb judge again, which asks for no finished row twice');
}

function bad(path: string, line: number, reason: string): UserError {
  return new UserError(`${path}:${line}: ${reason}`, EXIT.badData);
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Fields | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined;
}

function identify(fields: Fields, text: string, equals: EqualRows): Identified {
  const awb = objectOf(fields.awb);
  if (typeof awb?.key === 'string' && typeof awb.trajectory === 'string') {
    return { key: awb.key, trajectory: awb.trajectory, repeat: isCount(awb.repeat) ? awb.repeat : 0 };
  }
  const domain = typeof fields.task === 'string' ? domainOf(fields.task) : '';
  const reading = readRow(text, [domain]);
  if (reading.ok) {
    const { key, trajectory } = reading.row.sample;
    return { key: equals.keyOf(key), trajectory, repeat: 0 };
  }
  const key = equals.keyOf(createHash('sha256').update(text).digest('hex').slice(0, 24));
  return { key, trajectory: key, repeat: 0 };
}

function judgedRow(path: string, line: number, fields: Fields, identified: Identified): JudgedRow {
  const domain = typeof fields.task === 'string' ? domainOf(fields.task) : '';
  if (domain === '')
    throw bad(path, line, 'the key "task" is missing or names no domain; mend the line or take it out');
  const awb = objectOf(fields.awb);
  const failed = numberOf(fields.failed);
  const measures = measuresOf(awb?.measures);
  const isFine = failed === 0 || measures !== undefined;
  const failure = failureOf(fields, awb, isFine);
  return {
    ...identified,
    domain,
    turnIdx: isCount(fields.turn_idx) ? fields.turn_idx : 1,
    ...(failed === undefined ? {} : { failed }),
    total: numberOf(fields.total_score) ?? 0,
    ratings: ratingsOf(fields),
    ...(failure === undefined ? {} : { failure }),
    ...(measures === undefined ? {} : { measures }),
    flags: Array.isArray(awb?.flags) ? awb.flags.filter((flag) => typeof flag === 'string') : [],
  };
}

function isJudged(fields: Fields): boolean {
  const awb = objectOf(fields.awb);
  return 'failed' in fields || 'total_score' in fields || awb?.judge !== undefined || awb?.measures !== undefined;
}

function ratingsOf(fields: Fields): Ratings {
  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const rating = numberOf(fields[dimension]);
    if (rating !== undefined) ratings[dimension] = rating;
  }
  return ratings;
}

/** Numbers as the official script, being Python, counts them: true is 1 and false is 0. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function failureOf(fields: Fields, awb: Fields | undefined, isFine: boolean): JudgedRow['failure'] {
  const judge = objectOf(awb?.judge);
  if (judge === undefined) return isFine ? undefined : guessFailure(fields, awb);
  if (judge.status !== 'failed') return undefined;
  return {
    class: isFailureClass(judge.class) ? judge.class : 'unreadable',
    reason: typeof judge.reason === 'string' ? judge.reason : 'no reason was recorded',
  };
}

/** The official script does not record why a row failed: an empty `gen` was never judged, anything else could not be read. */
function guessFailure(fields: Fields, awb: Fields | undefined): JudgedRow['failure'] {
  const reason = typeof fields.error_message === 'string' ? fields.error_message : 'no reason was recorded';
  if (typeof fields.gen === 'string' && fields.gen !== '') return { class: 'unreadable', reason };
  if (awb?.status !== 'failed') return { class: 'empty', reason };
  // The prediction is ours and says why it is missing.
  return { class: isModelCaused(awb.class) ? awb.class : 'prediction', reason };
}

function isFailureClass(value: unknown): value is JudgementFailure {
  if (isModelCaused(value) || value === 'prediction' || value === 'unreadable') return true;
  return typeof value === 'string' && value.startsWith('judge-');
}

function measuresOf(value: unknown): Record<string, number> | undefined {
  const entries = Object.entries(objectOf(value) ?? {}).filter(([, measure]) => Number.isFinite(measure));
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Record<string, number>);
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
