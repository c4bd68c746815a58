// The contract of a stage: the rows of a run, and what infer or judge does with each of them.

import type { Price } from '../core/costs.js';
import type { ExitCode } from '../core/errors.js';
import type { Identity } from '../core/identity.js';
import { asObject } from '../core/json.js';
import type {
  BackendStatus,
  CallCost,
  CallLog,
  Domain,
  Io,
  Job,
  ModelFailure,
  ModelReply,
  ModelRequest,
  Question,
} from '../core/types.js';
import type { OptionTable } from '../settings/command.js';
import type { BatchSettings } from './batch/options.js';
import type { Ledger } from './budget.js';
import type { JournalRecord } from './journal.js';
import type { Manifest } from './manifest.js';
import type { AskingSettings } from './options.js';
import type { RowSummary, Run } from './run.js';
import type { Target } from './target.js';

/** One row to be asked once: a row of the data in one of its repeats, or one judgement of it. */
export interface StageJob extends Job {
  /** The journal's id of the row and repeat, or of the judgement. */
  readonly id: string;
  readonly domain: Domain;
  /** Set for the jobs of a chain: each needs the records of the jobs before it in its group, so they are asked one after another. */
  readonly serial?: true | undefined;
  /** Set if an earlier job covers the same row and repeat, which is counted as chosen once. */
  readonly isFurther?: true | undefined;
}

/**
 * Asks the stage's model, and resolves to the result after all tries. If a row must be left for another session, or asked again, it throws
 * an error that `solve` must let through.
 */
export type AskModel = (question: () => Promise<ModelRequest>) => Promise<ModelReply | ModelFailure>;

/** What the output and the manifest of a run are made from. */
export interface StageOutput<J extends StageJob> {
  readonly io: Io;
  readonly run: Run;
  /** Every row that the run chose or has a record of, in output order. */
  readonly rows: readonly J[];
  /** Jobs that are kept in the journal and cost as much, but are not rows of the output. */
  readonly between?: readonly J[];
  /**
   * What a record is made from and with, as one string in its log; undefined if no record can be valid. A record with a different stamp
   * counts as missing.
   * @param failure the record's class of failure, if it failed
   * @param mark what is sent besides the messages, see `markOf`
   * @param recorded the stamp in the record
   */
  stampOf(job: J, failure: string | undefined, mark: string, recorded: string): string | undefined;
  /** Whether a row with this record need not be asked again when the command is repeated. */
  isDone(job: J, summary: RowSummary): boolean;
  /** The output line of a row. */
  compose(job: J, record: JournalRecord): Promise<string>;
  /** A second file next to the output, also made from the journal. */
  readonly beside?: { readonly path: string; lines(): AsyncIterable<string> };
  /** If any of these changes, the output is written again even if no row was asked. */
  readonly outputForm: Readonly<Record<string, unknown>>;
  /** The manifest's fields apart from the counts. */
  readonly manifest: Pick<Manifest, 'meta' | 'settings' | 'data' | 'endpoints' | 'label' | 'predictions'> & {
    /** Read again each time: the served model is known only after asking. */
    readonly price?: Price | undefined;
  };
  /** Chosen rows that cannot be asked, by domain: unusable lines of the data, rows without a prediction. */
  readonly absent: Readonly<Record<string, number>>;
  /** Listeners to what the stage does. */
  readonly listeners?: readonly StageListener[];
}

export interface Stage<J extends StageJob> extends StageOutput<J> {
  readonly settings: AskingSettings & BatchSettings & { readonly fresh: boolean };
  readonly target: Target;
  /** The options of the command, if it can ask through batch files. */
  readonly options?: OptionTable;
  /** Whether an agent is asked instead of a judge. */
  readonly asksAgent?: boolean | undefined;
  /** The format that replies must follow; undefined if they are free. */
  readonly responseFormat?: unknown;
  /** Lines for the user, shown once a model is about to be asked. */
  readonly remarks?: readonly string[];
  /** The chosen rows in the order of asking, with any others that must be asked first. */
  readonly order: readonly J[];
  /** Whether a row needs a model. */
  asks(job: J): boolean;
  /**
   * Asks what is needed for one row, or for the rows of a chain in order, and yields the record of each. A record is on the disk before the
   * next one is requested; after one that is not done, none follows. Rows that need no model ask nothing.
   */
  solve(jobs: readonly J[], ask: AskModel): AsyncIterable<JournalRecord>;
  /**
   * All questions about a row, one call each, assuming every reply is usable. Only used for sizes, so a question may stand in for a request
   * that cannot be made yet.
   */
  questions(job: J): Promise<readonly Question[]>;
  /** The data's own reply to a row, whose size is used as an estimate of the model's. */
  truth?(job: J): Promise<string>;
  /** Where a row lies, and its length there in bytes; undefined if another job covers the same prompt. */
  placeOf(job: J): { readonly place: string; readonly bytes: number } | undefined;
}

