// Sessions: one episode after the other, each begun by a reset and gone on with by actions, one at a time; how many sessions there may
// be, and the end of those that nobody uses.

import { messageOf, UserError } from '../../core/errors.js';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import type { FailureClass } from '../../core/types.js';
import { ApiError } from '../../serve/http/api-error.js';
import { invalid } from './protocol.js';
import type { EpisodeRecord } from './record.js';
import type { Acted, LiveWorld, Simulator, WorldStart } from './simulator.js';

/** What sessions stand on. */
export interface SessionGrounds {
  readonly simulator: Simulator;
  /** Turns after which an episode is over. */
  readonly steps: number;
  /** Where episodes are kept; undefined where they are not. */
  readonly records?: { begin(episodeId: string): EpisodeRecord } | undefined;
}

export interface SessionLimits {
  readonly sessions: number;
  /** Without a request for so long, a session ends. */
  readonly idleMs: number;
}

const DONE_REASONS = {
  'step-limit': 'its steps are used up',
  'context-full': "the world model's context is full",
} as const;
type DoneReason = keyof typeof DONE_REASONS;

interface Episode {
  readonly id: string;
  world: LiveWorld;
  /** Actions taken; a world begun at a row has turns before them. */
  steps: number;
  doneReason: DoneReason | undefined;
  readonly record: EpisodeRecord | undefined;
}

/** Failures that another try may not have. */
const PASSING: readonly FailureClass[] = ['rate-limit', 'transient', 'timeout', 'malformed'];
/** After how many seconds a step that failed for a passing reason is worth another try. */
const RETRY_AFTER_S = 5;
/** The code by which an agent is told that its step could not be recorded. */
export const NOT_RECORDED = 'RECORD_FAILED';

export class Session {
  #episode: Episode | undefined;
  #isBusy = false;
  readonly #ended = new AbortController();

  constructor(private readonly grounds: SessionGrounds) {}

  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isDone(): boolean {
    return this.#episode?.doneReason !== undefined;
  }

  /** As OpenEnv tells it. */
  get state() {
    if (this.#episode === undefined) return { episode_id: null, step_count: 0 };
    const { id, steps, world, doneReason } = this.#episode;
    return {
      episode_id: id,
      step_count: steps,
      domain: world.domain,
      done: doneReason !== undefined,
      done_reason: doneReason,
      steps_left: doneReason === undefined ? this.grounds.steps - steps : 0,
    };
  }

  /** The episode before stays where it was recorded. @throws ApiError */
  async reset(start: WorldStart, id: string): Promise<Answer> {
    return this.#alone(id, async () => {
      const { simulator, records } = this.grounds;
      const world = await simulator.begin(start).catch((error: unknown) => {
        throw error instanceof UserError ? invalid(error.message) : error;
      });
      const episode: Episode = { id, world, steps: 0, doneReason: undefined, record: records?.begin(id) };
      this.#episode = episode;
      return answerOf(episode, world.observation ?? world.preface, world.history());
    });
  }

  /** @throws ApiError; the episode then stands where it stood */
  async step(action: string, { timeoutS, signal }: { timeoutS?: number | undefined; signal: AbortSignal }) {
    const episode = this.#episode;
    if (episode === undefined) {
      throw new ApiError(409, 'no episode has begun; reset begins one', 'EPISODE_NOT_BEGUN');
    }
    return this.#alone(episode.id, async () => {
      const { id, doneReason, world } = episode;
      if (doneReason !== undefined) {
        const message = `episode "${id}" is over (${DONE_REASONS[doneReason]}), and nothing was done; reset begins another`;
        throw new ApiError(409, message, 'EPISODE_DONE');
      }
      // An answer is asked for until it is there, nobody waits for it any more, the session ends, or the time is over.
      const late = timeoutS === undefined ? [] : [AbortSignal.timeout(timerOf(timeoutS * 1_000))];
      const acted = await world.act(action, AbortSignal.any([signal, this.#ended.signal, ...late]));
      if (acted.status === 'failed' && late[0]?.aborted) {
        const message = `the world model gave no observation within ${timeoutS} s; nothing was done, and the step can be tried again`;
        throw new ApiError(504, message, 'STEP_TIMEOUT', 'timeout_s', { 'retry-after': '1' });
      }
      return this.#settled(episode, acted);
    });
  }

  /** What an action makes of the episode. */
  async #settled(episode: Episode, acted: Acted): Promise<Answer> {
    switch (acted.status) {
      case 'failed':
        if (PASSING.includes(acted.class)) {
          const message = `${unended(acted.reason)}; nothing was done, and the step can be tried again`;
          throw passing(message, 'WORLD_MODEL_UNAVAILABLE');
        }
        throw new ApiError(502, `${unended(acted.reason)}; nothing was done`, 'WORLD_MODEL_REFUSED');
      case 'spent':
        throw new ApiError(429, `${unended(acted.reason)}; nothing was done`, 'BUDGET_SPENT');
      case 'full':
        episode.doneReason = 'context-full';
        return answerOf(episode, '');
      case 'observed': {
        const { world, isFull } = acted;
        await episode.record?.keep(world).catch((error: unknown) => {
          const message = `the step could not be recorded (${messageOf(error)}), and counts as not done; it can be tried again`;
          throw passing(message, NOT_RECORDED);
        });
        episode.world = world;
        episode.steps++;
        if (isFull) episode.doneReason = 'context-full';
        else if (episode.steps >= this.grounds.steps) episode.doneReason = 'step-limit';
        return answerOf(episode, world.observation ?? '');
      }
      default:
        return acted satisfies never;
    }
  }

  /** Breaks off what is under way; nothing is asked any more. */
  end(): void {
    this.#ended.abort();
  }

  /** Two answers for one world would be of different worlds. */
  async #alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) {
      const message = `episode "${id}" is at work on another request; wait for its answer`;
      throw new ApiError(409, message, 'STEP_UNDER_WAY', null, { 'retry-after': '1' });
    }
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }
}

