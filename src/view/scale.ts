// What a chart spans, and where a value lies on it.

import type { Ends } from '../core/figures.js';
import type { Measure } from '../core/measures.js';

export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

/** Of scores from 0 to 100. */
export const SCORES: Scale = { from: 0, to: 100, ticks: [0, 25, 50, 75, 100] };

/** A measure's range in quarters; where it has no end, as far as these figures and their intervals reach. */
export function scaleOf({ range: [low, high] }: Measure, estimates: readonly (Marked | null | undefined)[]): Scale {
  if (Number.isFinite(low) && Number.isFinite(high)) return quarters(low, high);
  const shown = estimates.flatMap((estimate) => estimate ?? []);
  const reached = shown.flatMap(({ value, low, high }) => [low ?? value, high ?? value]);
  if (reached.length === 0) return SCORES;
  const step = tickStep(
    Math.max(...reached) - Math.min(Number.isFinite(low) ? low : Number.POSITIVE_INFINITY, ...reached),
  );
  const from = Number.isFinite(low) ? low : Math.floor(Math.min(...reached) / step) * step;
  const to = Number.isFinite(high) ? high : Math.ceil(Math.max(...reached) / step) * step;
  return quarters(from, Math.max(to, from + step));
}

function quarters(from: number, to: number): Scale {
  return {
    from,
    to,
    ticks: [0, 1, 2, 3, 4].map((quarter) => Number((from + ((to - from) * quarter) / 4).toPrecision(6))),
  };
}

/** A round number of which a few make up the span. */
function tickStep(span: number): number {
  const size = 10 ** Math.floor(Math.log10(span || 1));
  return span / size > 5 ? 2 * size : span / size > 2 ? size : size / 2;
}

/** Differences of scores around 0. */
export function scaleAround(values: readonly number[]): Scale {
  // No difference is larger than 100, whatever the interval of a few trajectories says: what is beyond is cut off at the edge.
  const most = Math.min(100, Math.max(5, ...values.map(Math.abs)));
  const step = [2.5, 5, 10, 25].find((size) => size * 2 >= most) ?? 50;
  const end = Math.ceil(most / step) * step;
  const ticks = Array.from({ length: Math.round((2 * end) / step) + 1 }, (_, i) => i * step - end);
  return { from: -end, to: end, ticks };
}

type Marked = Ends & { readonly value: number };

/** A dot with its interval, by percent of the track, so that a chart of any width keeps its proportions. */
export function mark(estimate: Marked | null | undefined, scale: Scale, radius: number, y = 50): string {
  if (!estimate) return '';
  const { value, low, high } = estimate;
  const reach =
    typeof low !== 'number' || typeof high !== 'number'
      ? ''
      : `<line class="reach" x1="${x(low, scale)}" x2="${x(high, scale)}" y1="${y}%" y2="${y}%"/>`;
  return `${reach}<circle class="dot" cx="${x(value, scale)}" cy="${y}%" r="${radius}"/>`;
}

/** How far from the left a value stands; what is beyond the scale stands at its edge. */
export function x(value: number, { from, to }: Scale): string {
  const share = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return cssPercent(share * 100);
}

/** A percentage as drawings and styles take it. */
export function cssPercent(percent: number): string {
  return `${Number(percent.toFixed(2))}%`;
}
