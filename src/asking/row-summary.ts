// What stays in memory of a finished row.

import type { Usage } from '../types.js';
import { isCounted } from '../usage.js';

/** What a finished row has come to. */
export interface RowState {
  readonly status: 'ok' | 'failed';
  readonly class?: string | undefined;
  /** Of a failed row. */
  readonly reason?: string | undefined;
  readonly flags: readonly string[];
}

/** What stays in memory of a finished row. */
export interface RowSummary extends RowState {
  /** What the row's record has cost, over all its tries. */
  readonly usage: Usage;
  /** Characters that were sent, where one call is all that the record took. */
  readonly chars?: number | undefined;
  /** Tries of all its calls; 0 for a record that needed none. */
  readonly attempts: number;
  /** Calls that the usage is of. */
  readonly calls: number;
  /** What earlier records of the row took that asked for it, too; absent where there is none. */
  readonly earlier?: readonly Taken[];
  /** What the record was made from and with (see `AskedStage.stampOf`). */
  readonly stamp: string;
}

/** What one record took. */
type Taken = Pick<RowSummary, 'usage' | 'calls'>;

/** What is kept of earlier records of a row that nobody counted: one text says it of all. */
const UNCOUNTED: readonly Taken[] = [{ usage: {}, calls: 1 }];

/** The summary of a row's record behind that of the record before, whose place it takes: what that one took is kept. */
export function behind(before: RowSummary | undefined, summary: RowSummary): RowSummary {
  if (before === undefined) return summary;
  const earlier = earlierOf(before);
  return earlier === undefined ? summary : { ...summary, earlier };
}

function earlierOf({ attempts, usage, calls, earlier }: RowSummary): readonly Taken[] | undefined {
  if (attempts === 0) return earlier;
  if (isCounted(usage)) return [...(earlier ?? []), { usage, calls }];
  return earlier ?? UNCOUNTED;
}