/** As OpenEnv answers a reset and a step. The world rewards nothing. */
export type Answer = ReturnType<typeof answerOf>;

/** @param history after a reset into the middle of a trajectory: the turns before, the last one's observation being the text */
function answerOf({ id, steps, world, doneReason }: Episode, text: string, history?: ReturnType<LiveWorld['history']>) {
  return {
    observation: {
      text,
      turn: steps,
      domain: world.domain,
      history: history?.length === 0 ? undefined : history,
      metadata: { episode_id: id, done_reason: doneReason },
    },
    reward: null,
    done: doneReason !== undefined,
  };
}

function passing(message: string, code: string): ApiError {
  return new ApiError(503, message, code, null, { 'retry-after': String(RETRY_AFTER_S) });
}

/** A sentence that goes on. */
function unended(reason: string): string {
  return reason.replace(/[.\s]+$/, '');
}

/** A place in the table of sessions. */
interface Seat {
  readonly timer: NodeJS.Timeout;
  readonly onGone: () => void;
  /** A finished episode may leave for a new session. */
  readonly mayLeave: boolean;
}

/** All sessions of a server. */
export class Sessions {
  /** In the order of their opening. */
  readonly #seats = new Map<Session, Seat>();
  #underWay = 0;
  #isStopping = false;
  #idle: (() => void) | undefined;

  constructor(
    private readonly grounds: SessionGrounds,
    private readonly limits: SessionLimits,
  ) {}

  get count(): number {
    return this.#seats.size;
  }

  /**
   * Opens a further session. `onGone` is called when it ends by idleness. With `mayLeave`, one whose episode is over gives its place to a
   * new session where no other is left. @throws ApiError (503) where all places are taken, or the server is stopping
   */
  open(onGone: () => void, mayLeave = false): Session {
    this.#requireRunning();
    if (this.#seats.size >= this.limits.sessions) this.#makeRoom();
    const session = new Session(this.grounds);
    const timer = setTimeout(() => {
      if (session.isBusy) timer.refresh();
      else this.#dismiss(session);
    }, timerOf(this.limits.idleMs));
    timer.unref();
    this.#seats.set(session, { timer, onGone, mayLeave });
    return session;
  }

  /** Does work that keeps the session from being idle; while the server stops, none begins. @throws ApiError (503) */
  async use(session: Session, work: () => Promise<Answer>): Promise<Answer> {
    this.#requireRunning();
    const timer = this.#seats.get(session)?.timer;
    this.#underWay++;
    timer?.refresh();
    try {
      return await work();
    } finally {
      timer?.refresh();
      this.#underWay--;
      if (this.#underWay === 0) this.#idle?.();
    }
  }

  /** Ends a session whose client has gone. */
  end(session: Session): void {
    clearTimeout(this.#seats.get(session)?.timer);
    this.#seats.delete(session);
    session.end();
  }

  /** Takes nothing more; resolves when what is under way has ended, or is broken off after `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    const late = setTimeout(() => {
      for (const session of this.#seats.keys()) session.end();
    }, drainMs);
    if (this.#underWay > 0) await idle;
    clearTimeout(late);
    for (const session of [...this.#seats.keys()]) this.end(session);
  }

  #requireRunning(): void {
    if (!this.#isStopping) return;
    throw new ApiError(503, 'the server is shutting down', 'SHUTTING_DOWN', null, { connection: 'close' });
  }

  #makeRoom(): void {
    const over = [...this.#seats].find(([session, { mayLeave }]) => mayLeave && session.isDone && !session.isBusy);
    if (over !== undefined) {
      this.#dismiss(over[0]);
      return;
    }
    const most = this.limits.sessions;
    const all = most === 1 ? 'the session of this server is' : `all ${most} sessions of this server are`;
    throw passing(`${all} in use; try again later, or start it with more --sessions`, 'CAPACITY_REACHED');
  }

  #dismiss(session: Session): void {
    const seat = this.#seats.get(session);
    this.end(session);
    seat?.onGone();
  }
}

function timerOf(ms: number): number {
  return Math.min(Math.ceil(ms), LONGEST_TIMER_MS);
}
