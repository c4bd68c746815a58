// What of a part has no result in the folder yet.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { codeOf, EXIT, UserError } from '../../errors.js';
import { parseObject } from '../../json.js';
import { splitLines } from '../../lines.js';
import type { FileToSend } from '../../model/batch/file-form.js';
import { type BatchPart, resultFiles, unreadable } from '../../model/batch/folder.js';
import { parseLine, readResult } from '../../model/batch/result-line.js';
import { voidLines } from '../../model/batch/void-lines.js';

const CHUNK = 1 << 18;
/** As this program writes a request: its id comes first. */
const ID = /^\{"custom_id":"([\w.~-]{1,64})"/;
const HEAD_BYTES = 96;

/** A request of a part: its id and its line. The bytes hold until the next one is asked for. */
interface RequestLine {
  readonly id: string;
  readonly bytes: Uint8Array;
  /** Of the line's first byte. */
  readonly offset: number;
  /** Whether the run did not wait for it any more when it last looked. */
  readonly isVoid: boolean;
}

/** The requests of a part. @throws UserError: 65 for a line that is no request, 66 where the file cannot be read */
export async function* requestsIn(dir: string, part: BatchPart): AsyncGenerator<RequestLine> {
  const path = join(dir, part.file);
  const isVoid = voidLines(part);
  try {
    for await (const { bytes, offset, number } of splitLines(createReadStream(path, { highWaterMark: CHUNK }))) {
      const id = idOf(bytes);
      if (id !== undefined) yield { id, bytes, offset, isVoid: isVoid.has(number) };
      else throw new UserError(`${path}:${number} is no request of a batch; restore the file`, EXIT.badData);
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

function idOf(line: Uint8Array): string | undefined {
  const buffer = Buffer.from(line.buffer, line.byteOffset, line.length);
  const id = ID.exec(buffer.toString('latin1', 0, HEAD_BYTES))?.[1] ?? parseObject(buffer.toString())?.custom_id;
  return typeof id === 'string' ? id : undefined;
}

/** The ids that have a result in the folder, a failure among them. What is no result is for whoever reads the results to say. */
export async function idsWithResult(dir: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (const name of await resultFiles(dir)) {
    const path = join(dir, name);
    try {
      for await (const { bytes } of splitLines(createReadStream(path, { highWaterMark: CHUNK }))) {
        const line = parseLine(bytes) ?? {};
        const { custom_id: id } = line;
        // A copy of the requests answers none of them.
        if (typeof id === 'string' && readResult(line) !== undefined) ids.add(id);
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  }
  return ids;
}

/** How many requests a file to be sent has. */
export interface PartToSend extends FileToSend {
  readonly requests: number;
}

/**
 * A part, or those of its requests that have no result and are not void, as a file of that name; undefined where there are none.
 * @throws UserError (65) for a part that is not as it was written
 */
export async function leftOf(
  dir: string,
  part: BatchPart,
  answered: ReadonlySet<string>,
  name: string,
): Promise<PartToSend | undefined> {
  const path = join(dir, part.file);
  await requireAsWritten(dir, part);
  if (answered.size === 0 && part.void === undefined) return wholePart(path, part, name);
  const isLeft = ({ id, isVoid }: RequestLine) => !isVoid && !answered.has(id);
  let requests = 0;
  let bytes = 0;
  for await (const request of requestsIn(dir, part)) {
    if (!isLeft(request)) continue;
    requests++;
    bytes += request.bytes.length + 1;
  }
  if (requests === 0) return undefined;
  if (requests === part.requests) return wholePart(path, part, name);
  const read = async function* () {
    for await (const request of requestsIn(dir, part)) {
      if (isLeft(request)) yield Buffer.concat([request.bytes, Buffer.from('\n')]);
    }
  };
  return { name, requests, bytes, read };
}

function wholePart(path: string, { requests, bytes }: BatchPart, name: string): PartToSend {
  return { name, requests, bytes, read: () => createReadStream(path, { highWaterMark: CHUNK }) };
}

/** @throws UserError (65) for a part that is not as it was written */
export async function requireAsWritten(dir: string, { file, bytes, sha256 }: BatchPart): Promise<void> {
  const path = join(dir, file);
  try {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) {
      hash.update(chunk);
      size += chunk.length;
    }
    if (size !== bytes) throw notAsWritten(path, `has ${size} bytes, and batch.json says that it has ${bytes}`);
    if (sha256 === undefined || hash.digest('hex') === sha256) return;
    throw notAsWritten(path, 'was changed after it was written (batch.json has another SHA-256)');
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? notAsWritten(path, 'is not there') : unreadable(path, error);
  }
}

function notAsWritten(path: string, what: string): UserError {
  return new UserError(`${path} ${what}; restore it, or begin the run anew with --fresh`, EXIT.badData);
}
