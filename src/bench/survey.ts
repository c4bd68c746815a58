// One look at every row of a dataset, each forgotten before the next: where it stands and how large it is.

import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { throwIfStopped } from '../errors.js';
import { present } from '../present.js';
import type { Place, Survey, SurveyedRow } from '../survey.js';
import type { Sample } from '../types.js';
import type { Dataset } from './dataset.js';

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
  const { rows: index, bad } = dataset;
  const files = dataset.files.map((path) => basename(path));
  const placeOf = (row: number): Place => ({ file: present(files[index.file(row)]), line: index.line(row) });
  const rows: SurveyedRow[] = [];
  for (let row = 0; row < index.length; row++) {
    // Lets a signal in: to count the tokens of a row keeps the thread busy.
    await nextTurn();
    throwIfStopped(stop);
    const [hash = '', ordinal] = index.key(row).split('-');
    const first = ordinal === undefined ? undefined : index.find(hash);
    rows.push({
      ...placeOf(row),
      domain: index.domain(row),
      id: index.id(row),
      turnIdx: index.turnIdx(row),
      trajectory: index.trajectoryNumber(row),
      ...(first !== undefined && { equals: placeOf(first) }),
      ...sizesOf(await dataset.readSample(row)),
    });
    onRow(rows.length);
  }
  return { files, rows, unusable: bad };
}
