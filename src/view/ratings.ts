// How often each rating was given, as a chart.

import { possibleRating } from '../core/points.js';
import { dimensionName } from '../core/table.js';
import { DIMENSIONS, type Dimension, type JudgedRow } from '../core/types.js';
import { count, DASH } from './figures.js';
import { cssPercent } from './scale.js';

/** How often each rating was given, by dimension, over valid rows. */
export function ratingChart(rows: readonly JudgedRow[]): string {
  const lines = DIMENSIONS.map((dimension) => ratingLine(dimension, ratingsOf(rows, dimension)));
  const keys = [1, 2, 3, 4, 5].map(
    (rating) =>
      `<li><svg aria-hidden="true"><rect class="f${rating}" width="100%" height="100%" rx="2"/></svg>${rating}</li>`,
  );
  const head = ['1', '2', '3', '4', '5', 'Mean'].map(
    (name) => `<th scope="col" class="${ratingClass(name)}">${name}</th>`,
  );
  return [
    `<ul class="legend" aria-hidden="true">${keys.join('')}</ul>`,
    '<div class="scroll"><table class="chart one"><thead><tr><th scope="col">Dimension</th><td class="t"></td>',
    `${head.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`,
  ].join('');
}

function ratingsOf(rows: readonly JudgedRow[], dimension: Dimension): number[] {
  return rows.flatMap((row) => possibleRating(row, dimension) ?? []);
}

/** Fractions, as panels give them, are counted with the nearest whole rating; the mean is theirs as they are. */
function ratingLine(dimension: Dimension, ratings: readonly number[]): string {
  const total = ratings.length;
  const counts = [1, 2, 3, 4, 5].map((rating) => ratings.filter((each) => Math.round(each) === rating).length);
  let before = 0;
  const bars = counts.map((times, index) => {
    const share = total === 0 ? 0 : (times / total) * 100;
    const from = before;
    before += share;
    if (share === 0) return '';
    const label =
      share < 7
        ? ''
        : `<text class="o${index + 1}" x="${cssPercent(from + share / 2)}" y="52%">${Math.round(share)} %</text>`;
    return `<rect class="f${index + 1}" x="${cssPercent(from)}" width="${cssPercent(share)}" height="100%"/>${label}`;
  });
  const mean = ratings.reduce((sum, rating) => sum + rating, 0) / total;
  const cells = [
    ...counts.map((times, index) => `<td class="${ratingClass(String(index + 1))}">${count(times)}</td>`),
    `<td class="n">${total === 0 ? DASH : mean.toFixed(2)}</td>`,
  ];
  return `<tr><th scope="row">${dimensionName(dimension)}</th><td class="t"><svg class="stack" aria-hidden="true">${bars.join('')}</svg></td>${cells.join('')}</tr>`;
}

function ratingClass(heading: string): string {
  return heading === 'Mean' ? 'n' : 'n wide';
}
