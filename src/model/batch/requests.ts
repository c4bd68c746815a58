// The requests that were written: what their ids say, and in which file each stands.

import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Column } from '../../column.js';
import { codeOf, EXIT, throwIfStopped, UserError } from '../../errors.js';
import { TextNumbers } from '../../hashed-texts.js';
import { splitLines } from '../../lines.js';
import { WORDS_OF_KEY } from '../../row-id.js';
import { jobIn, jobName, readCustomId } from './custom-id.js';
import { type BatchPart, unreadable } from './folder.js';
import { idOf } from './result-line.js';

/** Names are known by so many hex digits of their hashes, which cost three words of 32 bits each. */
const DIGITS = 24;
const WORDS = 3;
const READ_BYTES = 1 << 20;

export class Requests {
  readonly #numbers = new TextNumbers(WORDS);
  readonly #parts = new Column(Uint32Array);
  readonly #chars = new Column(Uint32Array);
  readonly #jobs = new TextNumbers(WORDS_OF_KEY);
  readonly #jobOf = new Column(Uint32Array);
  /** By job: 0 where nobody has looked at it, 1 where none of its requests is awaited, else the number of the one that is, and 2. */
  readonly #awaited = new Column(Uint32Array);

  get size(): number {
    return this.#numbers.size;
  }

  /** @param part the number of its file, from 0 */
  add(id: string, part: number): void {
    const { name, chars } = readCustomId(id);
    const number = this.#numbers.add(hashOf(name));
    this.#parts.put(number, part);
    this.#chars.put(number, chars);
    this.#jobOf.put(number, this.#jobs.add(jobIn(name)));
  }

  /** The number, from 0, of the request with this name; undefined for one that was never written. */
  find(name: string): number | undefined {
    return this.#numbers.find(hashOf(name));
  }

  partOf(number: number): number {
    return this.#parts.at(number);
  }

  /** Notes that a job's results are looked up. */
  look(job: string): void {
    const number = this.#jobs.find(jobName(job));
    if (number !== undefined) this.#awaited.put(number, 1);
  }

  /** Notes that its job waits for this request, which has no result yet. */
  await(request: number): void {
    this.#awaited.put(this.#jobOf.at(request), request + 2);
  }

  /** Whether its job waits for it; undefined where nobody has looked at that job. */
  isAwaited(request: number): boolean | undefined {
    const awaited = this.#awaited.at(this.#jobOf.at(request));
    return awaited === 0 ? undefined : awaited === request + 2;
  }

  /** Characters of the request's messages. */
  charsOf(number: number): number {
    return this.#chars.at(number);
  }
}

function hashOf(name: string): string {
  return hash('sha256', name, 'hex').slice(0, DIGITS);
}

/** Reads the ids of the parts. @throws UserError: 66 for a part that is not there, 65 for one that is not as it was written, 130, 143 */
export async function readRequests(
  dir: string,
  parts: readonly BatchPart[],
  stop: AbortSignal | undefined,
): Promise<Requests> {
  const requests = new Requests();
  for (const [place, part] of parts.entries()) await readPart(dir, part, place, requests, stop);
  return requests;
}

async function readPart(
  dir: string,
  { file, requests: count, bytes }: BatchPart,
  place: number,
  requests: Requests,
  stop: AbortSignal | undefined,
): Promise<void> {
  const path = join(dir, file);
  const before = requests.size;
  try {
    if ((await stat(path)).size !== bytes) throw changed(path);
    for await (const { bytes: line } of splitLines(createReadStream(path, { highWaterMark: READ_BYTES }))) {
      throwIfStopped(stop);
      const id = idOf(line);
      if (id === undefined) throw changed(path);
      requests.add(id, place);
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw unreadable(path, error);
    throw new UserError(
      `${path} is not there any more, and it says which requests were made: put it back`,
      EXIT.inputMissing,
    );
  }
  if (requests.size - before !== count) throw changed(path);
}

function changed(path: string): UserError {
  return new UserError(
    `${path} is not as it was written, and it says which requests were made: put the file back that awb wrote`,
    EXIT.badData,
  );
}
