// One session of asking: rows that are not done go to the backend, and each record is on the disk before the next call starts.

import type { BatchReport } from '../batch-report.js';
import { EXIT, type ExitCode, messageOf } from '../errors.js';
import { isInteger } from '../json.js';
import type { JournalRecord } from '../run/journal-record.js';
import type { Unrecorded } from '../run/manifest.js';
import type { Backend, CallCost, Domain, Io, Settled } from '../types.js';
import { costOfBoth } from '../usage.js';
import { type Beginning, Listeners, nameOf, type StageListener } from './listeners.js';
import type { RowSummary } from './row-summary.js';
import { type Stage, type StageJob, summaryOf } from './stage-contract.js';

/** How long calls in flight may go on after the first interrupt. */
const DRAIN_MS = 3_000;
/** Rows settled without a model are made durable together. */
const ALONE_AT_ONCE = 64;

/** What a session came to. */
export interface SessionResult {
  /** Rows settled. */
  readonly asked: number;
  /** Why a listener ended it early, and the exit code that it gave. */
  readonly stopReason: string | undefined;
  readonly stopCode: ExitCode;
  /** Calls that ended, and the seconds of wall time that asking took. */
  readonly pace: { readonly calls: number; readonly seconds: number };
  /** What came to no record. */
  readonly unrecorded: Unrecorded;
  /** What has come of batch files, where the run is asked by them. */
  readonly report: BatchReport | undefined;
  /** What broke it off: an error of the backend, of the stage, of the disk or of a listener. */
  readonly error: unknown;
}

const NOTHING: Unrecorded = { calls: 0, usage: {} };

/** Of two parts, or two sessions, what came to no record. */
export function bothUnrecorded(one: Unrecorded, other: Unrecorded): Unrecorded {
  return { ...costOfBoth(one, other), calls: one.calls + other.calls };
}

/** What to type to continue: `--fresh` would start over once more. */
export function sameCommand(fresh: boolean): string {
  return fresh ? 'the same command without --fresh' : 'the same command';
}

/** How a run goes on that a listener has stopped. */
export function wayOn(fresh: boolean, exitCode: ExitCode): string {
  if (exitCode === EXIT.badData) return `${sameCommand(fresh)} tries again, and with --keep-going goes on all the same`;
  return `${sameCommand(fresh)}${exitCode === EXIT.later ? ' with a larger budget' : ''} continues`;
}

/**
 * Asks the rows of `todo`, in its order. `save` writes the manifest with the run's identity as it stands; what `isHeld` has its results
 * read, and nothing new asked. Never rejects.
 */
export function askRows<J extends StageJob>(
  stage: Stage<J>,
  todo: readonly J[],
  listeners: readonly StageListener[],
  save: () => Promise<void>,
  isHeld: (job: J) => boolean,
): Promise<SessionResult> {
  return new Session(stage, listeners, save, isHeld).run(todo);
}

class Session<J extends StageJob> {
  #asked = 0;
  #calls = 0;
  /** What rows have cost that have no record of it yet. */
  readonly #open = new Map<string, Unrecorded>();
  /** Serial groups in which a job has come to a record that is not done: those behind it wait for another session. */
  readonly #ended = new Set<string>();
  #stopReason: string | undefined;
  #stopCode: ExitCode = EXIT.incomplete;
  #error: unknown;
  #backend: Backend | undefined;
  readonly #listeners: Listeners;
  readonly #halt = new AbortController();
  /** Aborted by the user's interrupt, and by a listener. */
  readonly #stop: AbortSignal;
  #savedIdentity: Stage<J>['run']['identity'];
  #saving = Promise.resolve();

