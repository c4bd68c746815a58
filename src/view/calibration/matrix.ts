// The matrix of damages by dimensions: what each damage costs, which dimensions moved, and whether the judge sees it.

import type { EstimateDocument } from '../../core/document.js';
import { dimensionName } from '../../core/table.js';
import { DIMENSIONS } from '../../core/types.js';
import { helpOf } from '../../judge/calibrate/variants.js';
import { escapeHtml } from '../../report/html/frame.js';
import type { CalibrationPart, Loss } from '../../stats/calibration/document.js';
import { DASH, signed, signedRange } from '../figures.js';
import { sightMark } from './sight.js';

/** Empty where no damage was judged. */
export function damageMatrix({ losses }: CalibrationPart): string {
  if (losses.length === 0) return '';
  const head = ['', 'Lost', ...DIMENSIONS.map(dimensionName)].map((name) => `<th scope="col" class="n">${name}</th>`);
  const lines = losses.map(
    (loss) =>
      `<tr><th scope="row">${escapeHtml(loss.variant)}<small>${escapeHtml(helpOf(loss.variant))}</small></th>${cells(loss)}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="region" aria-label="Damages by dimensions"><table class="matrix damages"><thead><tr><th scope="col">Damage</th>${head.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

function cells(loss: Loss): string {
  const figures = DIMENSIONS.map((name) => cell(loss.dimensions[name], loss.most === name ? 'b' : 'span'));
  return `<td class="n">${sightMark(loss.sight)}</td>${cell(loss)}${figures.join('')}`;
}

/**
 * A loss as a number of points; a gain has its minus.
 * @param tag stands around a dimension that moved
 */
function cell(estimate: EstimateDocument | undefined, tag?: 'b' | 'span'): string {
  if (estimate === undefined) return `<td class="n">${DASH}</td>`;
  const plain = (text: string) => text.replaceAll('+', '');
  const interval = signedRange(estimate);
  const { low, high } = estimate;
  const moved = tag !== undefined && low !== null && high !== null && (low > 0 || high < 0);
  const value = plain(signed(estimate.value));
  const under = interval === undefined ? 'no interval' : plain(interval);
  return `<td class="n">${moved ? `<${tag} class="moved">${value}</${tag}>` : value}<span class="range under">${under}</span></td>`;
}
