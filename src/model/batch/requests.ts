// Requests in files: the `custom_id` of each, which says what it is of, and the lines of the parts that were written.

import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { badData, codeOf, inputMissing, present, throwIfStopped } from '../../core/errors.js';
import type { Place } from '../../disk/files.js';
import { splitLines } from '../../disk/lines.js';
import { type BatchPart, unreadable } from './folder.js';

/** Longer ids of jobs are hashed, so that a whole id has 64 characters at most. */
const LONGEST_JOB = 40;
const DIGEST = 10;

/**
 * `<job>_<attempt>_<digest of the body>`: letters, digits, `-`, `_` and `.`. A request that would be made in another way today has another
 * id, so that no earlier result is taken for its answer.
 * @param job the job's id, as the journal has it
 * @param attempt requests made for the job before this one
 */
export function requestId(job: string, attempt: number, body: string): string {
  return `${jobName(job)}_${attempt}_${digestOf(body, DIGEST)}`;
}

/** The part of an id that is its job's. */
export function jobIn(id: string): string {
  return id.slice(0, id.lastIndexOf('_', id.lastIndexOf('_') - 1));
}

/** A job's id as requests have it. Two jobs never share a text: the sign that stands for `#` is not let through, and neither is what a hash begins with. */
export function jobName(job: string): string {
  const text = job.replaceAll('#', '.');
  const isPlain = /^[A-Za-z0-9#-]+$/.test(job) && text.length <= LONGEST_JOB;
  return isPlain ? text : `_${digestOf(job, LONGEST_JOB - 1)}`;
}

function digestOf(text: string, digits: number): string {
  return hash('sha256', text, 'hex').slice(0, digits);
}

const CHUNK = 1 << 18;
/** As this program writes a request, which is all that a file with the hash of batch.json holds: its body is taken out as it stands. */
const HEAD = /^\{"custom_id":"([\w.~-]{1,64})"/;
const HEAD_BYTES = 96;
const WHOLE = /^\{"custom_id":"[\w.~-]{1,64}","method":"POST","url":"[^"\\]*","body":(\{.*\})\}\s*$/s;

/** All that stands in the parts: the file of each request. @throws UserError: 65 and 66 as below, 130, 143 */
export async function readRequests(
  dir: string,
  parts: readonly BatchPart[],
  stop: AbortSignal,
): Promise<Map<string, string>> {
  const requests = new Map<string, string>();
  for (const part of parts) {
    await requireAsWritten(dir, part);
    throwIfStopped(stop);
    for await (const { id } of requestsIn(dir, part)) requests.set(id, part.file);
  }
  return requests;
}

/** A request's id, its line and where that lies. The bytes hold until the next one is asked for. */
interface RequestLine extends Place {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/**
 * The requests of a part that are not among the answered ones.
 * @throws UserError: 65 for a line that is no request, 66 where the file cannot be read
 */
export async function* requestsIn(
  dir: string,
  { file }: BatchPart,
  answered: ReadonlySet<string> = new Set(),
): AsyncGenerator<RequestLine> {
  const path = join(dir, file);
  try {
    for await (const { bytes, offset, number } of splitLines(createReadStream(path, { highWaterMark: CHUNK }))) {
      const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES));
      const [, id] = HEAD.exec(head.toString('latin1')) ?? [];
      if (id === undefined) throw badData(`${path}:${number} is not a request; restore the file`);
      if (!answered.has(id)) yield { id, bytes, path, offset, length: bytes.length };
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The body that a request's line sends, as it is written. */
export function bodyIn(line: string): string {
  return present(WHOLE.exec(line)?.[1]);
}

/** @throws UserError: 65 for a part that is not as it was written, 66 for one that is gone or cannot be read */
export async function requireAsWritten(dir: string, { file, sha256 }: BatchPart): Promise<void> {
  const path = join(dir, file);
  const remedy = 'restore it, or begin the run anew with --fresh';
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) hash.update(chunk);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw unreadable(path, error);
    throw inputMissing(`${path} is not there; ${remedy}`);
  }
  if (hash.digest('hex') === sha256) return;
  throw badData(`${path} was changed after it was written (batch.json has another SHA-256); ${remedy}`);
}
