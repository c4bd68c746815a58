// What a stage is: the rows that a run is about, and what infer or judge does with each of them.

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

/** One row to be asked once: a row of the data in one of its repeats, or one judgement of that. */
export interface StageJob extends Job {
  /** The journal's id of the row and repeat, and of the judgement. */
  readonly id: string;
  readonly domain: Domain;
  /** Set for the jobs of a chain: each needs the records of those of its group before it, so they are asked one after the other. */
  readonly serial?: true | undefined;
  /** Set where an earlier job stands for the same row and repeat, which is chosen once. */
  readonly isFurther?: true | undefined;
}

/**
 * Asks the model that the stage is about, and resolves to what came of it after all tries. Where a row has to be left for another
 * session, or asked anew, it throws what `solve` lets through.
 */
export type AskModel = (question: () => Promise<ModelRequest>) => Promise<ModelReply | ModelFailure>;

/** What the output and the manifest of a run are made of. */
export interface StageOutput<J extends StageJob> {
  readonly io: Io;
  readonly run: Run;
  /** Every row that the run chose or has a record of, in output order. */
  readonly rows: readonly J[];
  /** What is kept in the journal, and costs as much, and is not a row of the output. */
  readonly between?: readonly J[];
  /**
   * What a record is made from and with, in one text that stands in its log; undefined where no record can hold. A record with another
   * stamp counts as not there.
   * @param failure the record's class of failure, if it failed
   * @param mark what is sent beside the messages, see `markOf`
   * @param recorded the stamp that the record has
   */
  stampOf(job: J, failure: string | undefined, mark: string, recorded: string): string | undefined;
  /** Whether a row with this record need not be asked again when the command is repeated. */
  isDone(job: J, summary: RowSummary): boolean;
  /** The output line of a row. */
  compose(job: J, record: JournalRecord): Promise<string>;
  /** A second file beside the output, made of the journal, too. */
  readonly beside?: { readonly path: string; lines(): AsyncIterable<string> };
  /** Changes of these make the output be written again although no row was asked. */
  readonly outputForm: Readonly<Record<string, unknown>>;
  /** What the manifest holds beside the counts. */
  readonly manifest: Pick<Manifest, 'meta' | 'settings' | 'data' | 'endpoints' | 'label' | 'predictions'> & {
    /** Read anew each time: who answers is known only then. */
    readonly price?: Price | undefined;
  };
  /** Chosen rows that cannot be asked at all, by domain: unusable lines of the data, rows without a prediction. */
  readonly absent: Readonly<Record<string, number>>;
  /** Who is to hear what the stage does. */
  readonly listeners?: readonly StageListener[];
}

export interface Stage<J extends StageJob> extends StageOutput<J> {
  readonly settings: AskingSettings & BatchSettings & { readonly fresh: boolean };
  readonly target: Target;
  /** The options of the command, where it can ask by batch files. */
  readonly options?: OptionTable;
  /** Whether it is an agent that is asked, and no judge. */
  readonly asksAgent?: boolean | undefined;
  /** The form that replies are held to; undefined where they are free. */
  readonly responseFormat?: unknown;
  /** What to tell the user once a model is to be asked. */
  readonly remarks?: readonly string[];
  /** The chosen rows in the order of asking, and whatever else they need to have been asked before. */
  readonly order: readonly J[];
  /** Whether a model has to be asked for a row. */
  asks(job: J): boolean;
  /**
   * Asks what is to be asked about one row, or the rows of a chain in their order, and gives the record of each. A record is on the disk
   * before the next one is asked for; behind one that is not done no other is. Rows that need no model ask nothing.
   */
  solve(jobs: readonly J[], ask: AskModel): AsyncIterable<JournalRecord>;
  /**
   * All that a row is asked, one call each, where every reply can be used. It is for sizes alone, and may stand for a request that
   * cannot be made yet.
   */
  questions(job: J): Promise<readonly Question[]>;
  /** The reply that the data has to a row: its size stands for that of the model's. */
  truth?(job: J): Promise<string>;
  /** Where a row lies, and its bytes there; undefined where another job stands for the same prompt. */
  placeOf(job: J): { readonly place: string; readonly bytes: number } | undefined;
}

/** How rows are solved that stand by themselves, or that find in the journal what came before. */
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

/** The same in one text, which is empty where there are none. */
export function markOf(run: { readonly identity: Identity }): string {
  return droppedOf(run).join(' ');
}

/** The row's record in short; undefined where it has none, or a stale one. */
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

/** Which run it is, for those who hear of several. */
export type RunName = ReturnType<typeof nameOf>;

/** Which run the stage is of. */
export function nameOf<J extends StageJob>({ run, manifest }: StageOutput<J>) {
  const { kind, dir, stored } = run;
  const label = manifest.label ?? stored?.label;
  return { kind, dir, ...(label !== undefined && { label }) };
}

/** What a stage has come to. */
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
