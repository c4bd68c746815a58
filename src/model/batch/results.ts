// The results in a batch folder: which lines answer which requests, each read when its turn comes.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfStopped } from '../../errors.js';
import { counted } from '../../figures.js';
import { type Line, splitLines } from '../../lines.js';
import { present } from '../../present.js';
import { oneLine } from '../../printable.js';
import { readCustomId } from './custom-id.js';
import { resultFiles, unreadable } from './folder.js';
import type { Requests } from './requests.js';
import { idOf, parseLine, type Result, readResult } from './result-line.js';

const READ_BYTES = 1 << 20;
/** How many ids, and how many places, are named. */
const MOST_NAMED = 5;
const MOST_ID_COLUMNS = 64;

/** So many things of a kind, and the first of them. */
class Some {
  count = 0;
  readonly #first: string[] = [];

  add(name: string): void {
    if (this.count++ < MOST_NAMED) this.#first.push(name);
  }

  get names(): string {
    return `${this.#first.join(', ')}${this.count > MOST_NAMED ? ', ...' : ''}`;
  }
}

/** Where a line lies. */
interface Place {
  readonly file: number;
  readonly number: number;
  readonly offset: number;
  readonly length: number;
}

export class Results {
  readonly #files: { readonly path: string; readonly name: string; readonly handle: FileHandle }[] = [];
  readonly #requests: Requests;
  /** The lines that answer a request, in the order of the files' names. */
  readonly #lines = new Map<number, Place[]>();
  #again = 0;
  readonly #unknown = new Some();
  readonly #cutOff = new Some();
  readonly #odd = new Some();
  /** Lines that name a request and hold no result, as looking them up has shown. */
  readonly #void = new Set<Place>();

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Whether any line names the request, and has not been found to hold no result. */
  has(request: number): boolean {
    return this.#lines.has(request);
  }

  /** What the lines that answer a request say, in the order of the files' names. @throws UserError (66) where a file cannot be read any more */
  async *of(request: number): AsyncGenerator<{ readonly result: Result; readonly file: string }> {
    let isAnswered = false;
    for (const place of this.#lines.get(request) ?? []) {
      const { path, name, handle } = present(this.#files[place.file]);
      const bytes = Buffer.allocUnsafe(place.length);
      const { bytesRead } = await handle.read(bytes, 0, place.length, place.offset).catch((error: unknown) => {
        throw unreadable(path, error);
      });
      const result = readResult(parseLine(bytes.subarray(0, bytesRead)) ?? {});
      if (result === undefined) this.#addVoid(place, name);
      else {
        isAnswered = true;
        yield { result, file: path };
      }
    }
    if (!isAnswered) this.#lines.delete(request);
  }

  /** Its beginning names a request: whether it is a result is seen once it is read whole. */
  #addVoid(place: Place, name: string): void {
    if (this.#void.has(place)) return;
    this.#void.add(place);
    this.#odd.add(placeOf(name, place.number));
  }

  /** What is odd about the files, a sentence each. */
  get notes(): readonly string[] {
    const [unknown, cutOff, odd] = [this.#unknown, this.#cutOff, this.#odd];
    return [
      ...(cutOff.count === 0
        ? []
        : [`cut off, so the last line is left out, and read again once the file has grown: ${cutOff.names}`]),
      ...(unknown.count === 0
        ? []
        : [`ignored, since their ids are unknown here: ${counted(unknown.count, 'result')} (${unknown.names})`]),
      ...(odd.count === 0
        ? []
        : [`ignored, since no result stands there: ${counted(odd.count, 'line')} (${odd.names})`]),
      ...(this.#again === 0
        ? []
        : [`answered more than once, and the first usable result counts: ${counted(this.#again, 'request')}`]),
    ];
  }

  /** Looks through a file. */
  async add(path: string, name: string, stop: AbortSignal | undefined): Promise<void> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, 'r');
      const file = this.#files.push({ path, name, handle }) - 1;
      const stream = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES });
      for await (const line of splitLines(stream)) {
        throwIfStopped(stop);
        this.#note(line, file, name);
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.splice(0).map(({ handle }) => handle.close()));
  }

  #note({ bytes, offset, number, ended, tooLong }: Line, file: number, name: string): void {
    const place = placeOf(name, number);
    const id = tooLong ? undefined : (idOf(bytes) ?? parseLine(bytes)?.custom_id);
    if (!ended && (tooLong || parseLine(bytes) === undefined)) this.#cutOff.add(place);
    else if (typeof id !== 'string') this.#odd.add(place);
    else {
      const request = this.#requests.find(readCustomId(id).name);
      if (request === undefined) this.#unknown.add(oneLine(id, MOST_ID_COLUMNS));
      else this.#put(request, { file, number, offset, length: bytes.length });
    }
  }

  #put(request: number, place: Place): void {
    const places = this.#lines.get(request);
    if (places === undefined) this.#lines.set(request, [place]);
    else if (places.push(place) === 2) this.#again++;
  }
}

/** Looks through all files of the folder that may hold results. @throws UserError: 66 where one cannot be read, 130, 143 */
export async function openResults(dir: string, requests: Requests, stop: AbortSignal | undefined): Promise<Results> {
  const results = new Results(requests);
  try {
    for (const name of await resultFiles(dir)) await results.add(join(dir, name), name, stop);
    return results;
  } catch (error) {
    await results.close();
    throw error;
  }
}

function placeOf(name: string, number: number): string {
  return `${oneLine(name, MOST_ID_COLUMNS)}:${number}`;
}
