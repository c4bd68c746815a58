// What has come of the requests that were written into a batch folder, and what is left of them.

export interface BatchReport {
  /** The folder, absolute. */
  readonly dir: string;
  readonly model: string;
  readonly parts: readonly PartReport[];
  /** Requests that the run waits for. */
  readonly awaited: number;
  /** Those of them that were written just now. */
  readonly written: number;
  /** Whether rows whose results were awaited have been asked live. */
  readonly isLive: boolean;
  /** Whether no result can come any more that the run would take. */
  readonly isOver: boolean;
  /** What is odd about the results, a sentence each. */
  readonly notes: readonly string[];
}

interface PartReport {
  readonly file: string;
  readonly requests: number;
  readonly bytes: number;
  /** Requests of which a result is there, whether it can be used or not. */
  readonly answered: number;
  /** Those that the run waits for: rows that were asked in another way meanwhile need no result any more. */
  readonly awaited: number;
}
