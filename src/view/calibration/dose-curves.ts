// Dose curves: points lost as more of what is determined is damaged, a small drawing for each domain, and the figures as a table.

import { EQUIVALENT_POINTS } from '../../core/calibration.js';
import { domainName } from '../../core/domains.js';
import { escapeHtml } from '../../report/html/frame.js';
import type { Calibration, CalibrationPart, Loss } from '../../stats/calibration/document.js';
import { DASH, signed, signedRange } from '../figures.js';
import { cssPercent, type Scale, x } from '../scale.js';

/** A loss of graded damage. */
interface Dosed {
  readonly dose: number;
  readonly loss: Loss;
}

interface Panel {
  readonly name: string;
  readonly losses: readonly Dosed[];
  readonly isSum: boolean;
}

/** Empty where no graded damage was judged. */
export function doseCurves({ overall, domains }: Calibration): string {
  const panels = [
    panelOf('All', overall, true),
    ...Object.entries(domains).map(([domain, part]) => panelOf(domainName(domain), part, false)),
  ].filter(({ losses }) => losses.length > 0);
  if (panels.length === 0) return '';
  const scale = scaleFor(panels);
  const figures = panels.map(
    ({ name, losses, isSum }) =>
      `<figure${isSum ? ' class="sum"' : ''}><figcaption>${escapeHtml(name)}</figcaption><svg class="curve" aria-hidden="true">${drawing(losses, scale)}</svg></figure>`,
  );
  return `<div class="curves">${figures.join('')}</div>${table(panels)}`;
}

function panelOf(name: string, { losses }: CalibrationPart, isSum: boolean): Panel {
  const dosed = losses.flatMap((loss) => (loss.dose === null ? [] : [{ dose: loss.dose, loss }]));
  return { name, losses: dosed.sort((a, b) => a.dose - b.dose), isSum };
}

/** From 0, or the lowest loss where one is negative, to the highest; what intervals reach beyond is cut off at 100. */
function scaleFor(panels: readonly Panel[]): Scale {
  const values = panels.flatMap(({ losses }) =>
    losses.flatMap(({ loss }) => [loss.value, loss.low ?? 0, loss.high ?? 0]),
  );
  const high = Math.min(100, Math.max(10, ...values));
  const low = Math.max(-100, Math.min(0, ...values));
  const step = [5, 10, 20].find((size) => (high - low) / size <= 5) ?? 25;
  const [from, to] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  return { from, to, ticks: Array.from({ length: Math.round((to - from) / step) + 1 }, (_, i) => from + i * step) };
}

/** Of the width; what is left keeps dots and labels off the edges. */
const FIRST = 4;
const WIDTH = 90;

function drawing(losses: readonly Dosed[], scale: Scale): string {
  const most = Math.max(...losses.map(({ dose }) => dose));
  const at = (dose: number) => cssPercent(FIRST + (WIDTH * dose) / most);
  const y = (points: number) => cssPercent(100 - Number.parseFloat(x(points, scale)));
  const line = (kind: string, [x1, y1]: Point, [x2, y2]: Point) =>
    `<line class="${kind}" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
  const across = (kind: string, points: number) => line(kind, ['0', y(points)], ['100%', y(points)]);
  const grid = scale.ticks.map(
    (tick) =>
      `${across(tick === 0 ? 'zero-line' : 'grid', tick)}<text class="end" x="-6" y="${y(tick)}" dy="0.32em">${String(tick).replace('-', '−')}</text>`,
  );
  const points = [{ dose: 0, loss: undefined }, ...losses].map(
    ({ dose, loss }): Point => [at(dose), y(loss?.value ?? 0)],
  );
  const curve = points.slice(1).map((point, index) => line('path', points[index] ?? point, point));
  const marks = losses.map(({ dose, loss: { value, low, high } }) => {
    const reach = low === null || high === null ? '' : line('reach', [at(dose), y(low)], [at(dose), y(high)]);
    return `${reach}<circle class="dot" cx="${at(dose)}" cy="${y(value)}" r="4"/>`;
  });
  const labels = losses.map(
    ({ dose }) => `<text class="mid" x="${at(dose)}" y="100%" dy="1.5em">${shareText(dose)}</text>`,
  );
  return [...grid, across('limit', EQUIVALENT_POINTS), ...curve, ...marks, ...labels].join('');
}

type Point = readonly [x: string, y: string];

/** `1/8`, `2/3`; a share that is no such fraction in percent. */
function shareText(share: number): string {
  for (let whole = 2; whole <= 10; whole++) {
    const part = Math.round(share * whole);
    if (part > 0 && Math.abs(share - part / whole) < 1e-9) return `${part}/${whole}`;
  }
  return `${Number((share * 100).toFixed(1))} %`;
}

/** The same in figures: a line for each drawing, a column for each dose. */
function table(panels: readonly Panel[]): string {
  const doses = [...new Set(panels.flatMap(({ losses }) => losses.map(({ dose }) => dose)))].sort((a, b) => a - b);
  const head = doses.map((dose) => `<th scope="col" class="n">${shareText(dose)}</th>`);
  const [sum, ...others] = [...panels].sort((a, b) => Number(b.isSum) - Number(a.isSum));
  const lines = [...others, ...(sum === undefined ? [] : [sum])].map(({ name, losses, isSum }) => {
    const cells = doses.map((dose) => cell(losses.find((each) => each.dose === dose)));
    return `<tr${isSum ? ' class="sum"' : ''}><th scope="row">${escapeHtml(name)}</th>${cells.join('')}</tr>`;
  });
  return `<div class="scroll"><table class="matrix doses"><thead><tr><th scope="col">Points lost at a dose of</th>${head.join('')}</tr></thead><tbody>${lines.join('')}</tbody></table></div>`;
}

function cell(found: Dosed | undefined): string {
  if (found === undefined) return `<td class="n">${DASH}</td>`;
  return `<td class="n">${signed(found.loss.value).replace('+', '')}<span class="range under">${signedRange(found.loss)?.replaceAll('+', '') ?? 'no interval'}</span></td>`;
}
