// One session of asking: unfinished rows go to the backend, and each record is on the disk before the next call starts.

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
  type AskModel,
  droppedOf,
  markOf,
  nameOf,
  type Stage,
  type StageJob,
  type StageListener,
  summaryOf,
} from './stage-contract.js';

/** How long calls in flight may continue after the first interrupt. */
const DRAIN_MS = 3_000;
/** Rows settled without a model are made durable together, this many at once. */
const ALONE_AT_ONCE = 64;

/** The result of a session. */
export type SessionResult = Awaited<ReturnType<typeof runSession>>;

const NOTHING: Unrecorded = { calls: 0, usage: {} };

/** The combined cost, in two parts or two sessions, of calls that led to no record. */
export function bothUnrecorded(one: Unrecorded, other: Unrecorded): Unrecorded {
  return { ...costOfBoth(one, other), calls: one.calls + other.calls };
}

/** What to type to continue: `--fresh` would start over again. */
export function sameCommand(fresh: boolean): string {
  return fresh ? 'the same command without --fresh' : 'the same command';
}

/** How to continue a run that a listener has stopped. */
export function wayOn(fresh: boolean, exitCode: ExitCode): string {
  if (exitCode === EXIT.badData) return `${sameCommand(fresh)} tries again, and with --keep-going it continues anyway`;
  return `${sameCommand(fresh)}${exitCode === EXIT.later ? ' with a larger budget' : ''} resumes the run`;
}

/**
 * Asks these rows of a stage, in this order. Never rejects.
 * @param save writes the manifest with the run's current identity
 * @param isHeld a held row only has its results read; nothing new is asked for it
 */
