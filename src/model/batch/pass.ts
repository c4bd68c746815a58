// One pass over the jobs of a run: results that are there are settled, and requests without one are handed on, in the jobs' order.

import { present } from '../../present.js';
import type { AskHooks, AskSignals, Job } from '../../types.js';
import { INTERRUPTED } from '../attempt.js';
import { type Answers, Missing, Relearnt } from './answers.js';

/** Jobs at once: their rows are read and their records reach the disk together. */
const AHEAD = 32;

interface PassEnd {
  /** The places of the jobs that have come to their end. */
  readonly done: ReadonlySet<number>;
  /** Whether a result has shown that requests have to be made in another way: what was handed on is void. */
  readonly isRelearnt: boolean;
  /** Whether every job was looked at. */
  readonly isWhole: boolean;
}

/** A request that has still to be answered. */
export interface Unanswered<J extends Job> {
  readonly job: J;
  /** The job's place in the list. */
  readonly place: number;
  readonly missing: Missing;
  /** It is not to be asked where it was not: none of its results is newer than its record. */
  readonly isHeld: boolean;
}

/**
 * Settles what has come. `take` is given what has not, one after the other in the jobs' order.
 * @throws what `request`, `settle` and `take` throw, and UserError where the run must stop
 */
export async function passOver<J extends Job>(
  jobs: readonly J[],
  answers: Answers,
  hooks: AskHooks<J>,
  { stop, abort }: AskSignals,
  take: (unanswered: Unanswered<J>) => Promise<void>,
): Promise<PassEnd> {
  const done = new Set<number>();
  const course = { isBroken: false, isRelearnt: false };
  const isOver = () => course.isBroken || course.isRelearnt || stop.aborted || abort.aborted;
  const underway: Promise<Unanswered<J> | undefined>[] = [];
  const takeFirst = async () => {
    const unanswered = await underway.shift();
    if (unanswered === undefined) return;
    if (isOver()) await hooks.settle(unanswered.job, INTERRUPTED);
    else await take(unanswered);
  };
  const lookAt = async (job: J, place: number): Promise<Unanswered<J> | undefined> => {
    try {
      const found = await throughResults(job, answers, hooks, isOver);
      if (found === 'done') done.add(place);
      return typeof found === 'object' ? { ...found, job, place } : undefined;
    } catch (error) {
      if (!(error instanceof Relearnt)) throw error;
      course.isRelearnt = true;
      await hooks.settle(job, INTERRUPTED);
      return undefined;
    }
  };
  let place = 0;
  try {
    for (const job of jobs) {
      if (isOver()) break;
      const looking = lookAt(job, place++);
      // Where one before it fails, nobody waits for it any more.
      looking.catch(() => {});
      underway.push(looking);
      if (underway.length >= AHEAD) await takeFirst();
    }
    while (underway.length > 0) await takeFirst();
  } finally {
    course.isBroken = true;
    await Promise.allSettled(underway);
  }
  return { done, isRelearnt: course.isRelearnt, isWhole: !course.isRelearnt && !stop.aborted && !abort.aborted };
}

/** A job through all of its results, until one is missing or the pass is over. */
async function throughResults<J extends Job>(
  job: J,
  answers: Answers,
  hooks: AskHooks<J>,
  isOver: () => boolean,
): Promise<Pick<Unanswered<J>, 'missing' | 'isHeld'> | 'done' | 'left'> {
  // Sessions give it, and nobody else asks by files.
  const kept = present(hooks.kept)(job);
  let { batched, madeFrom }: Omit<typeof kept, 'id'> = kept;
  for (;;) {
    const answered = await answers.of({
      id: kept.id,
      batched,
      madeFrom,
      request: () => hooks.request(job),
      recalled: (chars) => hooks.recalled?.(job, chars, present(kept.madeFrom)),
      tell: (cost) => hooks.replayed?.(job, cost),
    });
    if (answered instanceof Missing) {
      return { missing: answered, isHeld: kept.isHeld === true && answered.log.batched === kept.batched };
    }
    batched = answered.batched;
    // What is asked next depends on this reply, too.
    madeFrom = undefined;
    const settled = await hooks.settle(job, answered.outcome);
    if (settled !== 'again') return 'done';
    if (!isOver()) continue;
    await hooks.settle(job, INTERRUPTED);
    return 'left';
  }
}
