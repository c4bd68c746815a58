// The requests that were written: which file each stands in, what their ids say, and their bodies.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { codeOf, EXIT, type ExitCode, throwIfStopped, UserError } from '../../core/errors.js';
import { isObject, parseObject } from '../../core/json.js';
import { present } from '../../core/present.js';
import { splitLines } from '../../disk/lines.js';
import { readCustomId } from './custom-id.js';
import { type BatchPart, unreadable } from './folder.js';

const CHUNK = 1 << 18;
/** As this program writes a request: its id comes first, and its body is taken out without being printed anew. */
const HEAD = /^\{"custom_id":"([\w.~-]{1,64})"/;
const HEAD_BYTES = 96;
const OWN = /^\{"custom_id":"[\w.~-]{1,64}","method":"POST","url":"[^"\\]*","body":(\{.*\})\}\s*$/s;

/** A request that was written. */
interface Written {
  /** The name of its file. */
  readonly part: string;
  /** Characters of its messages. */
  readonly chars: number;
}

/** A request's id and its line. The bytes hold until the next one is asked for. */
interface RequestLine {
  readonly id: string;
  readonly bytes: Uint8Array;
  /** Of the line's first byte. */
  readonly offset: number;
}

/** All that stands in the parts, by name. @throws UserError: 65 and 66 as below, 130, 143 */
export async function readRequests(
  dir: string,
  parts: readonly BatchPart[],
  stop: AbortSignal,
): Promise<Map<string, Written>> {
  const requests = new Map<string, Written>();
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

/** The requests of a part. @throws UserError: 65 for a line that is no request, 66 where the file cannot be read */
async function* requestsIn(dir: string, { file }: BatchPart): AsyncGenerator<RequestLine> {
  const path = join(dir, file);
  try {
    for await (const { bytes, offset, number } of splitLines(createReadStream(path, { highWaterMark: CHUNK }))) {
      const id = idOf(bytes);
      if (id !== undefined) yield { id, bytes, offset };
      else throw new UserError(`${path}:${number} is no request of a batch; restore the file`, EXIT.badData);
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

/** Those requests of a part whose names are not among the answered ones. @throws UserError as above */
export async function* unansweredIn(
  dir: string,
  part: BatchPart,
  answered: ReadonlySet<string>,
): AsyncGenerator<RequestLine> {
  for await (const request of requestsIn(dir, part)) {
    if (!answered.has(readCustomId(request.id).name)) yield request;
  }
}

/** The body that a request's line sends, as it is written; undefined for a line that is no request. */
export function bodyIn(line: string): string | undefined {
  const own = OWN.exec(line);
  if (own !== null) return present(own[1]);
  const { body } = parseObject(line) ?? {};
  return isObject(body) ? JSON.stringify(body) : undefined;
}

/** @throws UserError: 65 for a part that is not as it was written, 66 for one that is gone or cannot be read */
export async function requireAsWritten(dir: string, { file, bytes, sha256 }: BatchPart): Promise<void> {
  const path = join(dir, file);
  const refusal = (what: string, exitCode: ExitCode = EXIT.badData) =>
    new UserError(`${path} ${what}; restore it, or begin the run anew with --fresh`, exitCode);
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) {
      hash.update(chunk);
      size += chunk.length;
    }
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? refusal('is not there', EXIT.inputMissing) : unreadable(path, error);
  }
  if (size !== bytes) throw refusal(`has ${size} bytes, and batch.json says that it has ${bytes}`);
  if (hash.digest('hex') !== sha256) {
    throw refusal('was changed after it was written (batch.json has another SHA-256)');
  }
}
