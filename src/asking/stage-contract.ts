// What a stage is: the rows that a run is about, and what infer or judge does with each of them.

import type { Price } from '../price.js';
import type { JournalRecord } from '../run/journal-record.js';
import type { Manifest } from '../run/manifest.js';
import type { Backend, Domain, Io, Job, ModelFailure, ModelReply, ModelRequest, Question } from '../types.js';
import type { RowSummary } from './row-summary.js';
import type { Run } from './run.js';

/** One row to be asked once: a row of the data in one of its repeats, or one judgement of that. */
export interface StageJob extends Job {
  /** The journal's id of the row and repeat, and of the judgement. */
  readonly id: string;
  readonly domain: Domain;
  /** Set for the jobs of a chain: each needs what came of those of its group before it, so that they are asked one after the other. */
  readonly serial?: true | undefined;
  /** Set where an earlier job stands for the same row and repeat, which is chosen once. */
  readonly isFurther?: true | undefined;
}

/**
 * Asks the model that the stage is about, and resolves to what came of it after all tries. Where a row has to be left for another
 * session, or asked anew, it throws what `solve` lets through.
 */
export type AskModel = (question: () => Promise<ModelRequest>) => Promise<ModelReply | ModelFailure>;

/** What a row has come to. */
export interface Solved<J extends StageJob> {
  readonly job: J;
  /** What its calls cost is added to the log. */
  readonly record: JournalRecord;
}

export interface Stage<J extends StageJob> {
  readonly io: Io;
  readonly run: Run;
  readonly settings: { readonly fresh: boolean };
  /** Every row that the run chose or has a record of, in output order. */
  readonly rows: readonly J[];
  /** The chosen ones in the order of asking, and whatever else they need to have been asked before. */
  readonly order: readonly J[];
  /** What of this is no row of the output: it is kept in the journal, and costs as much. */
  readonly between?: readonly J[];
  /** Whether a record was made from something that has changed since: it then counts as not there. */
  isStale(job: J, summary: RowSummary): boolean;
  /** Whether a row with this record need not be asked again when the command is repeated. */
  isDone(job: J, summary: RowSummary): boolean;
  /** Whether a model has to be asked for a row. */
  asks(job: J): boolean;
  /**
   * Asks what is to be asked about one row, or the rows of a chain in their order, and gives the record of each. A record is on the disk
   * before the next one is asked for; behind one that is not done no other is. Rows that need no model ask nothing.
   */
  solve(jobs: readonly J[], ask: AskModel): AsyncIterable<Solved<J>>;
  /** Called before anything is asked or written, where a row is not done. @throws UserError where it cannot go on in this way */
  ready?(): Promise<void>;
  /** Opened only when a row has to be asked. A notice is kept by the run; `more` is told behind it, and is not. */
  openBackend(notice: (text: string, more?: string) => void): Promise<Backend>;
  /**
   * All that a row is asked, one call each, where every reply can be used. It is for sizes alone, and may stand for a request that
   * cannot be made yet.
   */
  questions(job: J): Promise<readonly Question[]>;
  /** The reply that the data has to a row: its size stands for that of the model's. */
  truth?(job: J): Promise<string>;
  /** Where a row lies, and its bytes there; undefined where another job stands for the same prompt. */
  placeOf?(job: J): { readonly place: string; readonly bytes: number } | undefined;
  readonly sent: Sent;
  /** What a row's first request would be made from and with now, in one text. */
  madeFrom(job: J): string;
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
}

/** How rows are solved that stand by themselves, or that find in the journal what came before. */
export function oneByOne<J extends StageJob, More extends readonly unknown[]>(
  recordOf: (job: J, ask: AskModel, ...more: More) => Promise<JournalRecord>,
) {
  return async function* (jobs: readonly J[], ask: AskModel, ...more: More): AsyncGenerator<Solved<J>> {
    for (const job of jobs) yield { job, record: await recordOf(job, ask, ...more) };
  };
}

/** What is sent beside the messages, as far as it changes while rows are asked: parameters that a server rejects are dropped. */
interface Sent {
  /** The dropped parameters; empty for none. */
  now(): string;
  /** What the run's identity says of it: it lags behind until a reply shows whether the run may go on without them. */
  entered(): string;
  /** @throws UserError (78) where rows of an earlier session were asked with what is dropped now */
  enter(): void;
}

/** The row's record in short; undefined where it has none, or a stale one. */
export function summaryOf<J extends StageJob>(
  stage: Pick<Stage<J>, 'run' | 'isStale'>,
  job: J,
): RowSummary | undefined {
  const summary = stage.run.journal.summaryOf(job.id);
  return summary === undefined || stage.isStale(job, summary) ? undefined : summary;
}

/** Whether the row is there and need not be asked again. */
export function isDone<J extends StageJob>(stage: Stage<J>, job: J): boolean {
  const summary = summaryOf(stage, job);
  return summary !== undefined && stage.isDone(job, summary);
}
