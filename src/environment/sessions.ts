// All sessions of a server: how many there may be, and the end of those that nobody uses.

import { LONGEST_TIMER_MS } from '../timers.js';
import { stopping, tooManySessions } from './refusals.js';
import { type Answer, Session, type SessionGrounds } from './session.js';

export interface SessionLimits {
  readonly sessions: number;
  /** Without a request for so long, a session ends. */
  readonly idleMs: number;
}

/** A session's place. Whoever holds it says when it was used, and hears when it ends by idleness. */
export interface Place {
  readonly session: Session;
  /** Does work that keeps the session from being idle; while the server stops, none begins. @throws ApiError (503) */
  use(work: (session: Session) => Promise<Answer>): Promise<Answer>;
  end(): void;
}

interface Seat extends Place {
  readonly onIdle: () => void;
  /** A finished episode may leave for a new session. */
  readonly mayLeave: boolean;
  timer: NodeJS.Timeout;
}

export class Sessions {
  readonly #grounds: SessionGrounds;
  readonly #limits: SessionLimits;
  readonly #seats = new Set<Seat>();
  #underWay = 0;
  #isStopping = false;
  #idle: (() => void) | undefined;

  constructor(grounds: SessionGrounds, limits: SessionLimits) {
    this.#grounds = grounds;
    this.#limits = limits;
  }

  get count(): number {
    return this.#seats.size;
  }

  /**
   * A place for a further session. `onIdle` is called when it ends by idleness. With `mayLeave`, one whose episode is over gives its place
   * to a new session where no other is left. @throws ApiError (503) where all places are taken, or the server is stopping
   */
  open(onIdle: () => void, mayLeave = false): Place {
    if (this.#isStopping) throw stopping();
    if (this.#seats.size >= this.#limits.sessions) this.#makeRoom();
    const session = new Session(this.#grounds);
    const end = () => {
      clearTimeout(seat.timer);
      this.#seats.delete(seat);
      session.end();
    };
    const seat: Seat = {
      session,
      onIdle,
      mayLeave,
      timer: this.#timer(() => this.#endIdle(seat)),
      use: (work) => this.#use(seat, work),
      end,
    };
    this.#seats.add(seat);
    return seat;
  }

  /** Seats are in order of their opening: the oldest leaves. */
  #makeRoom(): void {
    const over = [...this.#seats].find(({ mayLeave, session }) => mayLeave && session.isDone && !session.isBusy);
    if (over === undefined) throw tooManySessions(this.#limits.sessions);
    over.end();
    over.onIdle();
  }

  async #use(seat: Seat, work: (session: Session) => Promise<Answer>): Promise<Answer> {
    if (this.#isStopping) throw stopping();
    this.#underWay++;
    seat.timer.refresh();
    try {
      return await work(seat.session);
    } finally {
      seat.timer.refresh();
      this.#underWay--;
      if (this.#underWay === 0) this.#idle?.();
    }
  }

  #endIdle(seat: Seat): void {
    if (seat.session.isBusy) {
      seat.timer.refresh();
      return;
    }
    seat.end();
    seat.onIdle();
  }

  #timer(act: () => void): NodeJS.Timeout {
    const timer = setTimeout(act, Math.min(this.#limits.idleMs, LONGEST_TIMER_MS));
    timer.unref();
    return timer;
  }

  /** Takes nothing more; resolves when what is under way has ended, or is broken off after `drainMs`. */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    const late = setTimeout(() => {
      for (const { session } of this.#seats) session.end();
    }, drainMs);
    if (this.#underWay > 0) await idle;
    clearTimeout(late);
    for (const seat of [...this.#seats]) seat.end();
  }
}
