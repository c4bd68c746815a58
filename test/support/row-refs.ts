// Rows without a file, for tests of code that selects rows.

import { createHash } from 'node:crypto';
import type { Dataset, RowRef } from '../../src/benchmark/dataset.js';

/** A key that looks like that of a benchmark row. */
export function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 24);
}

type Placed = 'position' | 'file' | 'checksum' | 'trajectoryNumber';

/** These rows as those of one file, in this order; no two are equal. Keys and trajectories are as `keyOf` makes them. */
export function rowRefs(rows: readonly Omit<RowRef, Placed>[]): RowRef[] {
  const trajectories = [...new Set(rows.map(({ trajectory }) => trajectory))];
  return rows.map((row, position) => ({
    ...row,
    ...{ position, file: 0, checksum: 0, trajectoryNumber: trajectories.indexOf(row.trajectory) },
  }));
}

/** The rows, and where to find them by their keys. */
export function dataOf(rows: readonly RowRef[]): Pick<Dataset, 'rows' | 'find'> {
  return { rows, find: (key) => rows.find((row) => row.key === key) };
}
