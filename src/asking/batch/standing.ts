// How a batch folder stands: a line for each part, for tables and documents, and what to do next.

import type { BatchPart } from '../../model/batch/folder.js';
import { isLive, resultsToFetch, type Sent } from '../../model/batch/submission.js';
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
}

export interface Standing {
  readonly parts: readonly PartStanding[];
  /** Nothing is waited for. */
  readonly isEnded: boolean;
  readonly isFetched: boolean;
  /** Some part came to nothing. */
  readonly hasFailed: boolean;
}

/** A state that comes from here and not from the server. */
const STATES = { none: 'not submitted', uploaded: 'uploaded', open: 'being made', waiting: 'waits for room' } as const;
/** Every request has a result in the folder, which came in another way. */
const ANSWERED = 'answered';

export async function standingOf(desk: Desk): Promise<Standing> {
  const answered = await partsAnsweredElsewhere(desk);
  const parts = desk.parts.map((part): PartStanding => {
    const sent = desk.latest(part);
    if (sent === undefined && answered.has(part.file)) {
      return { part, sent, state: ANSWERED, isEnded: true, isFetched: true };
    }
    const times = desk.sent.filter((each) => each.part === part.file);
    const isEnded = sent?.isEnded === true;
    const isFetched = isEnded && times.every((each) => resultsToFetch(each).length === 0);
    return { part, sent, state: stateOf(sent), isEnded, isFetched };
  });
  return {
    parts,
    isEnded: parts.every((part) => part.isEnded),
    isFetched: parts.every((part) => part.isFetched),
    hasFailed: parts.some(({ sent }) => sent?.isEnded === true && sent.outputs === undefined && isVain(sent)),
  };
}

function isVain({ outputFileId, errorFileId }: Sent): boolean {
  return outputFileId === undefined && errorFileId === undefined;
}

function stateOf(sent: Sent | undefined): string {
  if (sent === undefined) return STATES.none;
  if (sent.status !== undefined && (isLive(sent) || sent.isEnded)) return sent.status;
  if (sent.waitsBehind !== undefined) return STATES.waiting;
  if (sent.isOpen) return STATES.open;
  return sent.inputFileId === undefined ? STATES.none : STATES.uploaded;
}

/** Parts that were never sent and of which every request has a result all the same, such as those of `awb batch run`. */
async function partsAnsweredElsewhere(desk: Desk): Promise<ReadonlySet<string>> {
  const unsent = desk.parts.filter((part) => desk.latest(part) === undefined);
  if (unsent.length === 0) return new Set();
  const answered = await idsWithResult(desk.opened.dir);
  const whole = new Set<string>();
  if (answered.size === 0) return whole;
  for (const part of unsent) {
    if (await isAnswered(desk.opened.dir, part, answered)) whole.add(part.file);
  }
  return whole;
}

async function isAnswered(dir: string, part: BatchPart, answered: ReadonlySet<string>): Promise<boolean> {
  for await (const { id } of requestsIn(dir, part)) if (!answered.has(id)) return false;
  return true;
}
