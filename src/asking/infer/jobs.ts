// The predictions that a run of infer consists of: which rows in which repeats, and in which order they are asked for.

import type { RowRef } from '../../bench/dataset.js';
import { ORDERS } from '../../bench/selection.js';
import { parseRowId, rowId } from '../../row-id.js';
import type { StageJob } from '../stage-contract.js';
import type { InferSettings } from './options.js';

/** One row in one of its repeats. */
export interface InferJob extends StageJob {
  readonly row: RowRef;
  readonly repeat: number;
}

/** Every repeat of a row that is chosen now or has a record, in the order of `rows`. `chosen` are some of these; `records` are by id. */
export function jobsOf(
  rows: readonly RowRef[],
  chosen: readonly RowRef[],
  repeats: number,
  records: ReadonlyMap<string, unknown>,
): InferJob[] {
  const wanted = new Set(chosen);
  const recorded = recordedRepeats(records.keys());
  const jobs: InferJob[] = [];
  for (const row of rows) {
    const last = Math.max(wanted.has(row) ? repeats : 0, recorded.get(row.key) ?? 0);
    for (let repeat = 0; repeat < last; repeat++) {
      const id = rowId(row.key, repeat);
      if ((wanted.has(row) && repeat < repeats) || records.has(id)) {
        jobs.push({ id, domain: row.domain, group: row.trajectory, row, repeat });
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
  jobs: readonly InferJob[],
  chosen: readonly RowRef[],
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
): InferJob[] {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const rows = ORDERS[order](chosen, sampleSeed);
  return Array.from({ length: repeats }, (_, repeat) => repeat).flatMap((repeat) =>
    rows.flatMap((row) => byId.get(rowId(row.key, repeat)) ?? []),
  );
}
