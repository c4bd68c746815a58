// The requests that were written: what their ids say, and in which file each stands.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EXIT, throwIfStopped, UserError } from '../../errors.js';
import { splitLines } from '../../lines.js';
import { present } from '../../present.js';
import { jobIn, jobName, readCustomId } from './custom-id.js';
import { type BatchPart, unreadable } from './folder.js';
import { idOf } from './result-line.js';

const READ_BYTES = 1 << 20;

/** A request that was written. */
interface Written {
  /** The number of its file, from 0. */
  readonly part: number;
  /** Characters of its messages. */
  readonly chars: number;
  readonly job: string;
}

export class Requests {
  readonly #numbers = new Map<string, number>();
  readonly #written: Written[] = [];
  /** The request that a job waits for, by the jobs whose results were looked up; undefined where it waits for none. */
  readonly #awaited = new Map<string, number | undefined>();

  get size(): number {
    return this.#written.length;
  }

  /** @param part the number of its file, from 0 */
  add(id: string, part: number): void {
    const { name, chars } = readCustomId(id);
    const number = this.#numbers.get(name) ?? this.size;
    this.#numbers.set(name, number);
    this.#written[number] = { part, chars, job: jobIn(name) };
  }

  /** The number, from 0, of the request with this name; undefined for one that was never written. */
  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  partOf(number: number): number {
    return present(this.#written[number]).part;
  }

  /** Notes that a job's results are looked up. */
  look(job: string): void {
    this.#awaited.set(jobName(job), undefined);
  }

  /** Notes that its job waits for this request, which has no result yet. */
  await(request: number): void {
    this.#awaited.set(present(this.#written[request]).job, request);
  }

  /** Whether its job waits for it; undefined where nobody has looked at that job. */
  isAwaited(request: number): boolean | undefined {
    const { job } = present(this.#written[request]);
    return this.#awaited.has(job) ? this.#awaited.get(job) === request : undefined;
  }

  /** Characters of the request's messages. */
  charsOf(number: number): number {
    return present(this.#written[number]).chars;
  }
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
