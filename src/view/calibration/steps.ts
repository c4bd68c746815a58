// The known order: pairs of predictions of which one is better by construction, and how the judge rates them.

import { escapeHtml } from '../../report/html/frame.js';
import { decidingP } from '../../stats/calibration/calibration.js';
import type { CalibrationPart, Step } from '../../stats/calibration/document.js';
import { chart } from '../charts.js';
import { DASH, signed, signedRange } from '../figures.js';
import { mark, scaleAround } from '../scale.js';

/** A p below this is written as a bound. */
const LEAST_P = 0.0001;

/** Empty where no step was judged. */
export function stepTable({ steps }: CalibrationPart): string {
  if (steps.length === 0) return '';
  const scale = scaleAround(steps.flatMap(({ value, low, high }) => [value, low ?? 0, high ?? 0]));
  const columns = ['Difference', '95 % interval', 'Inverted', 'p', 'Order'];
  return chart('Better > worse', columns, scale, steps, (step) => [
    false,
    `${escapeHtml(step.better)} &gt; ${escapeHtml(step.worse)}`,
    mark(step, scale, 5),
    [
      signed(step.value),
      `<span class="range">${signedRange(step) ?? DASH}</span>`,
      `${(step.inverted * 100).toFixed(1)} %`,
      chance(step),
      `<span class="${LOOKS[step.order]}">${step.order}</span>`,
    ],
  ]);
}

const LOOKS: Readonly<Record<Step['order'], string>> = { kept: 'good', inverted: 'bad', undecided: 'soft' };

function chance(step: Step): string {
  const shown = decidingP(step);
  if (shown === null) return DASH;
  return shown < LEAST_P ? `&lt;${LEAST_P}` : shown.toFixed(4);
}
