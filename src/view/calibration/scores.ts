// What a judge gives to every kind of prediction.

import { escapeHtml } from '../../report/html/frame.js';
import type { CalibrationPart } from '../../stats/calibration/document.js';
import { chart } from '../charts.js';
import { count, DASH, number, range } from '../figures.js';
import { mark, SCORES } from '../scale.js';

/** Empty where nothing was judged. */
export function scoreChart({ scores }: CalibrationPart): string {
  if (scores.length === 0) return '';
  return chart('Prediction', ['Score', '95 % interval', 'Rows'], SCORES, scores, (score) => [
    false,
    escapeHtml(score.variant),
    mark(score, SCORES, 5),
    [number(score), `<span class="range">${range(score) ?? DASH}</span>`, count(score.rows)],
  ]);
}
