// The predictions that a run of infer consists of: which rows in which repeats, and in which order they are asked for.

import type { RowIndex } from '../../bench/row-index.js';
import { ORDERS } from '../../bench/selection.js';
import { parseRowId, rowId } from '../../row-id.js';
import type { Journal } from '../../run/journal.js';
import type { StageJob } from '../stage-contract.js';
import type { InferSettings } from './options.js';

/** One row in one of its repeats. */
export interface InferJob extends StageJob {
  /** The row's number in the data. */
  readonly row: number;
  readonly repeat: number;
}

/** Every repeat of a row that is chosen now or has a record, in the order of `rows`. `chosen` are some of these; `records` are the run's. */
export function jobsOf(
  rows: RowIndex,
  chosen: Uint32Array,
  repeats: number,
  records: Pick<Journal<unknown>, 'ids' | 'has'>,
): InferJob[] {
  const wanted = new Set(chosen);
  const recorded = recordedRepeats(records.ids());
  const jobs: InferJob[] = [];
  for (let row = 0; row < rows.length; row++) {
    const key = rows.key(row);
    const last = Math.max(wanted.has(row) ? repeats : 0, recorded.get(key) ?? 0);
    for (let repeat = 0; repeat < last; repeat++) {
      const id = rowId(key, repeat);
      if ((wanted.has(row) && repeat < repeats) || records.has(id)) {
        jobs.push({ id, domain: rows.domain(row), group: rows.trajectory(row), row, repeat });
      }
    }
  }
  return jobs;
}

/** How many repeats of each row there are records of, by the row's key. */
function recordedRepeats(ids: Iterable<string>): Map<string, number> {
  const repeats = new Map<string, number>();
  for (const id of ids) {
    const { key, repeat } = parseRowId(id) ?? {};
    if (key !== undefined && repeat !== undefined) repeats.set(key, Math.max(repeats.get(key) ?? 0, repeat + 1));
  }
  return repeats;
}

/** Repeats come one after the other, so that every row has been asked once before any is asked again. */
export function inAskingOrder(
  rows: RowIndex,
  jobs: readonly InferJob[],
  chosen: Uint32Array,
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
): InferJob[] {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const ordered = Array.from(ORDERS[order](rows, chosen, sampleSeed));
  return Array.from({ length: repeats }, (_, repeat) => repeat).flatMap((repeat) =>
    ordered.flatMap((row) => byId.get(rowId(rows.key(row), repeat)) ?? []),
  );
}
