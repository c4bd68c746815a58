// What a pass over the results leaves: requests that are awaited, rows that are to be asked live, and the report on all of it.

import type { BatchReport } from '../../batch-report.js';
import { Column } from '../../column.js';
import { TextNumbers } from '../../hashed-texts.js';
import { WORDS_OF_KEY } from '../../row-id.js';
import type { Job } from '../../types.js';
import type { Batch } from './folder.js';
import type { Unanswered } from './pass.js';
import type { Requests } from './requests.js';
import type { Results } from './results.js';

export class Left {
  /** Places of the jobs that are to be asked live. */
  readonly kept: number[] = [];
  /** By part, how many of its requests are awaited. */
  readonly awaited: number[];
  readonly #jobs = new TextNumbers(WORDS_OF_KEY);
  readonly #batched = new Column(Uint32Array);

  /** @param parts files that were there before */
  constructor(parts: number) {
    this.awaited = Array<number>(parts).fill(0);
  }

  awaitedOf(part: number): void {
    this.awaited[part] = (this.awaited[part] ?? 0) + 1;
  }

  /** @param isAwaited whether the request was written, and its result may still come */
  keep(id: string, { place, batched }: Unanswered<Job>, isAwaited: boolean): void {
    this.kept.push(place);
    this.#batched.put(this.#jobs.add(id), batched + (isAwaited ? 1 : 0));
  }

  /** Requests of a job in batch files, those whose results may still come among them. */
  batchedOf(id: string): number {
    const number = this.#jobs.find(id);
    return number === undefined ? 0 : this.#batched.at(number);
  }
}

/** The places of 0. */
export function undone(done: Uint8Array): Uint32Array {
  const places = new Uint32Array(done.length);
  let count = 0;
  for (let place = 0; place < done.length; place++) if (done[place] === 0) places[count++] = place;
  return places.slice(0, count);
}

/** What has come of a batch folder, and what is left; undefined members of `known` are those of a run that has written nothing. */
export function reportOf(
  { dir, isLive, endpoints }: { dir: string; isLive: boolean; endpoints: { readonly model: string } },
  batch: Batch | undefined,
  known: { readonly requests: Requests; readonly results: Results; readonly left: Left },
): Omit<BatchReport, 'isWhole'> {
  const { requests, results, left } = known;
  const before = left.awaited.length;
  const answered = Array<number>(before).fill(0);
  for (let request = 0; request < requests.size; request++) {
    const part = requests.partOf(request);
    if (results.has(request)) answered[part] = (answered[part] ?? 0) + 1;
  }
  const parts = (batch?.parts ?? []).map((part, place) => {
    const isNew = place >= before;
    return {
      ...part,
      answered: isNew ? 0 : (answered[place] ?? 0),
      awaited: isNew ? part.requests : (left.awaited[place] ?? 0),
    };
  });
  return {
    dir,
    model: batch?.model ?? endpoints.model,
    parts,
    awaited: parts.reduce((sum, part) => sum + part.awaited, 0),
    written: parts.slice(before).reduce((sum, part) => sum + part.requests, 0),
    isLive,
    notes: results.notes,
  };
}
