// The predictions that a run of infer consists of: which rows in which repeats, and in which order they are asked for.

import type { Dataset, RowRef } from '../../bench/dataset.js';
import { ORDERS } from '../../bench/selection.js';
import { groupBy } from '../../groups.js';
import { present } from '../../present.js';
import { parseRowId, rowId } from '../../row-id.js';
import type { StageJob } from '../stage-contract.js';
import type { InferSettings } from './options.js';

/** One row in one of its repeats. */
export interface InferJob extends StageJob {
  readonly row: RowRef;
  readonly repeat: number;
}

/** Every repeat of a row that is chosen now or has a record, in the order of the data. `recorded` are the ids of the run's records. */
export function jobsOf(
  { rows, find }: Pick<Dataset, 'rows' | 'find'>,
  chosen: readonly RowRef[],
  repeats: number,
  recorded: Iterable<string>,
): InferJob[] {
  const isChosen = new Set(chosen);
  const repeatsOf = new Map<RowRef, number[]>();
  for (const row of rows) {
    if (isChosen.has(row))
      repeatsOf.set(
        row,
        Array.from({ length: repeats }, (_, repeat) => repeat),
      );
  }
  for (const id of recorded) {
    const { key = '', repeat = 0, index } = parseRowId(id) ?? {};
    const row = index === 0 ? find(key) : undefined;
    if (row === undefined || (isChosen.has(row) && repeat < repeats) || rowId(key, repeat) !== id) continue;
    const known = repeatsOf.get(row);
    if (known === undefined) repeatsOf.set(row, [repeat]);
    else known.push(repeat);
  }
  return rows.flatMap((row) => (repeatsOf.get(row) ?? []).sort((a, b) => a - b).map((repeat) => jobOf(row, repeat)));
}

function jobOf(row: RowRef, repeat: number): InferJob {
  return { id: rowId(row.key, repeat), domain: row.domain, group: row.trajectory, row, repeat };
}

/**
 * Under `prefix` the repeats of a row follow each other: they share all of their prompt, and only the first of them is paid in full.
 * Under other orders every row has been asked once before any is asked again. Whoever wants that under `prefix`, too, gives the command
 * once without repeats, and once with them.
 * @param jobs as `jobsOf` gives them for these rows and repeats
 */
export function inAskingOrder(
  jobs: readonly InferJob[],
  chosen: readonly RowRef[],
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
): InferJob[] {
  const ofRow = groupBy(jobs, ({ row }) => row);
  const ordered = ORDERS[order](chosen, sampleSeed).map((row) => present(ofRow.get(row)).slice(0, repeats));
  if (order === 'prefix') return ordered.flat();
  return Array.from({ length: repeats }, (_, repeat) => ordered.map((own) => present(own[repeat]))).flat();
}