/** Solves rows that are independent, or that find earlier results in the journal. */
export function oneByOne<J extends StageJob>(recordOf: (job: J, ask: AskModel) => Promise<JournalRecord>) {
  return async function* (jobs: readonly J[], ask: AskModel): AsyncGenerator<JournalRecord> {
    for (const job of jobs) yield await recordOf(job, ask);
  };
}

/** The parameters that the run's endpoints have rejected, and that are left out. */
export function droppedOf({ identity }: { readonly identity: Identity }): readonly string[] {
  const { dropped } = asObject(identity.sampling);
  return Array.isArray(dropped) ? dropped.map(String) : [];
}

/** The same as one string, empty if there are none. */
export function markOf(run: { readonly identity: Identity }): string {
  return droppedOf(run).join(' ');
}

/** The summary of the row's record; undefined if it has none, or a stale one. */
export function summaryOf<J extends StageJob>({ run, stampOf }: Pick<StageOutput<J>, 'run' | 'stampOf'>, job: J) {
  const summary = run.journal.summaryOf(job.id);
  if (summary === undefined) return undefined;
  const { class: failure, stamp } = summary;
  return stamp === stampOf(job, failure, markOf(run), stamp) ? summary : undefined;
}

/** Whether the row is there and need not be asked again. */
export function isDone<J extends StageJob>(stage: StageOutput<J>, job: J): boolean {
  const summary = summaryOf(stage, job);
  return summary !== undefined && stage.isDone(job, summary);
}

/**
 * Listens to the asking of a stage: `begins` comes first, `ends` last, rows and notices as they occur in between; nothing if no row has to
 * be asked. All listeners hear the same events in the same order. One that throws ends the run as `stop` does, and its error is thrown once
 * everything is saved.
 */
export interface StageListener {
  begins?(asking: Beginning): void;
  /** A try of a call has ended, whatever the result, at this cost; no other try starts before this returns. */
  tried?(job: StageJob, cost: CallCost): void;
  /**
   * A row was asked once, with all its tries; `log.usage` is the cost. Called before the record is made: a reply that is not kept, because
   * its row is asked again, was still paid for.
   */
  answered?(job: StageJob, log: CallLog): void;
  /** A row's record is on the disk; `summary.usage` is its cost. A row is settled again if its record has become stale. */
  settled?(job: StageJob, summary: RowSummary): void;
  /** Something worth a line: a repair, a dropped parameter, an outage. */
  notice?(text: string): void;
  ends?(): void;
  /** The stage is over and its manifest is written. Always called, and last, even if no row had to be asked. Must not reject. */
  closes?(closing: Closing): Promise<void>;
}

/** Identifies the run, for listeners to several. */
export type RunName = ReturnType<typeof nameOf>;

/** The name of the stage's run. */
export function nameOf<J extends StageJob>({ run, manifest }: StageOutput<J>) {
  const { kind, dir, stored } = run;
  const label = manifest.label ?? stored?.label;
  return { kind, dir, ...(label !== undefined && { label }) };
}

/** The result of a stage. */
interface Closing extends RunName {
  readonly manifest: Manifest;
  readonly exitCode: ExitCode;
  /** Why it was stopped, or what broke it off. */
  readonly reason?: string;
  readonly ledger: Ledger;
  /** Rows settled in this session, and its wall time. */
  readonly asked: number;
  readonly seconds: number;
}

/** What a listener receives when the asking begins. */
export interface Beginning extends RunName {
  /** Rows (times repeats) by domain, and how many of them need no asking. */
  readonly totals: ReadonlyMap<Domain, number>;
  readonly already: ReadonlyMap<Domain, number>;
  /** What all sessions of the run have spent; a try is included before `tried` is called. */
  readonly ledger: Ledger;
  /** The state of the backend; undefined until it is opened, when the first row needs a model. */
  status(): BackendStatus | undefined;
  /**
   * Ends the run early: no further call starts, calls in flight are kept, and the same command continues. The first reason counts, with the
   * command's exit code (3 by default).
   */
  stop(reason: string, exitCode?: ExitCode): void;
  /** Shows the user a line, and keeps it among the run's notices. */
  say(text: string): void;
}
