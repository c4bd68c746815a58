// A line of a result file, in any of the shapes in which engines write them. Nothing of it is trusted.

import { asObject, isInteger, isObject, type JsonObject, parseObject } from '../../core/json.js';

/**
 * What a line says of its request: a completion; another answer, as a server would have sent it; or that nobody has worked on it, since
 * the batch has expired or was cancelled.
 */
export type Result =
  | { readonly kind: 'completion'; readonly completion: JsonObject }
  | { readonly kind: 'answer'; readonly status: number | undefined; readonly body: string }
  | { readonly kind: 'unasked' };

/** Codes of requests on which nobody has worked. */
const UNASKED = /^(?:batch|request)_(?:expired|cancell?ed)$/;

/** The object of a line. Files written on Windows may begin with a byte order mark. */
export function parseLine(bytes: Uint8Array): JsonObject | undefined {
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
  if (UNASKED.test(String(asObject(error).code))) return { kind: 'unasked' };
  if (isObject(response)) return readResponse(response, error);
  if (isSaid(error)) return { kind: 'answer', status: undefined, body: errorText(error) };
  return undefined;
}

function readResponse(response: JsonObject, error: unknown): Result {
  const isWrapped = 'body' in response || 'status_code' in response;
  const body = isWrapped ? response.body : response;
  const status = isWrapped && isInteger(response.status_code) ? response.status_code : undefined;
  const isGood = status === undefined || (status >= 200 && status <= 299);
  if (isGood && isObject(body)) return { kind: 'completion', completion: body };
  if (isSaid(body)) return { kind: 'answer', status, body: typeof body === 'string' ? body : JSON.stringify(body) };
  return { kind: 'answer', status, body: isSaid(error) ? errorText(error) : '' };
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** An error as the body of an answer would hold it. */
function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  return JSON.stringify(isObject(error) && 'error' in error ? error : { error });
}
