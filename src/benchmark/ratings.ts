// Files of people's ratings -> ratings with their places: JSONL as the page of awb rate saves it, or CSV.

import type { FileHandle } from 'node:fs/promises';
import { EXIT, UserError } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import { NEEDED_FIELDS, type PersonRating, personRatingIn } from '../core/person-rating.js';
import { DIMENSIONS } from '../core/types.js';
import { CsvError, type CsvRecord, csvRecords } from './csv.js';
import { decoded, objectLines, openToRead, REMEDY, unreadable } from './line-file.js';

/** A rating, and where it stands. */
export interface PlacedRating extends PersonRating {
  /** File and line, as `ratings.jsonl:3`. */
  readonly place: string;
}

const HINT = '--ratings names files that the page of awb rate saved, or CSV';
const NO_OBJECT = 'not a JSON object (the name of a CSV file ends in .csv)';
const NUMBERS: readonly string[] = [...DIMENSIONS, 'repeat'];

/**
 * Reads a file of ratings: CSV where its name ends so, else JSONL.
 * @param shown the file's name in messages
 * @throws UserError 66 where the file cannot be read; 65, with file and line, for what is no rating of 1 to 5 in each dimension; 130 and
 * 143 once `stop` is aborted.
 */
export async function readRatings(path: string, shown: string, stop?: AbortSignal): Promise<PlacedRating[]> {
  const handle = await openToRead(path, HINT);
  try {
    const ratings: PlacedRating[] = [];
    if (/\.csv$/i.test(path)) ratings.push(...(await readCsv(handle, path, shown)));
    else {
      for await (const { line, fields } of objectLines(
        handle,
        { path, shown, hint: HINT, noObject: NO_OBJECT },
        stop,
      )) {
        ratings.push(placed(fields, `${shown}:${line.number}`));
      }
    }
    if (ratings.length === 0) throw new UserError(`${shown} holds no ratings; ${HINT}`, EXIT.badData);
    return ratings;
  } finally {
    await handle.close();
  }
}

async function readCsv(handle: FileHandle, path: string, shown: string): Promise<PlacedRating[]> {
  const text = decoded(await bytesOf(handle, path));
  if (text === undefined) throw new UserError(`${shown}: not valid UTF-8; save it as CSV in UTF-8`, EXIT.badData);
  const [header, ...records] = recordsOf(text, shown);
  if (header === undefined) return [];
  const names = header.cells.map((cell) => cell.trim().toLowerCase());
  const missing = NEEDED_FIELDS.filter((name) => !names.includes(name));
  if (missing.length > 0) {
    const columns = `the header has no column ${missing.join(', ')}`;
    throw bad(`${shown}:${header.line}`, `${columns}; columns stand between commas`);
  }
  return records.map((record) => {
    const place = `${shown}:${record.line}`;
    if (record.cells.length > names.length) {
      throw bad(place, `${record.cells.length} cells under a header of ${names.length}`);
    }
    return placed(fieldsOf(names, record), place);
  });
}

async function bytesOf(handle: FileHandle, path: string): Promise<Uint8Array> {
  try {
    return await handle.readFile();
  } catch (error) {
    throw unreadable(path, error, HINT);
  }
}

function recordsOf(text: string, shown: string): CsvRecord[] {
  try {
    return csvRecords(text);
  } catch (error) {
    if (error instanceof CsvError) throw bad(`${shown}:${error.line}`, error.message);
    throw error;
  }
}

/** The cells by their columns' names; an empty one is as good as none. */
function fieldsOf(names: readonly string[], { cells }: CsvRecord): JsonObject {
  const filled = names.flatMap((name, at) => {
    const text = cells[at]?.trim() ?? '';
    return text === '' ? [] : [[name, NUMBERS.includes(name) ? numberIn(text) : text] as const];
  });
  return Object.fromEntries(filled);
}

/** A number, or the text that is none. */
function numberIn(text: string): number | string {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function placed(fields: JsonObject, place: string): PlacedRating {
  try {
    return { ...personRatingIn(fields), place };
  } catch (error) {
    if (error instanceof RangeError) throw bad(place, error.message);
    throw error;
  }
}

function bad(place: string, reason: string): UserError {
  return new UserError(`${place}: ${reason}; ${REMEDY}`, EXIT.badData);
}
