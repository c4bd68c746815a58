// How a batch folder stands: a line for each part, for tables and documents, and what to do next.

import { EXIT, type ExitCode } from '../../errors.js';
import type { BatchPart } from '../../model/batch/folder.js';
import { isLive, resultsToFetch, type Sent } from '../../model/batch/submission.js';
import { countInBoth, voidLines } from '../../model/batch/void-lines.js';
import type { Desk } from './desk.js';
import { idsWithResult, requestsIn } from './left.js';

export interface PartStanding {
  readonly part: BatchPart;
  /** As it was sent the last time; undefined where it never was. */
  readonly sent: Sent | undefined;
  readonly state: string;
  readonly isEnded: boolean;
  /** What was sent of it has ended, and every result that the server has of it is here. */
  readonly isFetched: boolean;
  /** What has no result although nothing is awaited any more. */
  readonly missing: Missing;
  /** How many of its requests are void: those that were, or will be, left out, and those on which the server works all the same. */
  readonly void: { readonly leftOut: number; readonly asked: number };
}

/** Requests that are not void and have no result. */
interface Missing {
  readonly count: number;
  /** The id of the first; absent where there is none, or where none has a result. */
  readonly first?: string;
}

export interface Standing {
  readonly parts: readonly PartStanding[];
  /** Nothing is waited for. */
  readonly isEnded: boolean;
  readonly isFetched: boolean;
  /** Some part has come to nothing, or to less than it should have. */
  readonly isShort: boolean;
}

/** A state that comes from here and not from the server. */
const STATES = { none: 'not submitted', uploaded: 'uploaded', open: 'being made', waiting: 'waits for room' } as const;

export async function standingOf(desk: Desk): Promise<Standing> {
  const answered = new Answered(desk);
  const parts: PartStanding[] = [];
  for (const part of desk.parts) parts.push(await standingOfPart(desk, part, answered));
  return {
    parts,
    isEnded: parts.every((part) => part.isEnded),
    isFetched: parts.every((part) => part.isFetched),
    isShort: parts.some(({ missing }) => missing.count > 0),
  };
}

/** What a command ends with that shows how the folder stands. */
export function exitCodeOf({ isEnded, isShort }: Standing): ExitCode {
  if (!isEnded) return EXIT.later;
  return isShort ? EXIT.incomplete : EXIT.done;
}

async function standingOfPart(desk: Desk, part: BatchPart, answered: Answered): Promise<PartStanding> {
  const sent = desk.latest(part);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const voidNow = voidLines(part);
  const left = isMade ? undefined : await answered.left(part);
  if (left?.count === 0) {
    const about = { void: { leftOut: voidNow.count, asked: 0 }, isEnded: true, isFetched: true, missing: left };
    return { part, sent, state: left.isAnswered ? 'answered' : 'void', ...about };
  }
  const times = desk.sent.filter((each) => each.part === part.file);
  const isEnded = sent?.isEnded === true;
  const isFetched = isEnded && times.every((each) => resultsToFetch(each).length === 0);
  // Whatever the server says of the batch: it may have completed without a result for each request.
  const missing = isFetched ? await answered.left(part) : { count: 0 };
  const leftOut = isMade ? countInBoth(voidLines(sent), voidNow, part.requests) : voidNow.count;
  const asked = isEnded ? 0 : voidNow.count - leftOut;
  return { part, sent, state: stateOf(sent), isEnded, isFetched, missing, void: { leftOut, asked } };
}

function stateOf(sent: Sent | undefined): string {
  if (sent === undefined) return STATES.none;
  if (sent.status !== undefined && (isLive(sent) || sent.isEnded)) return sent.status;
  if (sent.waitsBehind !== undefined) return STATES.waiting;
  if (sent.isOpen) return STATES.open;
  return sent.inputFileId === undefined ? STATES.none : STATES.uploaded;
}

/** What has a result in the folder, from wherever it came: a batch, or `awb batch run`. It is read when it is first asked for. */
class Answered {
  #ids: ReadonlySet<string> | undefined;

  constructor(private readonly desk: Desk) {}

  /** What of a part has to be asked; where that is nothing, whether every request has a result. */
  async left(part: BatchPart): Promise<Missing & { readonly isAnswered: boolean }> {
    const { dir } = this.desk.opened;
    this.#ids ??= await idsWithResult(dir);
    if (this.#ids.size === 0 && part.void === undefined) return { count: part.requests, isAnswered: false };
    let count = 0;
    let first: string | undefined;
    let isAnswered = true;
    for await (const { id, isVoid } of requestsIn(dir, part)) {
      if (this.#ids.has(id)) continue;
      isAnswered = false;
      if (isVoid) continue;
      count++;
      first ??= id;
    }
    return { count, ...(first !== undefined && count < part.requests && { first }), isAnswered };
  }
}