export async function runSession<J extends StageJob>(
  stage: Stage<J>,
  todo: readonly J[],
  save: () => Promise<void>,
  isHeld: (job: J) => boolean,
  open: OpenModel,
) {
  const { io, run, settings } = stage;
  let [asked, calls] = [0, 0];
  /** The cost of rows that is not in a record yet. */
  const unkept = new Map<string, Unrecorded>();
  /** Serial groups with a job whose record is not done: the jobs after it wait for another session. */
  const ended = new Set<string>();
  let stopReason: string | undefined;
  let stopCode: ExitCode = EXIT.incomplete;
  let error: unknown;
  let backend: Model | undefined;
  const halt = new AbortController();
  /** Aborted by the user's interrupt, or by a listener. */
  const stop = AbortSignal.any([io.stop, halt.signal]);
  let savedIdentity = run.identity;
  let saving = Promise.resolve();
  const note = (failure: unknown) => {
    error ??= failure;
  };
  const tellAll = tellerTo(stage.listeners ?? [], (failure) => {
    note(failure);
    end(messageOf(failure));
  });
  const tell = (text: string) => tellAll((listener) => listener.notice?.(text));
  /** A notice that the run keeps. */
  const say = (text: string, more = '') => {
    run.notices.push(text);
    tell(`${text}${more}`);
  };
  /** Starts nothing more. Calls in flight are paid for, so they may finish. */
  const end = (reason: string) => {
    if (stop.aborted) return;
    halt.abort();
    tell(`stopping: ${reason}${backend === undefined ? '' : '; calls in flight will finish first'}`);
  };
  const spend = (job: J, cost: CallCost) => {
    run.ledger.add(cost);
    tellAll((listener) => listener.tried?.(job, cost));
  };
  /** How many requests of batch files went into a row's latest record. */
  const batchedIn = (id: string): number => {
    const batched = run.journal.has(id) ? run.journal.read(id).log.batched : 0;
    return isInteger(batched) ? batched : 0;
  };

  function beginning() {
    const { rows, between = [] } = stage;
    const domainOf = ({ domain }: StageJob) => domain;
    const totals = Object.entries(countBy([...rows, ...between], domainOf));
    const waiting = countBy(todo, domainOf);
    const already = totals.map(([domain, total]) => [domain, total - (waiting[domain] ?? 0)] as const);
    return {
      ...nameOf(stage),
      totals: new Map(totals),
      already: new Map(already.filter(([, count]) => count > 0)),
      ledger: run.ledger,
      status: () => backend?.status(),
      stop: (reason: string, exitCode: ExitCode = EXIT.incomplete) => {
        if (!stop.aborted) [stopReason, stopCode] = [reason, exitCode];
        end(reason);
      },
      say: (text: string) => say(text),
    };
  }

  async function askAll(abort: AbortSignal): Promise<void> {
    let missing = todo.filter((job) => stage.asks(job));
    const slots = pLimit(ALONE_AT_ONCE);
    const nobody: Ask = () => Promise.reject(new Error('a row that needs no model asks one'));
    const chains = chainsOf(todo.filter((job) => !stage.asks(job)));
    await Promise.all(chains.map((chain) => slots(() => (stop.aborted ? undefined : solve(chain, nobody)))));
    const wasAwaited = asked > 0 && run.batch !== undefined && run.stored?.batch !== undefined;
    // Requests written for rows that are no longer asked about are not awaited any more.
    let isNext = missing.length > 0 || wasAwaited;
    while (isNext && !stop.aborted) {
      await askModelOf(missing, abort);
      const report = backend?.report?.();
      // Awaited results are not obtained by asking again.
      if (report !== undefined && !report.isLive) return;
      // The parameters a row was asked with may have changed since it was settled.
      missing = todo.filter((job) => summaryOf(stage, job) === undefined && !ended.has(job.group));
      isNext = missing.length > 0;
    }
  }

  async function askModelOf(jobs: readonly J[], abort: AbortSignal): Promise<void> {
    backend ??= await open(stage, say);
    const files = {
      kept: (chain: Chain<J>) => {
        const job = currentOf(chain);
        return { id: job.id, batched: batchedIn(job.id), isHeld: isHeld(job) };
      },
      replayed: (chain: Chain<J>, cost: CallCost) => spend(currentOf(chain), cost),
    };
    const tried = (chain: Chain<J>, cost: CallCost) => {
      const { id } = currentOf(chain);
      unkept.set(id, bothUnrecorded(unkept.get(id) ?? NOTHING, { ...cost, calls: 1 }));
      spend(currentOf(chain), cost);
    };
    await backend.work(chainsOf(jobs), solve, { stop, abort }, { tried, files });
  }

  /** Solves the jobs of a chain as far as possible; starts again from the current job if what is sent changes meanwhile. */
  async function solve(chain: Chain<J>, ask: Ask): Promise<void> {
    /** The cost of the current job so far. */
    let spent: CallLog | undefined;
    const askModel: AskModel = async (question) => {
      const job = currentOf(chain);
      let [mark, chars] = ['', 0];
      const outcome = await ask({
        make: async () => {
          mark = sent();
          const request = await question();
          chars = charactersOf(request);
          return request;
        },
      });
      if (outcome.status === 'interrupted') throw new Left();
      calls++;
      tellAll((listener) => listener.answered?.(job, outcome.log));
      if (outcome.status === 'ok' && outcome.servedModel !== undefined) run.servedModels.add(outcome.servedModel);
      enter();
      // With several tries, it is unknown which of them were counted.
      const log = outcome.log.attempts === 1 && chars > 0 ? { ...outcome.log, chars } : outcome.log;
      spent = spent === undefined ? log : callsTogether(spent, log);
      if (mark !== markOf(run)) throw new SentOtherwise();
      return outcome;
    };
    while (chain.left.length > 0) {
      try {
        for await (const record of stage.solve([...chain.left], askModel)) {
          const job = currentOf(chain);
          await saveIdentity();
          const isDone = await keep(job, { ...record, log: { ...record.log, ...spent } });
          spent = undefined;
          chain.left.shift();
          if (!isDone && chain.left.length > 0) ended.add(chain.group);
          if (!isDone || stop.aborted) return;
        }
        return;
      } catch (failure) {
        if (failure instanceof Left) return;
        if (!(failure instanceof SentOtherwise)) throw failure;
      }
    }
  }

  /** The parameters that are left out now. The run's identity lags behind until a reply shows whether the run may continue without them. */
  function sent(): string {
    return (backend?.dropped() ?? droppedOf(run)).join(' ');
  }

  /** Adds the parameters left out now to the run's identity. @throws UserError (78) if rows of an earlier session were asked with them */
  function enter(): void {
    const dropped = backend?.dropped();
    if (dropped === undefined || dropped.join(' ') === markOf(run)) return;
    if (run.finishedBefore > 0) {
      throw identityDiffers(
        `the endpoint now rejects ${dropped.join(', ')}, but ${run.finishedBefore} finished rows were asked with it; use an endpoint that takes it, or start over without it (--fresh)`,
      );
    }
    run.identity = { ...run.identity, sampling: { ...asObject(run.identity.sampling), dropped } };
  }

  /** Writes what a row was asked with to the disk before the row itself; otherwise a killed run would not recognise its own rows. */
  function saveIdentity(): Promise<void> {
    if (run.identity !== savedIdentity) {
      savedIdentity = run.identity;
      saving = saving.then(save);
    }
    return saving;
  }

  /** Makes a record durable. @returns whether its row is done */
  async function keep(job: J, record: JournalRecord): Promise<boolean> {
    // A row that is asked live may still have earlier results in its batch folder, which must not be read as those of later requests.
    const batched = batchedIn(job.id);
    // The domain is for readers of a run without its data.
    const log = { ...(batched > 0 && { batched }), ...record.log, domain: job.domain };
    const summary = await run.journal.append({ ...record, log });
    asked++;
    unkept.delete(job.id);
    tellAll((listener) => listener.settled?.(job, summary));
    return stage.isDone(job, summary);
  }

  tellAll((listener) => listener.begins?.(beginning()));
  if (run.journal.repaired !== undefined) tell(run.journal.repaired);
  io.setLastWords(`stopped immediately: all finished rows are saved; ${sameCommand(settings.fresh)} resumes the run`);
  const drain = drainOnInterrupt(io, tell);
  const started = performance.now();
  await askAll(drain.over).catch(note);
  const seconds = (performance.now() - started) / 1000;
  const report = backend?.report?.();
  drain.close();
  await backend?.close().catch(note);
  // Whatever a listener triggers from here on is too late to be announced.
  halt.abort();
  tellAll((listener) => listener.ends?.());
  return {
    /** Rows settled. */
    asked,
    /** Why a listener ended it early, and the exit code it gave. */
    stopReason,
    stopCode,
    /** Calls that ended, and the wall time spent asking, in seconds. Reading results from files says nothing about a model's speed. */
    pace: report === undefined ? { calls, seconds } : { calls: 0, seconds: 0 },
    /** The state of the batch files, if the run asks through them. */
    report,
    /** The cost of calls that led to no record. */
    unrecorded: [...unkept.values()].reduce(bothUnrecorded, NOTHING),
    /** What broke it off: an error of the backend, the stage, the disk or a listener. */
    error,
  };
}

