// One session of asking: rows that are not done go to the backend, and each record is on the disk before the next call starts.

import pLimit from 'p-limit';
import type { BatchReport } from '../core/batch-report.js';
import { EXIT, type ExitCode, messageOf, UserError } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { asObject, isInteger } from '../core/json.js';
import { present } from '../core/present.js';
import { charactersOf } from '../core/question.js';
import type { Ask, CallCost, CallLog, Domain, Io, Job, ModelFailure, ModelReply, ModelRequest } from '../core/types.js';
import { callsTogether, costOfBoth } from '../core/usage.js';
import type { JournalRecord } from './journal.js';
import type { Unrecorded } from './manifest.js';
import type { Model, OpenModel } from './model.js';
import type { RowSummary } from './run.js';
import {
  type AskModel,
  type Beginning,
  droppedOf,
  Listeners,
  markOf,
  nameOf,
  type Stage,
  type StageJob,
  type StageListener,
  summaryOf,
} from './stage-contract.js';

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
  open: OpenModel,
): Promise<SessionResult> {
  return new Session(stage, listeners, save, isHeld, open).run(todo);
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
  #backend: Model | undefined;
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
    private readonly open: OpenModel,
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
    if (missing.length === 0 && wasAwaited && !this.#stop.aborted) await this.#ask(missing, abort);
    while (missing.length > 0 && !this.#stop.aborted) {
      await this.#ask(missing, abort);
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
    const slots = pLimit(ALONE_AT_ONCE);
    const nobody: Ask = () => Promise.reject(new Error('a row that needs no model asks one'));
    const chains = chainsOf(todo.filter((job) => !stage.asks(job)));
    await Promise.all(
      chains.map((chain) => slots(() => (this.#stop.aborted ? undefined : this.#solve(chain, nobody)))),
    );
    return todo.filter((job) => stage.asks(job));
  }

  async #ask(jobs: readonly J[], abort: AbortSignal): Promise<void> {
    const { stage } = this;
    this.#backend ??= await this.open(
      stage,
      (text, more) => this.#say(text, more),
      () => this.#enter(),
    );
    await this.#backend.work(
      chainsOf(jobs),
      (chain, ask) => this.#solve(chain, ask),
      { stop: this.#stop, abort },
      {
        tried: (chain, cost) => this.#count(currentOf(chain), cost),
        files: {
          kept: (chain) => {
            const job = currentOf(chain);
            return {
              id: job.id,
              batched: this.#batchedIn(job.id),
              madeFrom: this.#madeFrom(job),
              isHeld: this.isHeld(job),
            };
          },
          replayed: (chain, cost) => this.#spend(currentOf(chain), cost),
        },
      },
    );
  }

  /** Solves the jobs of a chain as far as it goes; anew from the job that is asked about where what is sent changes meanwhile. */
  async #solve(chain: Chain<J>, ask: Ask): Promise<void> {
    const { stage } = this;
    /** What the job that is asked about has cost. */
    let spent: CallLog | undefined;
    const askModel: AskModel = async (question) => {
      const { outcome, sent, chars } = await this.#askWith(ask, question, currentOf(chain));
      if (outcome.status === 'interrupted') throw new Left();
      this.#heard(currentOf(chain), outcome);
      this.#enter();
      const log = withChars(outcome.log, chars);
      spent = spent === undefined ? log : callsTogether(spent, log);
      if (sent !== markOf(stage.run)) throw new SentOtherwise();
      return outcome;
    };
    while (chain.left.length > 0) {
      try {
        for await (const record of stage.solve([...chain.left], askModel)) {
          const job = currentOf(chain);
          await this.#saveIdentity();
          const summary = await this.#keep(job, { ...record, log: { ...record.log, ...spent } });
          spent = undefined;
          chain.left.shift();
          const isDone = stage.isDone(job, summary);
          if (!isDone && chain.left.length > 0) this.#ended.add(chain.group);
          if (!isDone || this.#stop.aborted) return;
        }
        return;
      } catch (error) {
        if (error instanceof Left) return;
        if (!(error instanceof SentOtherwise)) throw error;
      }
    }
  }

  /** Asks, and tells what was sent beside the messages, and how many characters. */
  async #askWith(ask: Ask, question: () => Promise<ModelRequest>, job: J) {
    let [sent, chars] = ['', 0];
    const outcome = await ask({
      make: async () => {
        sent = this.#sent();
        const request = await question();
        chars = charactersOf(request);
        return request;
      },
      found: (size, madeFrom) => {
        [sent, chars] = [madeFrom === this.#madeFrom(job) ? this.#sent() : 'another', size];
      },
    });
    return { outcome, sent, chars };
  }

  /** What a row's first request would be made from and with now, in one text. */
  #madeFrom(job: J): string {
    return this.stage.stampOf(job, undefined, this.#sent(), '') ?? '';
  }

  /** The parameters that are left out now. The run's identity lags behind until a reply shows whether the run may go on without them. */
  #sent(): string {
    return (this.#backend?.dropped() ?? droppedOf(this.stage.run)).join(' ');
  }

  /** Takes what is left out now into the run's identity. @throws UserError (78) where rows of an earlier session were asked with it */
  #enter(): void {
    const { run } = this.stage;
    const dropped = this.#backend?.dropped();
    if (dropped === undefined || dropped.join(' ') === markOf(run)) return;
    if (run.finishedBefore > 0) throw droppedTooLate(dropped, run.finishedBefore);
    run.identity = { ...run.identity, sampling: { ...asObject(run.identity.sampling), dropped } };
  }

  #heard(job: J, outcome: ModelReply | ModelFailure): void {
    this.#calls++;
    this.#listeners.tell((listener) => listener.answered?.(job, outcome.log));
    if (outcome.status !== 'ok' || outcome.servedModel === undefined) return;
    this.stage.run.servedModels.add(outcome.servedModel);
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

/** Jobs that are solved one after the other, or a single one. */
interface Chain<J extends StageJob> extends Job {
  /** Those that have no record yet. */
  readonly left: J[];
  readonly last: J;
}

function chainsOf<J extends StageJob>(jobs: readonly J[]): Chain<J>[] {
  const serial = groupBy(
    jobs.filter((job) => job.serial),
    ({ group }) => group,
  );
  return jobs.flatMap((job) => {
    const own = job.serial ? serial.get(job.group) : [job];
    const isFirst = own?.[0] === job;
    return own === undefined || !isFirst ? [] : [{ group: job.group, left: [...own], last: present(own.at(-1)) }];
  });
}

/** The job that is asked about, or was asked about last. */
function currentOf<J extends StageJob>({ left: [first], last }: Chain<J>): J {
  return first ?? last;
}

/** Thrown through a stage's `solve` where nothing more comes of a question in this session. */
class Left extends Error {}

/** The same where a reply was asked for in another way than replies are now, since a parameter was dropped meanwhile: it is not kept. */
class SentOtherwise extends Error {}

/** A call's log with the characters that it sent. Of several tries nobody knows which of them were counted. */
function withChars(log: CallLog, chars: number): CallLog {
  return log.attempts === 1 && chars > 0 ? { ...log, chars } : log;
}

function droppedTooLate(dropped: readonly string[], finished: number): UserError {
  return new UserError(
    `the endpoint now rejects ${dropped.join(', ')}, and ${finished} finished rows were asked with it; ask an endpoint that takes it, or leave it out from the start with --fresh`,
    EXIT.identityDiffers,
  );
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
