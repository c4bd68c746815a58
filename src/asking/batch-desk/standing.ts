// How a batch folder stands: a line for each part, for tables and documents, and what to do next.

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
  /** Nothing is awaited any more, and requests have no result all the same. */
  readonly isShort: boolean;
  /** How many of its requests are void: those that were, or will be, left out, and those on which the server works all the same. */
  readonly void: { readonly leftOut: number; readonly asked: number };
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
/** Nothing of a part is to be sent: every request has a result in the folder, which came in another way, or is void. */
type Needless = 'answered' | 'void';

export async function standingOf(desk: Desk): Promise<Standing> {
  const answered = new Answered(desk);
  const parts: PartStanding[] = [];
  for (const part of desk.parts) parts.push(await standingOfPart(desk, part, answered));
  return {
    parts,
    isEnded: parts.every((part) => part.isEnded),
    isFetched: parts.every((part) => part.isFetched),
    isShort: parts.some((part) => part.isShort),
  };
}

async function standingOfPart(desk: Desk, part: BatchPart, answered: Answered): Promise<PartStanding> {
  const sent = desk.latest(part);
  const isMade = sent?.batchId !== undefined || sent?.isOpen === true;
  const voidNow = voidLines(part);
  const needless = isMade ? undefined : await answered.needless(part);
  if (needless !== undefined) {
    const about = { void: { leftOut: voidNow.count, asked: 0 }, isEnded: true, isFetched: true, isShort: false };
    return { part, sent, state: needless, ...about };
  }
  const times = desk.sent.filter((each) => each.part === part.file);
  const isEnded = sent?.isEnded === true;
  const isFetched = isEnded && times.every((each) => resultsToFetch(each).length === 0);
  const isShort = isFetched && mayBeShort(sent, part) && (await answered.needless(part)) === undefined;
  const leftOut = isMade ? countInBoth(voidLines(sent), voidNow, part.requests) : voidNow.count;
  const asked = isEnded ? 0 : voidNow.count - leftOut;
  return { part, sent, state: stateOf(sent), isEnded, isFetched, isShort, void: { leftOut, asked } };
}

/** Only what has ended in another way than it should, or may wait again for what was void, is held against the folder: that reads all results. */
function mayBeShort({ status, lost, counts, ...sent }: Sent, part: BatchPart): boolean {
  if (sent.void !== undefined && sent.void !== part.void) return true;
  const isWhole = counts === undefined || counts.completed + counts.failed >= counts.total;
  return status !== 'completed' || lost !== undefined || !isWhole;
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

  /** Whether and why nothing of a part has to be asked. */
  async needless(part: BatchPart): Promise<Needless | undefined> {
    const { dir } = this.desk.opened;
    this.#ids ??= await idsWithResult(dir);
    if (this.#ids.size === 0 && part.void === undefined) return undefined;
    let isAnswered = true;
    for await (const { id, isVoid } of requestsIn(dir, part)) {
      if (this.#ids.has(id)) continue;
      if (!isVoid) return undefined;
      isAnswered = false;
    }
    return isAnswered ? 'answered' : 'void';
  }
}
