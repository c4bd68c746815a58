// What a stage is: the rows that a run is about, and what infer or judge does with each of them.

import type { List } from '../list.js';
import type { Price } from '../price.js';
import type { JournalRecord } from '../run/journal-record.js';
import type { Manifest } from '../run/manifest.js';
import type { Backend, Domain, Io, Job, ModelOutcome, ModelRequest, Question } from '../types.js';
import type { RowSummary } from './row-summary.js';
import type { Run } from './run.js';

/** One row to be asked once: a row of the data in one of its repeats, or one judgement of that. */
export interface StageJob extends Job {
  /** The journal's id of the row and repeat, and of the judgement. */
  readonly id: string;
  readonly domain: Domain;
  /** Set where an earlier job stands for the same row and repeat, which is chosen once. */
  readonly isFurther?: true | undefined;
}

export interface Stage<J extends StageJob> {
  readonly io: Io;
  readonly run: Run;
  readonly settings: { readonly fresh: boolean };
  /** Every row that the run chose or has a record of, in output order. */
  readonly rows: List<J>;
  /** The chosen ones in the order of asking, and whatever else they need to have been asked before. */
  readonly order: List<J>;
  /** What of this is no row of the output: it is kept in the journal, and costs as much. */
  readonly between?: List<J>;
  /** Whether a record was made from something that has changed since: it then counts as not there. */
  isStale(job: J, summary: RowSummary): boolean;
  /** Whether a row with this record need not be asked again when the command is repeated. */
  isDone(job: J, summary: RowSummary): boolean;
  /** Whether a model has to be asked for a row. */
  asks(job: J): boolean;
  /** The record of a row that needs no model. */
  settleAlone(job: J): Promise<JournalRecord>;
  /** Called before anything is asked or written, where a row is not done. @throws UserError where it cannot go on in this way */
  ready?(): Promise<void>;
  /** What a row was to be asked comes to nothing in this session. */
  left?(job: J): void;
  /** Opened only when a row has to be asked. A notice is kept by the run; `more` is told behind it, and is not. */
  openBackend(notice: (text: string, more?: string) => void): Promise<Backend>;
  request(job: J): Promise<ModelRequest>;
  /** What the first request for a row would be made from and with now, in one text. */
  madeFrom?(job: J): string;
  /**
   * In place of `request`: the reply to a first request of so many characters was found, which was made from that. If it would be made
   * from something else now, since what is dropped was found out while the reply was read, the reply is not kept.
   */
  recalled?(job: J, chars: number, madeFrom: string): void;
  /**
   * All that a row is asked, one call each, where every reply can be used; `request` alone where absent. It is for sizes alone, and may
   * stand for a request that cannot be made yet.
   */
  questions?(job: J): Promise<readonly Question[]>;
  /** The reply that the data has to a row: its size stands for that of the model's. */
  truth?(job: J): Promise<string>;
  /** Where a row lies, and its bytes there; undefined where another job stands for the same prompt. */
  placeOf?(job: J): { readonly place: string; readonly bytes: number } | undefined;
  /** The record of an outcome, or 'again' to have the row asked again at once. */
  settle(job: J, outcome: Exclude<ModelOutcome, { status: 'interrupted' }>): Promise<JournalRecord | 'again'>;
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
