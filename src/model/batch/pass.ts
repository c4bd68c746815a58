// One pass over the jobs of a run: results that are there are settled, and requests without one are handed on, in the jobs' order.

import type { AskSignals, FileHooks, Job, Solve } from '../../types.js';
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
interface Unanswered {
  /** The job's place in the list. */
  readonly place: number;
  readonly missing: Missing;
  /** It is not to be asked where it was not: none of its results is newer than its record. */
  readonly isHeld: boolean;
}

/**
 * Gives every job the answers that have come. `take` is given what has not, one after the other in the jobs' order.
 * @throws what jobs and `take` throw, and UserError where the run must stop
 */
export async function passOver<J extends Job>(
  jobs: readonly J[],
  solve: Solve<J>,
  answers: Answers,
  hooks: FileHooks<J>,
  { stop, abort }: AskSignals,
  take: (unanswered: Unanswered) => Promise<void>,
): Promise<PassEnd> {
  const done = new Set<number>();
  const course = { isBroken: false, isRelearnt: false };
  const isOver = () => course.isBroken || course.isRelearnt || stop.aborted || abort.aborted;
  const underway: Promise<Unanswered | undefined>[] = [];
  const takeFirst = async () => {
    const unanswered = await underway.shift();
    if (unanswered !== undefined && !isOver()) await take(unanswered);
  };
  const lookAt = async (job: J, place: number): Promise<Unanswered | undefined> => {
    try {
      const found = await throughResults(job, solve, answers, hooks, isOver);
      if (found === 'done') done.add(place);
      return typeof found === 'object' ? { ...found, place } : undefined;
    } catch (error) {
      if (!(error instanceof Relearnt)) throw error;
      course.isRelearnt = true;
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
  solve: Solve<J>,
  answers: Answers,
  hooks: FileHooks<J>,
  isOver: () => boolean,
): Promise<Pick<Unanswered, 'missing' | 'isHeld'> | 'done' | 'left'> {
  const kept = hooks.kept(job);
  const ask = answers.asker(kept, (cost) => hooks.replayed(job, cost));
  let end: Missing | 'left' | undefined;
  await solve(job, async (asking) => {
    if (isOver()) end = 'left';
    else {
      const answered = await ask(asking);
      if (!(answered instanceof Missing)) return answered;
      end = answered;
    }
    return INTERRUPTED;
  });
  // The compiler does not see that it may be set meanwhile.
  const reached = end as Missing | 'left' | undefined;
  if (reached === undefined) return 'done';
  if (reached === 'left') return 'left';
  return { missing: reached, isHeld: kept.isHeld && reached.log.batched === kept.batched };
}
