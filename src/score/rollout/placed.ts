// The rows of a rollout with what each counts as: judgements averaged within predictions, and these within rows.

import { groupBy } from '../../groups.js';
import { countedPoints } from '../../points.js';
import type { RolloutStep } from '../../rollout.js';
import type { JudgedRow } from '../../types.js';
import type { Scale } from '../intervals.js';
import { mean } from '../mean.js';
import { meanFigure, predictionsOf } from '../predictions.js';

/** What is told of a rollout: the score with failures at rating 1, or a measure and the range in which it ends. */
export interface RolloutFigure {
  readonly measure?: string;
  readonly scale: Scale;
}

/** A judged row that stands in a rollout. */
export type SteppedRow = JudgedRow & { readonly rollout: RolloutStep };

export function isStepped(row: JudgedRow): row is SteppedRow {
  return row.rollout !== undefined;
}

/** Whether the recorded action refers to nothing that the rollout did not show. */
export function isOnScript({ rollout }: SteppedRow): boolean {
  return rollout.offScript.length === 0;
}

/** What each row counts as, by its key; one that has no figure is absent. */
export function valuesOf<R extends JudgedRow>(
  rows: readonly R[],
  { measure }: RolloutFigure,
): ReadonlyMap<string, { readonly row: R; readonly value: number }> {
  const figureOf = (row: JudgedRow) => (measure === undefined ? countedPoints(row, 'total') : row.measures?.[measure]);
  const firsts = new Map(rows.map((row) => [row.key, row]));
  const byKey = groupBy(predictionsOf(rows), ([{ key }]) => key);
  const found = [...byKey].flatMap(([key, repeats]) => {
    const values = repeats.map((judgements) => meanFigure(judgements, figureOf)).filter((value) => value !== undefined);
    const row = firsts.get(key);
    return row === undefined || values.length === 0 ? [] : [[key, { row, value: mean(values) }] as const];
  });
  return new Map(found);
}

/** A row of a rollout beside the teacher-forced predictions of the same row. */
export interface RowPair {
  readonly row: SteppedRow;
  readonly forced: number;
  /** Rollout less teacher-forced. */
  readonly difference: number;
}

/** What the rows of a teacher-forced run count as, by key. */
export type Partners = ReadonlyMap<string, { readonly value: number }>;

/** The rows that have the figure in both runs. */
export function pairsOf(rows: readonly SteppedRow[], partners: Partners, figure: RolloutFigure): RowPair[] {
  return [...valuesOf(rows, figure)].flatMap(([key, { row, value }]) => {
    const partner = partners.get(key);
    if (partner === undefined) return [];
    const difference = value - partner.value;
    // Equal ratings in another order may differ in the last bit.
    return [{ row, forced: partner.value, difference: Math.abs(difference) < 1e-9 ? 0 : difference }];
  });
}
