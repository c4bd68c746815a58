// What a run that is a rollout scores: by its ratings, or where nothing was rated by the measure that stands for it.

import { measureOf } from '../../judge/modes.js';
import { leadingMeasure } from '../../report/score-table.js';
import type { RolloutCard } from '../../rollout-card.js';
import { rolloutCard } from '../../score/rollout/card.js';
import type { JudgedRow, ScoreCard } from '../../types.js';

/** The curves of a run, and its drift beside the rows of a teacher-forced one; undefined where it is no rollout. */
export function rolloutOf(
  rows: readonly JudgedRow[],
  card: ScoreCard,
  forced?: readonly JudgedRow[],
): RolloutCard | undefined {
  const measure = leadingMeasure(card, measureOf);
  const figure = measure === undefined ? { scale: 'score' as const } : { measure, scale: measureOf(measure).range };
  return rolloutCard(rows, figure, forced);
}
