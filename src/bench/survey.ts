// One look at every row of a dataset, each forgotten before the next: where it stands and how large it is.

import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { throwIfStopped } from '../errors.js';
import { present } from '../present.js';
import type { Place, Survey, SurveyedRow } from '../survey.js';
import type { Sample } from '../types.js';
import type { Dataset, RowRef } from './dataset.js';

/** Tokens of what the world model is sent for a row, and of the observation that it should predict. */
export type SizesOf = (sample: Sample) => Pick<SurveyedRow, 'contextTokens' | 'truthTokens'>;

/**
 * @param onRow is told how many rows have been read
 * @throws UserError: 65 where a file changes meanwhile, 130 or 143 once `stop` is aborted.
 */
export async function surveyRows(
  dataset: Dataset,
  sizesOf: SizesOf,
  stop: AbortSignal,
  onRow: (rows: number) => void,
): Promise<Survey> {
  const files = dataset.files.map((path) => basename(path));
  const placeOf = ({ file, line }: RowRef): Place => ({ file: present(files[file]), line });
  const rows: SurveyedRow[] = [];
  for (const row of dataset.rows) {
    // Lets a signal in: to count the tokens of a row keeps the thread busy.
    await nextTurn();
    throwIfStopped(stop);
    const [hash = '', ordinal] = row.key.split('-');
    const first = ordinal === undefined ? undefined : dataset.find(hash);
    rows.push({
      ...placeOf(row),
      domain: row.domain,
      id: row.id,
      turnIdx: row.turnIdx,
      trajectory: row.trajectoryNumber,
      ...(first !== undefined && { equals: placeOf(first) }),
      ...sizesOf(await dataset.readSample(row)),
    });
    onRow(rows.length);
  }
  return { files, rows, unusable: dataset.bad };
}
