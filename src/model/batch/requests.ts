// Requests in files: the `custom_id` of each, which says what it is of, and the lines of the parts that were written.

import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { codeOf, EXIT, throwIfStopped, UserError } from '../../core/errors.js';
import { isObject, parseObject } from '../../core/json.js';
import { present } from '../../core/present.js';
import { splitLines } from '../../disk/lines.js';
import { type BatchPart, type Place, unreadable } from './folder.js';

/** Longer ids of jobs are hashed, so that a whole id has 64 characters at most. */
const LONGEST_JOB = 40;
const DIGEST = 10;
const BASE = 36;

/**
 * `<job>_<attempt>_<digest of the content>`: letters, digits, `-`, `_` and `.`. A request that would be made in another way today has
 * another name, so that no earlier result is taken for its answer.
 */
export function requestName({
  job,
  attempt,
  content,
}: {
  /** The job's id, as the journal has it. */
  readonly job: string;
  /** Requests made for the job before this one. */
  readonly attempt: number;
  /** Its body as it is sent, or what that is made from and with. */
  readonly content: string;
}): string {
  return `${jobName(job)}_${attempt}_${digestOf(content, DIGEST)}`;
}

/** The name, and behind it the characters of the messages: whoever reads the answer need not make the request again to know them. */
export function customId(name: string, chars: number): string {
  return `${name}.${chars.toString(BASE)}`;
}

/** The parts of an id. What no file of requests has is no name either. */
export function readCustomId(id: string): { readonly name: string; readonly chars: number } {
  const end = id.indexOf('.', id.lastIndexOf('_'));
  if (end < 0) return { name: id, chars: 0 };
  return { name: id.slice(0, end), chars: Number.parseInt(id.slice(end + 1), BASE) || 0 };
}

/** The part of a name that is its job's. */
export function jobIn(name: string): string {
  return name.slice(0, name.lastIndexOf('_', name.lastIndexOf('_') - 1));
}

/** A job's id as names have it. Two jobs never share a text: the sign that stands for `#` is not let through, and neither is what a hash begins with. */
export function jobName(job: string): string {
  const text = job.replaceAll('#', '.');
  const isPlain = /^[A-Za-z0-9#-]+$/.test(job) && text.length <= LONGEST_JOB;
  return isPlain ? text : `_${digestOf(job, LONGEST_JOB - 1)}`;
}

function digestOf(text: string, digits: number): string {
  return hash('sha256', text, 'hex').slice(0, digits);
}

const CHUNK = 1 << 18;
/** As this program writes a request: its id comes first, and its body is taken out without being printed anew. */
const HEAD = /^\{"custom_id":"([\w.~-]{1,64})"/;
const HEAD_BYTES = 96;
const OWN = /^\{"custom_id":"[\w.~-]{1,64}","method":"POST","url":"[^"\\]*","body":(\{.*\})\}\s*$/s;

/** By name, the requests that were written: the file of each, and the characters of its messages. */
export type Requests = Map<string, { readonly part: string; readonly chars: number }>;

/** All that stands in the parts. @throws UserError: 65 and 66 as below, 130, 143 */
export async function readRequests(dir: string, parts: readonly BatchPart[], stop: AbortSignal): Promise<Requests> {
  const requests: Requests = new Map();
  for (const part of parts) {
    await requireAsWritten(dir, part);
    for await (const { id } of requestsIn(dir, part)) {
      throwIfStopped(stop);
      const { name, chars } = readCustomId(id);
      requests.set(name, { part: part.file, chars });
    }
  }
  return requests;
}

/** A request's id, its line and where that lies. The bytes hold until the next one is asked for. */
interface RequestLine extends Place {
  readonly id: string;
  readonly bytes: Uint8Array;
}

/**
 * The requests of a part whose names are not among the answered ones.
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
      const id = idOf(bytes);
      if (id === undefined) throw new UserError(`${path}:${number} is not a request; restore the file`, EXIT.badData);
      if (!answered.has(readCustomId(id).name)) yield { id, bytes, path, offset, length: bytes.length };
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

function idOf(line: Uint8Array): string | undefined {
  const buffer = Buffer.from(line.buffer, line.byteOffset, line.length);
  const id = HEAD.exec(buffer.toString('latin1', 0, HEAD_BYTES))?.[1] ?? parseObject(buffer.toString())?.custom_id;
  return typeof id === 'string' ? id : undefined;
}

/** The body that a request's line sends, as it is written; undefined for a line that is no request. */
export function bodyIn(line: string): string | undefined {
  const own = OWN.exec(line);
  if (own !== null) return present(own[1]);
  const { body } = parseObject(line) ?? {};
  return isObject(body) ? JSON.stringify(body) : undefined;
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
    throw new UserError(`${path} is not there; ${remedy}`, EXIT.inputMissing);
  }
  if (hash.digest('hex') === sha256) return;
  throw new UserError(
    `${path} was changed after it was written (batch.json has another SHA-256); ${remedy}`,
    EXIT.badData,
  );
}
