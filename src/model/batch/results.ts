// The results in a batch folder: which lines answer which requests, each read when its turn comes.

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfStopped } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { oneLine } from '../../core/printable.js';
import { splitLines } from '../../disk/lines.js';
import { readCustomId } from './custom-id.js';
import { resultFiles, unreadable } from './folder.js';
import { parseLine, type Result, readResult } from './result-line.js';

const READ_BYTES = 1 << 20;
/** How many ids, and how many places, are named. */
const MOST_NAMED = 5;
const MOST_NAME_COLUMNS = 64;

/** A line that holds a result. */
interface Place {
  readonly id: string;
  readonly path: string;
  readonly handle: FileHandle;
  readonly offset: number;
  readonly length: number;
}

export class Results {
  readonly #handles: FileHandle[] = [];
  /** By the names of requests, the lines that answer them, in the order of the files' names. */
  readonly #places = new Map<string, Place[]>();
  readonly #cutOff: string[] = [];
  readonly #odd: string[] = [];

  /** The names of requests that have a result, a failure among them. */
  get names(): Iterable<string> {
    return this.#places.keys();
  }

  has(name: string): boolean {
    return this.#places.has(name);
  }

  /** What the lines that answer a request say, in the order of the files' names. @throws UserError (66) where a file cannot be read any more */
  async *of(name: string): AsyncGenerator<{ readonly result: Result; readonly id: string; readonly file: string }> {
    for (const { id, path, handle, offset, length } of this.#places.get(name) ?? []) {
      const bytes = Buffer.allocUnsafe(length);
      await handle.read(bytes, 0, length, offset).catch((error: unknown) => {
        throw unreadable(path, error);
      });
      const result = readResult(parseLine(bytes) ?? {});
      // The file may have been changed since it was looked through.
      if (result !== undefined) yield { result, id, file: path };
    }
  }

  /** What is odd about the files, a sentence each. `isKnown` says whether there is a request of that name. */
  notes(isKnown: (name: string) => boolean): string[] {
    const [known, unknown]: [Place[][], Place[][]] = [[], []];
    for (const [name, places] of this.#places) (isKnown(name) ? known : unknown).push(places);
    const strangers = unknown.flat().map(({ id }) => oneLine(id, MOST_NAME_COLUMNS));
    const again = known.filter((places) => places.length > 1).length;
    const [cutOff, odd] = [this.#cutOff, this.#odd];
    const notes: [number, string][] = [
      [
        cutOff.length,
        `cut off, so the last line is left out, and read again once the file has grown: ${firstOf(cutOff)}`,
      ],
      [
        strangers.length,
        `ignored, since their ids are unknown here: ${counted(strangers.length, 'result')} (${firstOf(strangers)})`,
      ],
      [odd.length, `ignored, since no result stands there: ${counted(odd.length, 'line')} (${firstOf(odd)})`],
      [again, `answered more than once, and the first usable result counts: ${counted(again, 'request')}`],
    ];
    return notes.flatMap(([count, note]) => (count === 0 ? [] : note));
  }

  /** Looks through a file. */
  async add(path: string, name: string, stop: AbortSignal | undefined): Promise<void> {
    try {
      const handle = await open(path, 'r');
      this.#handles.push(handle);
      const stream = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES });
      for await (const { bytes, offset, number, ended, tooLong } of splitLines(stream)) {
        throwIfStopped(stop);
        const line = tooLong ? undefined : parseLine(bytes);
        const place = `${oneLine(name, MOST_NAME_COLUMNS)}:${number}`;
        if (line === undefined && !ended) this.#cutOff.push(place);
        // A copy of the requests answers none of them.
        else if (typeof line?.custom_id !== 'string' || readResult(line) === undefined) this.#odd.push(place);
        else this.#put({ id: line.custom_id, path, handle, offset, length: bytes.length });
      }
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#handles.splice(0).map((handle) => handle.close()));
  }

  #put(place: Place): void {
    const { name } = readCustomId(place.id);
    const places = this.#places.get(name);
    if (places === undefined) this.#places.set(name, [place]);
    else places.push(place);
  }
}

/** Looks through all files of the folder that may hold results. @throws UserError: 66 where one cannot be read, 130, 143 */
export async function openResults(dir: string, stop?: AbortSignal): Promise<Results> {
  const results = new Results();
  try {
    for (const name of await resultFiles(dir)) await results.add(join(dir, name), name, stop);
    return results;
  } catch (error) {
    await results.close();
    throw error;
  }
}

/** The names of requests that have a result in the folder, a failure among them. @throws UserError (66) where a file cannot be read */
export async function namesWithResult(dir: string): Promise<ReadonlySet<string>> {
  const results = await openResults(dir);
  await results.close();
  return new Set(results.names);
}

function firstOf(names: readonly string[]): string {
  return `${names.slice(0, MOST_NAMED).join(', ')}${names.length > MOST_NAMED ? ', ...' : ''}`;
}
