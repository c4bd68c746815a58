// Indexes of rows that lie nowhere, for tests of what chooses among rows.

import { createHash } from 'node:crypto';
import { ColumnsBuilder } from '../../src/bench/row-columns.js';
import { RowIndex, type RowRef } from '../../src/bench/row-index.js';

/** A key such as a row's of the benchmark. */
export function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 24);
}

/** The index of these rows, which are of one file and stand in it in this order. Keys and trajectories are as `keyOf` makes them. */
export function rowIndexOf(rows: readonly Omit<RowRef, 'position' | 'file'>[]): RowIndex {
  const columns = new ColumnsBuilder();
  for (const row of rows) columns.add({ ...row, id: JSON.stringify(row.id), checksum: 0 });
  columns.endFile();
  return new RowIndex(columns.columns());
}
