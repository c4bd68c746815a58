// Files of judgements: a judged file, from awb or from the official script, and calibration.jsonl -> their rows, without texts.

import { createHash } from 'node:crypto';
import type { CalibratedRow } from '../core/calibration.js';
import { badData } from '../core/errors.js';
import { isNumber, isObject, type JsonObject } from '../core/json.js';
import {
  type Excerpt,
  holdsJudgement,
  type JudgedId,
  judgedIdIn,
  readJudgedRow,
  remarksIn,
} from '../core/judged-row.js';
import { impossibleFigures, officialRating } from '../core/points.js';
import { counted, oneLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { isBesideSamples } from '../core/scenario-row.js';
import { actionOf, earlierTurns, textsOf } from '../core/turn.js';
import { DIMENSIONS, type JudgedRow } from '../core/types.js';
import type { Line } from '../disk/lines.js';
import { badLine, type ObjectFile, type ObjectLine, objectsIn, onceIn, REMEDY, spanOf } from './line-file.js';
import { domainOf, openRowKeys, readRow, readSampleAgain } from './sample.js';

const JUDGED = { hint: '--predictions takes the judged.jsonl that awb judge writes', command: 'awb judge' };

/**
 * Reads a judged file. Only one row's text is in memory at a time; what is kept of it is small. Rows of the official script have no key
 * of awb's: theirs is derived from their input fields, as for the data itself.
 * @param onRow receives every row with its line and that line's fields, which are not kept
 * @throws UserError 66 if the file cannot be read; 65 if a line is not a row or has a number beyond a million, a row occurs twice, or
 * nothing was judged; 130 or 143 once `stop` is aborted.
 */
export async function readJudged(
  path: string,
  stop?: AbortSignal,
  onRow: (row: JudgedRow, fields: JsonObject, line: Line) => void = () => {},
) {
  const file = { path, ...JUDGED };
  const hash = createHash('sha256');
  const keyOf = openRowKeys();
  const rows: JudgedRow[] = [];
  const requireNew = onceIn(file, 'row');
  const warnings: string[] = [];
  const confusing = openConfusing();
  let judged = false;
  for await (const found of objectsIn(file, stop, (chunk) => hash.update(chunk))) {
    const { line, fields } = found;
    if (isBesideSamples(fields)) continue;
    const row = rowOf(file, found, keyOf);
    requireNew(rowId(row.key, row.repeat, row.index), line);
    judged ||= holdsJudgement(fields);
    const warning = impossibleIn(row);
    if (warning !== undefined) warnings.push(`${path}:${line.number}: ${warning}`);
    confusing.take(rows.length, row, fields);
    rows.push(row);
    onRow(row, fields, line);
  }
  if (rows.length === 0) throw badData(`${path} has no rows; run awb judge first`);
  if (!judged) {
    throw badData(
      `${path} has no judgements, only rows to be judged; run awb judge --predictions ${path} first and score the judged.jsonl that it writes`,
    );
  }
  const found = confusing.found();
  return {
    /** In file order. */
    rows: rows.map((row, place) => found.get(place) ?? row),
    /** SHA-256 hex of the file's bytes. */
    sha256: hash.digest('hex'),
    /** Impossible ratings, one sentence with file and line (of many, the first); and what could not be read. */
    warnings: [...shortened(warnings), ...confusionIn(path, found.size)],
  };
}

type KeyOf = ReturnType<typeof openRowKeys>;

function impossibleIn(row: JudgedRow): string | undefined {
  const figures = impossibleFigures(row).map(
    (figure) => `${figure === 'total' ? 'total_score' : figure} ${officialRating(row, figure)}`,
  );
  return figures.length === 0
    ? undefined
    : `${figures.join(', ')}: impossible (ratings are 1 to 5, or 0 if none was given)`;
}

function confusionIn(path: string, size: number): string[] {
  const said = `${path}: ${counted(size, 'judgement')} could not be read in any try, while those of at least 95 % of the other predictions could`;
  return size === 0 ? [] : [`${said}; they count as the model's failure, "confusing"`];
}

/** The first warning, how many there are, and what follows from all of them. */
function shortened([first, ...others]: readonly string[]): string[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` (and ${counted(others.length, 'more row')} with such ratings)`;
  const counting =
    'the official figures count such ratings as the official script does; all other figures exclude them, and awb gate never passes a run that has any';
  return [`${first}${more}; ${counting}`];
}

function rowOf(file: ObjectFile, found: ObjectLine, keyOf: KeyOf): JudgedRow {
  const { line, fields, text } = found;
  const domain = typeof fields.task === 'string' ? domainOf(fields.task) : '';
  if (domain === '') throw badLine(file, line, `the key "task" is missing or names no domain; ${REMEDY}`);
  requirePossible(file, found);
  return readJudgedRow(fields, judgedIdIn(fields) ?? derivedId(text, keyOf), domain);
}

const NUMBERS = ['turn_idx', 'failed', 'total_score', ...DIMENSIONS];
/** A larger number is garbage: no real one comes near, and below it means and squares stay finite. */
const LARGEST_NUMBER = 1e6;

/** @throws UserError (65) for an impossible number */
function requirePossible(file: ObjectFile, { line, fields }: Pick<ObjectLine, 'line' | 'fields'>): void {
  const beyond = NUMBERS.find((key) => isNumber(fields[key]) && Math.abs(fields[key]) > LARGEST_NUMBER);
  if (beyond !== undefined) throw badLine(file, line, `"${beyond}" cannot be ${fields[beyond]}; ${REMEDY}`);
}

function derivedId(text: string, keyOf: KeyOf): JudgedId {
  const reading = readRow(text);
  if (reading.ok) {
    const { key, trajectory } = reading.row.sample;
    return { key: keyOf(key), trajectory, repeat: 0, index: 0 };
  }
  const key = keyOf(createHash('sha256').update(text).digest('hex').slice(0, 24));
  return { key, trajectory: key, repeat: 0, index: 0 };
}

const CALIBRATED = { hint: 'awb calibrate writes it', command: 'awb calibrate' };

/**
 * Reads calibration.jsonl.
 * @throws UserError 66 if the file cannot be read; 65 if a line is not a judgement of a variant, or occurs twice; 130 or 143 once
 * `stop` is aborted.
 */
export async function readCalibrated(path: string, stop?: AbortSignal): Promise<CalibratedRow[]> {
  const file = { path, ...CALIBRATED };
  const requireNew = onceIn(file, 'judgement');
  const rows: CalibratedRow[] = [];
  for await (const { line, fields } of objectsIn(file, stop)) {
    const id = judgedIdIn(fields);
    const variant = isObject(fields.awb) ? fields.awb.variant : undefined;
    const { task } = fields;
    if (id === undefined || typeof variant !== 'string' || typeof task !== 'string') {
      const remedy = 'run the same awb calibrate command to rewrite the file';
      throw badLine(file, line, `not a judgement of awb calibrate; ${remedy}`);
    }
    requirePossible(file, { line, fields });
    const row = { ...readJudgedRow(fields, id, domainOf(task)), variant };
    requireNew(rowId(row.key, row.variant, row.index), line);
    rows.push(row);
  }
  return rows;
}

// Predictions whose judge could not be read: only a complete judged file can tell whose fault that is.

/**
 * An unreadable row counts as the prediction's fault only if at least this many other predictions were judged, and this share of them
 * was readable.
 */
const LEAST_OTHERS = 20;
const LEAST_SHARE = 0.95;
/** The measures of modes that choose, and the values of a prediction whose judge could not choose. */
const WORST = { win_rate: 0, taken_for_real: 0 } as const;

/**
 * Receives every row of a judged file, and finds those that made their judge unreadable: rows of predictions without a
 * single readable judgement in any try, if at least 95 % of this judge's other predictions (20 or more) could be read. They count as
 * rating 1, or as the worst choice in modes that choose, so confusing the judge never pays. Otherwise the judge is at fault.
 */
export function openConfusing() {
  const unread: { readonly place: number; readonly id: string; readonly row: JudgedRow }[] = [];
  const read = new Set<string>();
  const worst: Record<string, number> = {};
  let isRated = false;
  return {
    take(place: number, row: JudgedRow, { awb }: JsonObject): void {
      const judge = isObject(awb) && isObject(awb.judge) ? awb.judge : {};
      const id = `${row.key} ${row.repeat}`;
      isRated ||= row.failed !== undefined;
      for (const [name, least] of Object.entries(WORST)) if (row.measures?.[name] !== undefined) worst[name] = least;
      if (judge.status === 'failed' && judge.class === 'unreadable') unread.push({ place, id, row });
      else if (row.failure === undefined && (row.failed === 0 || judge.raw_outputs !== undefined)) read.add(id);
    },
    /** The rows at fault, by their index. */
    found(): ReadonlyMap<number, JudgedRow> {
      const never = unread.filter(({ id }) => !read.has(id));
      const others = read.size + new Set(never.map(({ id }) => id)).size - 1;
      const counts = isRated || Object.keys(worst).length > 0;
      if (!counts || others < LEAST_OTHERS || read.size < LEAST_SHARE * others) return new Map();
      return new Map(never.map(({ place, row }) => [place, atFault(row, isRated ? {} : worst)]));
    },
  };
}

function atFault(row: JudgedRow, worst: Readonly<Record<string, number>>): JudgedRow {
  const reason = row.failure?.reason ?? 'no reason was recorded';
  return { ...row, failure: { class: 'confusing', reason }, ...(Object.keys(worst).length > 0 && { measures: worst }) };
}

// Excerpts of judged rows, made while a judged file is read, so that samples can be listed and found without reading it again.

/** The longest note, in terminal columns. */
const NOTE_COLUMNS = 200;

/** The excerpt of a row that `readJudged` passes to `onRow`. */
export function excerptOf(row: JudgedRow, fields: JsonObject, line: Line): Excerpt {
  const { weaknesses, facts } = remarksIn(fields);
  const determined = facts?.filter(({ kind }) => kind === 'determined');
  const unmet = determined?.flatMap(({ met, claim }) => (met ? [] : [claim])) ?? [];
  const note = oneLine(row.failure?.reason ?? weaknesses[0] ?? '', NOTE_COLUMNS);
  return {
    ...spanOf(line),
    ...(note !== '' && { note }),
    ...(unmet.length > 0 && { unmet }),
    ...(determined && { determined: determined.length }),
    ...charsIn(row, fields),
  };
}

function charsIn(row: JudgedRow, fields: JsonObject): Pick<Excerpt, 'chars'> {
  const sample = readSampleAgain(fields, row);
  if (sample === undefined) return {};
  const texts = [sample.systemPrompt, ...textsOf(earlierTurns(sample)), actionOf(sample)];
  return { chars: texts.reduce((sum, text) => sum + text.length, 0) };
}
