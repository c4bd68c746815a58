// The results in a batch folder: which lines answer which requests, in any shape that engines write. Nothing of them is trusted.

import { join } from 'node:path';
import { throwIfStopped } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { asObject, isInteger, isObject, type JsonObject, parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import { bytesAt, type Place } from '../../disk/files.js';
import { linesIn, resultFiles } from './folder.js';

/**
 * What a line says of its request: an answer, as a server would have sent it, or that nobody has worked on it, since the batch has expired
 * or was cancelled.
 */
type Result = { readonly status: number | undefined; readonly body: string | JsonObject } | 'unasked';

/** Codes of requests on which nobody has worked. */
const UNASKED = /^(?:batch|request)_(?:expired|cancell?ed)$/;

/** The object of a line. Files written on Windows may begin with a byte order mark. */
function parseLine(bytes: Uint8Array): JsonObject | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  return parseObject(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
}

/**
 * Reads a line that was parsed: OpenAI's shape (`response` with `status_code` and `body`, or `error`), vLLM's (whose errors stand beside
 * a response without a body), or a completion directly under `response`. Undefined for what is no result, such as a request.
 */
export function readResult(line: JsonObject): Result | undefined {
  try {
    return resultOf(line);
  } catch (error) {
    // No engine writes what nests so deeply that it cannot be printed anew.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function resultOf({ response, error }: JsonObject): Result | undefined {
  if (UNASKED.test(String(asObject(error).code))) return 'unasked';
  if (!isObject(response)) return isSaid(error) ? { status: undefined, body: errorText(error) } : undefined;
  const isWrapped = 'body' in response || 'status_code' in response;
  const body = isWrapped ? response.body : response;
  const status = isWrapped && isInteger(response.status_code) ? response.status_code : undefined;
  if (isObject(body) && isGood(status ?? 200)) return { status: status ?? 200, body };
  if (isSaid(body)) return { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  return { status, body: isSaid(error) ? errorText(error) : '' };
}

/** Whether an answer of that status is a completion. */
export function isGood(status: number): boolean {
  return status >= 200 && status <= 299;
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** An error as the body of an answer would hold it. */
function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return JSON.stringify(isObject(error) && 'error' in error ? error : { error });
}

/** How many ids, and how many places, are named. */
const MOST_NAMED = 5;
const MOST_NAME_COLUMNS = 64;

export type Results = Awaited<ReturnType<typeof openResults>>;

/**
 * What all files of a folder hold that are not requests; each line is read when its turn comes.
 * @throws UserError: 66 where a file cannot be read, 130, 143
 */
export async function openResults(dir: string, stop?: AbortSignal) {
  /** By the ids of requests, the lines that answer them, in the order of the files' names. */
  const lines = new Map<string, Place[]>();
  const [cutOff, odd]: [string[], string[]] = [[], []];
  for (const name of await resultFiles(dir)) {
    const path = join(dir, name);
    for await (const { bytes, offset, number, ended, tooLong } of linesIn(path)) {
      throwIfStopped(stop);
      const line = tooLong ? undefined : parseLine(bytes);
      const place = `${shownName(name)}:${number}`;
      if (line === undefined && !ended) cutOff.push(place);
      // A copy of the requests answers none of them.
      else if (typeof line?.custom_id !== 'string' || readResult(line) === undefined) odd.push(place);
      else {
        const found = { path, offset, length: bytes.length };
        const before = lines.get(line.custom_id);
        if (before === undefined) lines.set(line.custom_id, [found]);
        else before.push(found);
      }
    }
  }
  return {
    /** The ids of requests that have a result, a failure among them. */
    ids: new Set(lines.keys()),
    has: (id: string) => lines.has(id),
    /** What the lines that answer a request say, and their files. @throws UserError (66) where a file cannot be read any more */
    of: (id: string) =>
      (lines.get(id) ?? []).flatMap((line) => {
        // The file may have been changed since it was looked through.
        const result = readResult(parseLine(bytesAt(line)) ?? {});
        return result === undefined ? [] : [{ result, path: line.path }];
      }),
    /** What is odd about the files, a sentence each. `isKnown` says whether there is a request of that id. */
    notes(isKnown: (id: string) => boolean): string[] {
      const all = [...lines];
      const strangers = all.flatMap(([id, places]) => (isKnown(id) ? [] : places.map(() => shownName(id))));
      const again = all.filter(([id, places]) => isKnown(id) && places.length > 1).length;
      const notes = {
        [`cut off, so the last line is left out, and read again once the file has grown: ${firstOf(cutOff)}`]:
          cutOff.length,
        [`ignored, since their ids are unknown here: ${counted(strangers.length, 'result')} (${firstOf(strangers)})`]:
          strangers.length,
        [`ignored, since no result stands there: ${counted(odd.length, 'line')} (${firstOf(odd)})`]: odd.length,
        [`answered more than once, and the first usable result counts: ${counted(again, 'request')}`]: again,
      };
      return Object.entries(notes).flatMap(([note, count]) => (count === 0 ? [] : note));
    },
  };
}

function shownName(name: string): string {
  return oneLine(name, MOST_NAME_COLUMNS);
}

function firstOf(names: readonly string[]): string {
  return `${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', ...' : ''}`;
}
