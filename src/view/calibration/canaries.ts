// Tricks in predictions: how many points each one buys.

import { helpOf } from '../../judge/calibrate/variants.js';
import { escapeHtml } from '../../report/html/frame.js';
import type { CalibrationPart } from '../../stats/calibration/document.js';
import { chart } from '../charts.js';
import { count, DASH, signed, signedRange } from '../figures.js';
import { mark, scaleAround } from '../scale.js';

/** Empty where no trick was judged. */
export function canaryChart({ canaries }: CalibrationPart): string {
  if (canaries.length === 0) return '';
  const scale = scaleAround(canaries.flatMap(({ value, low, high }) => [value, low ?? 0, high ?? 0]));
  return chart('Trick', ['Bought', '95 % interval', 'Rows'], scale, canaries, (gain) => [
    false,
    `${escapeHtml(gain.variant)}<small>${escapeHtml(helpOf(gain.variant))}</small>`,
    mark(gain, scale, 5),
    [signed(gain.value), `<span class="range">${signedRange(gain) ?? DASH}</span>`, count(gain.rows)],
  ]);
}
