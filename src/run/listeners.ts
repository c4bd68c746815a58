// Who hears what a stage does while it asks: progress, and whatever else wants to know or to end it early.

import type { ExitCode } from '../core/errors.js';
import type { BackendStatus, CallCost, CallLog, Domain, Usage } from '../core/types.js';
import type { Ledger } from './ledger.js';
import type { Counts, Manifest } from './manifest.js';
import type { RowSummary } from './run.js';
import type { StageJob, StageOutput } from './stage-contract.js';

/**
 * Hears the asking of a stage: `begins` first, `ends` last, in between rows and notices as they come; nothing where no row has to
 * be asked. All listeners hear the same in the same order. One that throws ends the run as `stop` does, and its error is thrown
 * once everything is saved.
 */
export interface StageListener {
  begins?(asking: Beginning): void;
  /** A try of a call has ended, whatever came of it, and cost so much; no other starts before this is heard. */
  tried?(job: StageJob, cost: CallCost): void;
  /**
   * A row was asked once, with whatever tries that took; `log.usage` is what that cost. It comes before the record is made: a reply that
   * is not kept, because its row is asked again, was paid for all the same.
   */
  answered?(job: StageJob, log: CallLog): void;
  /** A row's record is on the disk; `summary.usage` is what it cost. A row is settled again where its record has become stale. */
  settled?(job: StageJob, summary: RowSummary): void;
  /** Something worth a line: a repair, a dropped parameter, an outage. */
  notice?(text: string): void;
  ends?(): void;
  /** The stage is over, its manifest is written; told always, last, where no row had to be asked, too. Must not reject. */
  closes?(closing: Closing): Promise<void>;
}

/** Which run it is, for whoever hears of several. */
export interface RunName {
  readonly kind: Manifest['kind'];
  /** Its folder, absolute. */
  readonly dir: string;
  readonly label?: string;
}

/** Which run the stage is of. */
export function nameOf<J extends StageJob>({ run, manifest }: StageOutput<J>): RunName {
  const { kind, dir, stored } = run;
  const label = manifest.label ?? stored?.label;
  return { kind, dir, ...(label !== undefined && { label }) };
}

/** What a stage has come to. */
export interface Closing extends RunName {
  readonly state: Manifest['state'];
  readonly exitCode: ExitCode;
  /** Why it was stopped, or what broke it off. */
  readonly reason?: string;
  readonly counts: Counts;
  /** What the rows' latest records took. */
  readonly tokens: Usage;
  readonly ledger: Ledger;
  /** Rows settled in this session, and its wall time. */
  readonly asked: number;
  readonly seconds: number;
}

/** What a listener is told, and given, when the asking begins. */
export interface Beginning extends RunName {
  /** Rows (times repeats) by domain, and those of them that need no asking. */
  readonly totals: ReadonlyMap<Domain, number>;
  readonly already: ReadonlyMap<Domain, number>;
  /** What all sessions of the run have spent; each try is in it before `tried` is told. */
  readonly ledger: Ledger;
  /** How the backend does; undefined until it is opened, which it is when the first row needs a model. */
  status(): BackendStatus | undefined;
  /**
   * Ends the run early: no further call starts, calls in flight are kept, and the same command continues. The first reason holds, with
   * the code that the command then exits with (3 by default).
   */
  stop(reason: string, exitCode?: ExitCode): void;
  /** Tells the user something worth a line, and keeps it among the run's notices. */
  say(text: string): void;
}

type Event = (listener: StageListener) => void;

/** All listeners of a stage; `onFailure` is given what one of them throws. */
export class Listeners {
  readonly #waiting: Event[] = [];
  #telling = false;

  constructor(
    private readonly listeners: readonly StageListener[],
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** What a listener brings about while it hears one event is told once all have heard that one. */
  tell(event: Event): void {
    this.#waiting.push(event);
    if (this.#telling) return;
    this.#telling = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      for (const listener of this.listeners) this.#tellOne(listener, next);
    }
    this.#telling = false;
  }

  #tellOne(listener: StageListener, event: Event): void {
    try {
      event(listener);
    } catch (error) {
      this.onFailure(error);
    }
  }
}
