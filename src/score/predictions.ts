// The judgements of one prediction: they are averaged before anything else is reckoned from them.

import { groupBy, type Some } from '../groups.js';
import { rowId } from '../row-id.js';
import type { JudgedRow } from '../types.js';
import { mean } from './mean.js';

/** What was judged of one prediction. */
export type Judgements = Some<JudgedRow>;

/** Rows apart by prediction (key and repeat), in the order of their first rows. */
export function predictionsOf(rows: readonly JudgedRow[]): Judgements[] {
  return isJudgedAgain(rows)
    ? [...groupBy(rows, ({ key, repeat }) => rowId(key, repeat)).values()]
    : rows.map((row) => [row]);
}

/** Whether any of these rows is a further judgement of its prediction. */
export function isJudgedAgain(rows: readonly JudgedRow[]): boolean {
  return rows.some(({ index }) => index > 0);
}

/** A prediction's figure: the mean over its judgements that have it; undefined where none has. */
export function meanFigure(
  judgements: Judgements,
  figureOf: (row: JudgedRow) => number | undefined,
): number | undefined {
  const [first, ...more] = judgements;
  if (more.length === 0) return figureOf(first);
  const values = judgements.map(figureOf).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : mean(values);
}
