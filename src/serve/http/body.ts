// The bodies of requests in, JSON answers out.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isContainer } from '../../core/json.js';
import { ApiError } from './api-error.js';

/** Room for what stands around a prompt. */
const LEAST_LIMIT_BYTES = 2 ** 20;
/** Tokens are seldom longer, even as escaped JSON: the limit keeps out what cannot fit, and the tokenizer counts the rest. */
const BYTES_PER_TOKEN = 64;
const DEEPEST = 256;

/** Most bytes of a body that a model with this context (in tokens) can have a use for. */
export function bodyLimitBytes(contextSize: number): number {
  return LEAST_LIMIT_BYTES + BYTES_PER_TOKEN * contextSize;
}

/**
 * The body as parsed. Throws an ApiError: 415 for what is not plain JSON, 413 above the limit (`limit` says what the bytes are), 400 for
 * what cannot be parsed.
 */
export async function readJson(
  request: IncomingMessage,
  limitBytes: number,
  limit = "that a prompt for this model's context can take",
): Promise<unknown> {
  // A page of another origin may send plain text unasked; JSON makes its browser ask first, and nothing here says yes.
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new ApiError(415, "the body must be JSON, with 'Content-Type: application/json'", 'unsupported_media_type');
  }
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    const message = `bodies are taken as they are, not with 'Content-Encoding: ${encoding}'`;
    throw new ApiError(415, message, 'unsupported_content_encoding', null, { 'accept-encoding': 'identity' });
  }
  const bytes = await readBody(request, limitBytes, limit);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError(400, 'the body is not JSON in UTF-8', 'invalid_json');
  }
  requireShallow(value);
  return value;
}

/** Functions that read a value call themselves for each level, and must not run out of stack. */
export function requireShallow(value: unknown): void {
  for (const { depth } of levelsOf(value)) {
    if (depth > DEEPEST) throw new ApiError(400, `the body is nested more than ${DEEPEST} deep`, 'invalid_json');
  }
}

/** Above the limit all of it is read and thrown away, since a client that is still sending would not see the answer. */
async function readBody(request: IncomingMessage, limitBytes: number, limit: string): Promise<Buffer> {
  const tooLarge = new ApiError(413, `the body is larger than the ${limitBytes} bytes ${limit}`, 'body_too_large');
  if (Number(request.headers['content-length']) > limitBytes) {
    request.resume();
    throw tooLarge;
  }
  const body: AsyncIterable<Buffer> = request;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limitBytes) chunks.length = 0;
    else chunks.push(chunk);
  }
  if (bytes > limitBytes) throw tooLarge;
  return Buffer.concat(chunks);
}

/** Writes the whole answer, unless the client is gone. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  answerText(response, status, 'application/json; charset=utf-8', JSON.stringify(body), headers);
}

/** `answer` for text of another type. */
export function answerText(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

/** The error as an answer; in the middle of another one the connection is cut. */
export function answerError(response: ServerResponse, error: ApiError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  answer(response, error.status, error.body, error.headers);
}

/** All values at each depth, from the value itself down; no function calls itself, so that no depth is too much for the stack. */
export function* levelsOf(value: unknown) {
  let values: readonly unknown[] = [value];
  for (let depth = 0; values.length > 0; depth++) {
    yield { depth, values };
    values = values.flatMap((item) => (isContainer(item) ? Object.values(item) : []));
  }
}
