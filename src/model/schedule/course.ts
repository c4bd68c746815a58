// The course of one `ask`: whether it goes on, what has ended it, and what must be woken when it ends.

import type { AskSignals } from '../../types.js';
import type { ScheduleOptions } from '../backend.js';
import type { Call, Turn } from './call.js';

/** What the schedule was told, with what holds where nothing was. */
export type ScheduleSettings = Required<ScheduleOptions>;

export class Course {
  readonly settings: ScheduleSettings;
  /** Calls that hold a slot, over all endpoints. */
  readonly calls = new Set<Call>();
  /** Jobs that have begun and are not done. */
  readonly turns = new Set<Turn>();
  readonly #signals: AskSignals;
  readonly #isWorkLeft: () => boolean;
  /** These end the waits that are under way. */
  readonly #waits = new Set<AbortController>();
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  #finish: () => void = () => {};

  constructor(signals: AskSignals, settings: ScheduleSettings, isWorkLeft: () => boolean) {
    this.#signals = signals;
    this.settings = settings;
    this.#isWorkLeft = isWorkLeft;
  }

  /** Whether nothing new is started any more. */
  get halted(): boolean {
    return this.#signals.stop.aborted || this.aborted;
  }

  /** Whether calls in flight are ended. */
  get aborted(): boolean {
    return this.#signals.abort.aborted || this.#failure !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Begins the work. Resolves when nothing is in flight and nothing is left, or when a signal says to stop and nothing is in
   * flight.
   */
  async run(begin: () => void): Promise<void> {
    const { stop, abort } = this.#signals;
    const onStop = () => this.#endWaits();
    const onAbort = () => this.#endCalls();
    stop.addEventListener('abort', onStop);
    abort.addEventListener('abort', onAbort);
    try {
      await new Promise<void>((resolve) => {
        this.#finish = resolve;
        begin();
        this.finishIfIdle();
      });
    } finally {
      this.#isOver = true;
      stop.removeEventListener('abort', onStop);
      abort.removeEventListener('abort', onAbort);
      for (const wait of this.#waits) wait.abort();
    }
  }

  /** Ends the run with an error, and aborts the calls in flight. The first error is the one that `ask` rejects with. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#endCalls();
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  finishIfIdle(): void {
    if (this.calls.size + this.turns.size === 0 && (this.halted || !this.#isWorkLeft())) this.#finish();
  }

  /** Resolves after so many milliseconds, when `wake` is aborted, or at the end of the run. */
  async wait(ms: number, wake: AbortController): Promise<void> {
    this.#waits.add(wake);
    await this.settings.clock.sleep(ms, wake.signal);
    this.#waits.delete(wake);
  }

  #endWaits(): void {
    for (const wait of this.#waits) wait.abort();
    for (const turn of this.turns) turn.resume?.(false);
    this.finishIfIdle();
  }

  #endCalls(): void {
    for (const call of this.calls) call.inFlight?.abort();
    this.#endWaits();
  }
}
