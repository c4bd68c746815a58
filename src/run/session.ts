// One session of asking: rows that are not done go to the backend, and each record is on the disk before the next call starts.

import pLimit from 'p-limit';
import { callsTogether, costOfBoth } from '../core/costs.js';
import { EXIT, type ExitCode, identityDiffers, messageOf, present } from '../core/errors.js';
import { countBy, groupBy } from '../core/groups.js';
import { asObject, isInteger } from '../core/json.js';
import { type Ask, type CallCost, type CallLog, charactersOf, type Io, type Job } from '../core/types.js';
import type { JournalRecord } from './journal.js';
import type { Unrecorded } from './manifest.js';
import type { Model, OpenModel } from './model.js';
import {
  droppedOf,
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
export type SessionResult = Awaited<ReturnType<Session<StageJob>['run']>>;

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

/** Asks the rows of a stage that it is given; `save` writes the manifest with the run's identity as it stands. */
export class Session<J extends StageJob> {
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
  readonly #halt = new AbortController();
  /** Aborted by the user's interrupt, and by a listener. */
  readonly #stop: AbortSignal;
  readonly #tellAll: (event: (listener: StageListener) => void) => void;
  #savedIdentity: Stage<J>['run']['identity'];
  #saving = Promise.resolve();

  constructor(
    private readonly stage: Stage<J>,
    private readonly save: () => Promise<void>,
    /** Of what is held results are read, and nothing new is asked. */
    private readonly isHeld: (job: J) => boolean,
    private readonly open: OpenModel,
  ) {
    this.#stop = AbortSignal.any([stage.io.stop, this.#halt.signal]);
    this.#savedIdentity = stage.run.identity;
    this.#tellAll = tellerTo(stage.listeners ?? [], (error) => {
      this.#error ??= error;
      this.#end(messageOf(error));
    });
  }

  /** Asks the rows, in this order. Never rejects. */
  async run(todo: readonly J[]) {
    const { io, run, settings } = this.stage;
    this.#tellAll((listener) => listener.begins?.(this.#beginning(todo)));
    if (run.journal.repaired !== undefined) this.#tell(run.journal.repaired);
    io.setLastWords(`ended at once: all finished rows are saved; ${sameCommand(settings.fresh)} continues`);
    const drain = drainOnInterrupt(io, (text) => this.#tell(text));
    const note = (error: unknown) => {
      this.#error ??= error;
    };
    const started = performance.now();
    await this.#askAll(todo, drain.over).catch(note);
    const seconds = (performance.now() - started) / 1000;
    const report = this.#backend?.report?.();
    drain.close();
    await this.#backend?.close().catch(note);
    // Whatever a listener brings about from here on is too late to be told.
    this.#halt.abort();
    this.#tellAll((listener) => listener.ends?.());
    return {
      /** Rows settled. */
      asked: this.#asked,
      /** Why a listener ended it early, and the exit code that it gave. */
      stopReason: this.#stopReason,
      stopCode: this.#stopCode,
      /** Calls that ended, and the seconds of wall time that asking took. What is read from files says nothing of how fast a model is. */
      pace: report === undefined ? { calls: this.#calls, seconds } : { calls: 0, seconds: 0 },
      /** What has come of batch files, where the run is asked by them. */
      report,
      /** What came to no record. */
      unrecorded: [...this.#open.values()].reduce(bothUnrecorded, NOTHING),
      /** What broke it off: an error of the backend, of the stage, of the disk or of a listener. */
      error: this.#error,
    };
  }

  #beginning(todo: readonly J[]) {
    const { rows, between = [], run } = this.stage;
    const domainOf = ({ domain }: StageJob) => domain;
    const totals = Object.entries(countBy([...rows, ...between], domainOf));
    const waiting = countBy(todo, domainOf);
    const already = totals.map(([domain, total]) => [domain, total - (waiting[domain] ?? 0)] as const);
    return {
      ...nameOf(this.stage),
      totals: new Map(totals),
      already: new Map(already.filter(([, count]) => count > 0)),
      ledger: run.ledger,
      status: () => this.#backend?.status(),
      stop: (reason: string, exitCode: ExitCode = EXIT.incomplete) => {
        if (!this.#stop.aborted) [this.#stopReason, this.#stopCode] = [reason, exitCode];
        this.#end(reason);
      },
      say: (text: string) => this.#say(text),
    };
  }

  /** A notice that the run keeps. */
  #say(text: string, more = ''): void {
    this.stage.run.notices.push(text);
    this.#tell(`${text}${more}`);
  }

  #tell(text: string): void {
    this.#tellAll((listener) => listener.notice?.(text));
  }

  /** Starts nothing more. Calls in flight are paid for, so they may take their time. */
  #end(reason: string): void {
    if (this.#stop.aborted) return;
    this.#halt.abort();
    this.#tell(`stopping: ${reason}${this.#backend === undefined ? '' : '; calls in flight end first'}`);
  }

  async #askAll(todo: readonly J[], abort: AbortSignal): Promise<void> {
    const { stage } = this;
    let missing = todo.filter((job) => stage.asks(job));
    const slots = pLimit(ALONE_AT_ONCE);
    const nobody: Ask = () => Promise.reject(new Error('a row that needs no model asks one'));
    const chains = chainsOf(todo.filter((job) => !stage.asks(job)));
    await Promise.all(
      chains.map((chain) => slots(() => (this.#stop.aborted ? undefined : this.#solve(chain, nobody)))),
    );
    const { batch, stored } = stage.run;
    const wasAwaited = this.#asked > 0 && batch !== undefined && stored?.batch !== undefined;
    // Requests that were written for rows about which nobody is asked now are not waited for any more.
    let isNext = missing.length > 0 || wasAwaited;
    while (isNext && !this.#stop.aborted) {
      await this.#ask(missing, abort);
      const report = this.#backend?.report?.();
      // What is awaited does not come by asking again.
      if (report !== undefined && !report.isLive) return;
      // What a row was asked with may have changed since it was settled.
      missing = todo.filter((job) => summaryOf(stage, job) === undefined && !this.#ended.has(job.group));
      isNext = missing.length > 0;
    }
  }

  async #ask(jobs: readonly J[], abort: AbortSignal): Promise<void> {
    const { stage } = this;
    const say = (text: string, more?: string) => this.#say(text, more);
    this.#backend ??= await this.open(stage, say, () => this.#enter());
    await this.#backend.work(
      chainsOf(jobs),
      (chain, ask) => this.#solve(chain, ask),
      { stop: this.#stop, abort },
      {
        tried: (chain, cost) => {
          const { id } = currentOf(chain);
          this.#open.set(id, bothUnrecorded(this.#open.get(id) ?? NOTHING, { ...cost, calls: 1 }));
          this.#spend(currentOf(chain), cost);
        },
        files: {
          kept: (chain) => {
            const job = currentOf(chain);
            return { id: job.id, batched: this.#batchedIn(job.id), isHeld: this.isHeld(job) };
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
    const askModel: Parameters<Stage<J>['solve']>[1] = async (question) => {
      const job = currentOf(chain);
      let [sent, chars] = ['', 0];
      const outcome = await ask({
        make: async () => {
          sent = this.#sent();
          const request = await question();
          chars = charactersOf(request);
          return request;
        },
      });
      if (outcome.status === 'interrupted') throw new Left();
      this.#calls++;
      this.#tellAll((listener) => listener.answered?.(job, outcome.log));
      if (outcome.status === 'ok' && outcome.servedModel !== undefined) stage.run.servedModels.add(outcome.servedModel);
      this.#enter();
      // Of several tries nobody knows which of them were counted.
      const log = outcome.log.attempts === 1 && chars > 0 ? { ...outcome.log, chars } : outcome.log;
      spent = spent === undefined ? log : callsTogether(spent, log);
      if (sent !== markOf(stage.run)) throw new SentOtherwise();
      return outcome;
    };
    while (chain.left.length > 0) {
      try {
        for await (const record of stage.solve([...chain.left], askModel)) {
          const job = currentOf(chain);
          await this.#saveIdentity();
          const isDone = await this.#keep(job, { ...record, log: { ...record.log, ...spent } });
          spent = undefined;
          chain.left.shift();
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

  /** The parameters that are left out now. The run's identity lags behind until a reply shows whether the run may go on without them. */
  #sent(): string {
    return (this.#backend?.dropped() ?? droppedOf(this.stage.run)).join(' ');
  }

  /** Takes what is left out now into the run's identity. @throws UserError (78) where rows of an earlier session were asked with it */
  #enter(): void {
    const { run } = this.stage;
    const dropped = this.#backend?.dropped();
    if (dropped === undefined || dropped.join(' ') === markOf(run)) return;
    if (run.finishedBefore > 0) {
      throw identityDiffers(
        `the endpoint now rejects ${dropped.join(', ')}, and ${run.finishedBefore} finished rows were asked with it; ask an endpoint that takes it, or leave it out from the start with --fresh`,
      );
    }
    run.identity = { ...run.identity, sampling: { ...asObject(run.identity.sampling), dropped } };
  }

  #spend(job: J, cost: CallCost): void {
    this.stage.run.ledger.add(cost);
    this.#tellAll((listener) => listener.tried?.(job, cost));
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

  /** Makes a record durable. @returns whether its row is done */
  async #keep(job: J, record: JournalRecord): Promise<boolean> {
    // Asked live, a row still has the results of before in its batch folder, and they are not to be taken for those of later requests.
    const batched = this.#batchedIn(job.id);
    // The domain is for those who read a run without its data.
    const log = { ...(batched > 0 && { batched }), ...record.log, domain: job.domain };
    const summary = await this.stage.run.journal.append({ ...record, log });
    this.#asked++;
    this.#open.delete(job.id);
    this.#tellAll((listener) => listener.settled?.(job, summary));
    return this.stage.isDone(job, summary);
  }
}

/** Tells all listeners of an event. What one of them brings about while it hears one is told once all have heard that one. */
function tellerTo(listeners: readonly StageListener[], onFailure: (error: unknown) => void) {
  const waiting: ((listener: StageListener) => void)[] = [];
  let isTelling = false;
  return (event: (listener: StageListener) => void) => {
    waiting.push(event);
    if (isTelling) return;
    isTelling = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      for (const listener of listeners) {
        try {
          next(listener);
        } catch (error) {
          onFailure(error);
        }
      }
    }
    isTelling = false;
  };
}

/** Jobs that are solved one after the other, or a single one. */
interface Chain<J extends StageJob> extends Job {
  /** Those that have no record yet. */
  readonly left: J[];
  readonly last: J;
}

function chainsOf<J extends StageJob>(jobs: readonly J[]): Chain<J>[] {
  const chains = groupBy(jobs, (job) => (job.serial ? job.group : job));
  return [...chains.values()].map((own) => ({ group: own[0].group, left: [...own], last: present(own.at(-1)) }));
}

/** The job that is asked about, or was asked about last. */
function currentOf<J extends StageJob>({ left: [first], last }: Chain<J>): J {
  return first ?? last;
}

/** Thrown through a stage's `solve` where nothing more comes of a question in this session. */
class Left extends Error {}

/** The same where a reply was asked for in another way than replies are now, since a parameter was dropped meanwhile: it is not kept. */
class SentOtherwise extends Error {}

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
