// What a pass over the results leaves: requests that are awaited, rows that are to be asked live, and the report on all of it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BatchReport } from '../../batch-report.js';
import type { Batch, BatchPart } from './folder.js';
import type { Requests } from './requests.js';
import type { Results } from './results.js';
import { linesText, voidLines } from './void-lines.js';

export class Left {
  /** Places of the jobs that are to be asked live. */
  readonly kept: number[] = [];
  /** By part, how many of its requests are awaited. */
  readonly awaited: number[];

  /** @param parts files that were there before */
  constructor(parts: number) {
    this.awaited = Array<number>(parts).fill(0);
  }

  awaitedOf(part: number): void {
    this.awaited[part] = (this.awaited[part] ?? 0) + 1;
  }
}

/**
 * The parts that were there before a pass which has looked at every job, with what is void now: neither has it a result, nor does its job
 * wait for it. Of jobs that were not among those of this pass nothing new is known. Each part has a turn of the event loop.
 * @param isOver whether nothing is waited for any more
 */
export async function withVoid(
  parts: readonly BatchPart[],
  requests: Requests,
  results: Results,
  isOver: boolean,
): Promise<BatchPart[]> {
  const now: BatchPart[] = [];
  let first = 0;
  for (const before of parts) {
    const { void: _, ...part } = before;
    const known = voidLines(before);
    const text = linesText(part.requests, (line) => {
      const request = first + line - 1;
      if (results.has(request)) return false;
      const isAwaited = requests.isAwaited(request);
      return isAwaited === undefined ? known.has(line) : isOver || !isAwaited;
    });
    first += part.requests;
    now.push({ ...part, ...(text !== undefined && { void: text }) });
    await nextTurn();
  }
  return now;
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
    const { file, bytes } = part;
    return {
      file,
      bytes,
      requests: part.requests,
      void: voidLines(part).count,
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
