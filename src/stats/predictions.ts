// Rows apart by prediction and by sample: judgements are averaged within predictions, and these within samples.

import { groupBy, type Some } from '../core/groups.js';
import { rowId } from '../core/row-id.js';
import type { JudgedRow } from '../core/types.js';
import type { Observation } from './clusters.js';
import { mean } from './mean.js';

/** What was judged of one prediction. */
export type Judgements = Some<JudgedRow>;

/** Everything said of one row under one key: its repeats, each a prediction with its judgements. */
export type Repeats = Some<Judgements>;

/** Rows apart by prediction (key and repeat), in the order of their first rows. */
export function predictionsOf(rows: readonly JudgedRow[]): Judgements[] {
  return isJudgedAgain(rows)
    ? [...groupBy(rows, ({ key, repeat }) => rowId(key, repeat)).values()]
    : rows.map((row) => [row]);
}

/** Predictions apart by row, in the order of their first ones. */
export function samplesOf(predictions: readonly Judgements[]): Repeats[] {
  return [...groupBy(predictions, ([{ key }]) => key).values()];
}

/** Whether any of these rows is a further judgement of its prediction. */
export function isJudgedAgain(rows: readonly JudgedRow[]): boolean {
  return rows.some(({ index }) => index > 0);
}

type FigureOf = (row: JudgedRow) => number | undefined;

/** A prediction's figure: the mean over its judgements that have it; undefined where none has. */
export function meanFigure(judgements: Judgements, figureOf: FigureOf): number | undefined {
  const [first, ...more] = judgements;
  return more.length === 0 ? figureOf(first) : meanOfKnown(judgements.map(figureOf));
}

/** One observation for each sample that has the figure in any of its repeats: their mean, in the cluster of its trajectory. */
export function observationsOf(samples: readonly Repeats[], figureOf: FigureOf): Observation[] {
  return samples.flatMap((repeats) => {
    const value = meanOfKnown(repeats.map((judgements) => meanFigure(judgements, figureOf)));
    return value === undefined ? [] : [{ value, cluster: repeats[0][0].trajectory }];
  });
}

function meanOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : mean(known);
}
