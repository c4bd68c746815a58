// Files of people's ratings -> ratings with their places: JSONL as the page of awb rate saves it, or CSV.

import { z } from 'zod';
import { badData, closing, present, type UserError } from '../core/errors.js';
import { recordOf } from '../core/groups.js';
import type { JsonObject } from '../core/json.js';
import { DIMENSIONS, PERSON_RATING_SCHEMA } from '../core/types.js';
import { decoded, objectLines, openToRead, REMEDY, unreadable } from './line-file.js';

const text = z.string().trim().min(1);
/** A line of JSONL, or a record of CSV by its header. */
const RATING = z.object({
  schema: z.literal(PERSON_RATING_SCHEMA).optional(),
  repeat: z.int().min(0).default(0),
  prediction_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, 'not a SHA-256 in hex')
    .toLowerCase()
    .optional(),
  key: text,
  rater: text,
  ...recordOf(DIMENSIONS, () => z.int().min(1).max(5)),
  revised: z.unknown().optional(),
});

/** A person's rating of a prediction, and where it was read. */
export type PlacedRating = ReturnType<typeof placed>;

const HINT = '--ratings takes files saved by the awb rate page, or CSV';
const NUMBERS: readonly string[] = [...DIMENSIONS, 'repeat'];

/**
 * Reads a file of ratings: CSV if its name ends in .csv, else JSONL.
 * @param shown the file's name in messages
 * @throws UserError 66 if the file cannot be read; 65, with file and line, for anything other than a rating of 1 to 5 in each
 * dimension; 130 and 143 once `stop` is aborted.
 */
export async function readRatings(path: string, shown: string, stop?: AbortSignal): Promise<PlacedRating[]> {
  const ratings: PlacedRating[] = [];
  const refuse = (error: unknown) => Promise.reject(unreadable(path, error, HINT));
  return closing(await openToRead(path, HINT), async (handle) => {
    if (/\.csv$/i.test(path)) ratings.push(...readCsv(await handle.readFile().catch(refuse), shown));
    else {
      const file = { path, shown, hint: HINT };
      for await (const { line, fields } of objectLines(handle, file, stop)) {
        ratings.push(placed(fields, `${shown}:${line.number}`));
      }
    }
    if (ratings.length === 0) throw badData(`${shown} has no ratings; ${HINT}`);
    return ratings;
  });
}

function readCsv(bytes: Buffer, shown: string): PlacedRating[] {
  const text = decoded(bytes);
  if (text === undefined) throw badData(`${shown}: not valid UTF-8; save it as CSV in UTF-8`);
  const [header, ...records] = csvRecords(text, (line, reason) => bad(`${shown}:${line}`, reason));
  if (header === undefined) return [];
  const names = header.cells.map((cell) => cell.trim().toLowerCase());
  return records.map((record) => placed(fieldsOf(names, record), `${shown}:${record.line}`));
}

/** The cells by column name; an empty cell counts as absent. */
function fieldsOf(names: readonly string[], { cells }: CsvRecord): JsonObject {
  const filled = names.flatMap((name, at) => {
    const text = cells[at]?.trim() ?? '';
    return text === '' ? [] : [[name, NUMBERS.includes(name) ? numberIn(text) : text] as const];
  });
  return Object.fromEntries(filled);
}

/** The number, or the text if it is not one. */
function numberIn(text: string): number | string {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function placed(fields: JsonObject, place: string) {
  const { data, error } = RATING.safeParse(fields);
  if (error) {
    const { path, message } = present(error.issues[0]);
    throw bad(place, `"${path.join('.')}": ${message}`);
  }
  const { key, repeat, rater, prediction_sha256: hash, revised } = data;
  return {
    key,
    repeat,
    rater,
    ratings: recordOf(DIMENSIONS, (dimension) => data[dimension]),
    /** SHA-256 in hex of the prediction as the judge saw it; absent if the file does not say. */
    ...(hash !== undefined && { predictionSha256: hash }),
    /** Changed after the person had seen the judge's ratings. */
    revised: revised === true || revised === 'true',
    /** File and line, as `ratings.jsonl:3`. */
    place,
  };
}

function bad(place: string, reason: string): UserError {
  return badData(`${place}: ${reason}; ${REMEDY}`);
}

// CSV as defined by RFC 4180: cells separated by commas, quoted if they contain commas, quotes or line ends.

/** A record, and the line on which it begins. */
interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/** A cell with its end: quoted, or up to the next comma or line end. */
const CELL = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|\r|$)/y;

/**
 * The records of a text, without empty lines. A byte order mark is dropped.
 * @param wrong makes the error for a quote that is never closed, or one inside an unquoted cell
 */
export function csvRecords(text: string, wrong: (line: number, reason: string) => Error): CsvRecord[] {
  const records: CsvRecord[] = [];
  let cells: string[] = [];
  let [line, start] = [1, 1];
  CELL.lastIndex = text.startsWith('\ufeff') ? 1 : 0;
  while (CELL.lastIndex < text.length) {
    const found = CELL.exec(text);
    if (found === null) throw wrong(line, 'a quote is not closed, or is inside an unquoted cell');
    const [whole, quoted, plain, end] = found;
    cells.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    line += whole.match(/\r\n|\r|\n/g)?.length ?? 0;
    if (end === ',' && CELL.lastIndex < text.length) continue;
    if (end === ',') cells.push('');
    if (cells.length > 1 || cells[0] !== '' || quoted !== undefined) records.push({ line: start, cells });
    cells = [];
    start = line;
  }
  return records;
}