  constructor(
    private readonly stage: Stage<J>,
    listeners: readonly StageListener[],
    private readonly save: () => Promise<void>,
    private readonly isHeld: (job: J) => boolean,
  ) {
    this.#stop = AbortSignal.any([stage.io.stop, this.#halt.signal]);
    this.#savedIdentity = stage.run.identity;
    this.#listeners = new Listeners(listeners, (error) => {
      this.#error ??= error;
      this.#end(messageOf(error));
    });
  }

  async run(todo: readonly J[]): Promise<SessionResult> {
    const { io, run, settings } = this.stage;
    this.#listeners.tell((listener) => listener.begins?.(this.#beginning(todo)));
    if (run.journal.repaired !== undefined) this.#tell(run.journal.repaired);
    io.setLastWords(`ended at once: all finished rows are saved; ${sameCommand(settings.fresh)} continues`);
    const drain = drainOnInterrupt(io, (text) => this.#tell(text));
    const started = performance.now();
    try {
      await this.#askAll(todo, drain.over);
    } catch (error) {
      this.#error ??= error;
    }
    const seconds = (performance.now() - started) / 1000;
    const report = this.#backend?.report?.();
    drain.close();
    await this.#backend?.close().catch((error: unknown) => {
      this.#error ??= error;
    });
    // Whatever a listener brings about from here on is too late to be told.
    this.#halt.abort();
    this.#listeners.tell((listener) => listener.ends?.());
    return {
      asked: this.#asked,
      stopReason: this.#stopReason,
      stopCode: this.#stopCode,
      // What is read from files says nothing of how fast a model answers.
      pace: report === undefined ? { calls: this.#calls, seconds } : { calls: 0, seconds: 0 },
      report,
      unrecorded: [...this.#open.values()].reduce(bothUnrecorded, NOTHING),
      error: this.#error,
    };
  }

  #beginning(todo: readonly J[]): Beginning {
    const { rows, between = [], run } = this.stage;
    const totals = byDomain(rows, between);
    const waiting = byDomain(todo);
    const already = [...totals].map(([domain, total]) => [domain, total - (waiting.get(domain) ?? 0)] as const);
    return {
      ...nameOf(this.stage),
      totals,
      already: new Map(already.filter(([, count]) => count > 0)),
      ledger: run.ledger,
      status: () => this.#backend?.status(),
      stop: (reason, exitCode = EXIT.incomplete) => {
        if (!this.#stop.aborted) {
          this.#stopReason = reason;
          this.#stopCode = exitCode;
        }
        this.#end(reason);
      },
      say: (text) => this.#say(text),
    };
  }

  /** A notice that the run keeps. */
  #say(text: string, more = ''): void {
    this.stage.run.notices.push(text);
    this.#tell(`${text}${more}`);
  }

  #tell(text: string): void {
    this.#listeners.tell((listener) => listener.notice?.(text));
  }

  /** Starts nothing more. Calls in flight are paid for, so they may take their time. */
  #end(reason: string): void {
    if (this.#stop.aborted) return;
    this.#halt.abort();
    const end = this.#backend === undefined ? '' : '; calls in flight end first';
    this.#tell(`stopping: ${reason}${end}`);
  }

  async #askAll(todo: readonly J[], abort: AbortSignal): Promise<void> {
    let missing = await this.#settleAlone(todo);
    const { batch, stored } = this.stage.run;
    const wasAwaited = this.#asked > 0 && batch !== undefined && stored?.batch !== undefined;
    // Requests that were written for rows about which nobody is asked now are not waited for any more.
    if (missing.length === 0 && wasAwaited && !this.#stop.aborted) await this.#ask(missing, todo, abort);
    while (missing.length > 0 && !this.#stop.aborted) {
      await this.#ask(missing, todo, abort);
      const report = this.#backend?.report?.();
      // What is awaited does not come by asking again.
      if (report !== undefined && !report.isLive) return;
      // What a row was asked with may have changed since it was settled.
      missing = todo.filter((job) => summaryOf(this.stage, job) === undefined && !this.#ended.has(job.group));
    }
  }

  /** Settles the rows that need no model; the others are returned in their order. */
  async #settleAlone(todo: readonly J[]): Promise<readonly J[]> {
    const { stage } = this;
    let settling: Promise<unknown>[] = [];
    /** The latest job of each serial group. */
    let latest = new Map<string, Promise<unknown>>();
    for (const job of todo) {
      if (this.#stop.aborted) break;
      if (stage.asks(job)) continue;
      const before = job.serial ? latest.get(job.group) : undefined;
      const settled = (before ?? Promise.resolve())
        .then(() => stage.settleAlone(job))
        .then((record) => this.#keep(job, record));
      if (job.serial) latest.set(job.group, settled);
      settling.push(settled);
      if (settling.length < ALONE_AT_ONCE) continue;
      await Promise.all(settling);
      settling = [];
      latest = new Map();
    }
    await Promise.all(settling);
    return todo.filter((job) => stage.asks(job));
  }

  async #ask(jobs: readonly J[], todo: readonly J[], abort: AbortSignal): Promise<void> {
    const { stage } = this;
    const { run } = stage;
    this.#backend ??= await stage.openBackend((text, more) => this.#say(text, more));
    await this.#backend.ask(
      jobs,
      {
        request: (job) => stage.request(job),
        tried: (job, cost) => this.#count(job, cost),
        replayed: (job, cost) => this.#spend(job, cost),
        kept: (job) => ({
          id: job.id,
          batched: this.#batchedIn(job.id),
          madeFrom: stage.madeFrom?.(job),
          isHeld: this.isHeld(job),
        }),
        recalled: (job, chars, madeFrom) => stage.recalled?.(job, chars, madeFrom),
        alone: () => todo.filter((job) => !stage.asks(job)).map(({ id }) => id),
        settle: async (job, outcome): Promise<Settled> => {
          if (outcome.status === 'interrupted') {
            stage.left?.(job);
            return 'done';
          }
          this.#calls++;
          this.#listeners.tell((listener) => listener.answered?.(job, outcome.log));
          if (outcome.status === 'ok' && outcome.servedModel !== undefined) run.servedModels.add(outcome.servedModel);
          const record = await stage.settle(job, outcome);
          await this.#saveIdentity();
          if (record === 'again') return 'again';
          const summary = await this.#keep(job, record);
          if (!job.serial || stage.isDone(job, summary)) return 'done';
          this.#ended.add(job.group);
          return 'ends-group';
        },
      },
      { stop: this.#stop, abort },
    );
  }

  #count(job: J, cost: CallCost): void {
    const { calls, ...before } = this.#open.get(job.id) ?? NOTHING;
    this.#open.set(job.id, { ...costOfBoth(before, cost), calls: calls + 1 });
    this.#spend(job, cost);
  }

  #spend(job: J, cost: CallCost): void {
    this.stage.run.ledger.add(cost);
    this.#listeners.tell((listener) => listener.tried?.(job, cost));
  }

  /** How many requests of batch files went into a row's latest record. */
  #batchedIn(id: string): number {
    const { journal } = this.stage.run;
    const batched = journal.has(id) ? journal.read(id).log.batched : 0;
    return isInteger(batched) ? batched : 0;
  }

  /** Puts what a row was asked with on the disk before the row: otherwise a killed run would not know its own rows again. */
  #saveIdentity(): Promise<void> {
    const { identity } = this.stage.run;
    if (identity !== this.#savedIdentity) {
      this.#savedIdentity = identity;
      this.#saving = this.#saving.then(this.save);
    }
    return this.#saving;
  }

  async #keep(job: J, record: JournalRecord): Promise<RowSummary> {
    // Asked live, a row still has the results of before in its batch folder, and they are not to be taken for those of later requests.
    const batched = this.#batchedIn(job.id);
    const counted = batched > 0 && { batched };
    // The domain is for whoever reads a run without its data.
    const log = { ...counted, ...record.log, domain: job.domain };
    const summary = await this.stage.run.journal.append({ ...record, log });
    this.#asked++;
    this.#open.delete(job.id);
    this.#listeners.tell((listener) => listener.settled?.(job, summary));
    return summary;
  }
}

function byDomain(...lists: readonly Iterable<StageJob>[]): Map<Domain, number> {
  const counts = new Map<Domain, number>();
  for (const jobs of lists) for (const { domain } of jobs) counts.set(domain, (counts.get(domain) ?? 0) + 1);
  return counts;
}

/** `over` is aborted some seconds after the user's first interrupt; `tell` is given a line for the user then. */
export function drainOnInterrupt(
  { stop }: Io,
  tell: (text: string) => void,
): { readonly over: AbortSignal; close(): void } {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onStop = () => {
    tell(`stopping: ${DRAIN_MS / 1000} s for calls in flight; interrupt again to end at once`);
    timer = setTimeout(() => over.abort(), DRAIN_MS);
  };
  stop.addEventListener('abort', onStop, { once: true });
  return {
    over: over.signal,
    close() {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    },
  };
}