/** Announces an event to all listeners. An event that a listener triggers meanwhile is announced once all have heard the current one. */
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

/** Jobs that are solved one after another, or a single one. */
interface Chain<J extends StageJob> extends Job {
  /** Jobs without a record yet. */
  readonly left: J[];
  readonly last: J;
}

function chainsOf<J extends StageJob>(jobs: readonly J[]): Chain<J>[] {
  const chains = groupBy(jobs, (job) => (job.serial ? job.group : job));
  return [...chains.values()].map((own) => ({ group: own[0].group, left: [...own], last: present(own.at(-1)) }));
}

/** The job that is being asked about, or the last one that was. */
function currentOf<J extends StageJob>({ left: [first], last }: Chain<J>): J {
  return first ?? last;
}

/** Thrown through a stage's `solve` if a question gets no answer in this session. */
class Left extends Error {}

/** Likewise, if a reply was asked for with parameters that have been dropped since: the reply is not kept. */
class SentOtherwise extends Error {}

/** `over` is aborted a few seconds after the user's first interrupt; `tell` then gets a line for the user. */
export function drainOnInterrupt({ stop }: Io, tell: (text: string) => void) {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onStop = () => {
    tell(`stopping: waiting up to ${DRAIN_MS / 1000} s for calls in flight; interrupt again to stop immediately`);
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
