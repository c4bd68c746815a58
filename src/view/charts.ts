// Charts as markup: inline SVG beside the figures themselves, so that nobody has to read a chart.

import type { Measure } from '../core/measures.js';
import type { Ends } from '../core/printable.js';
import { decimalsOf } from '../report/score-table.js';
import { type Child, html, type Markup, table } from './html.js';
import { count, DASH, number, range, signed, signedRange } from './parts.js';

/** What a chart spans. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

type Estimate = Ends & { readonly value: number; readonly rows?: number };

/** A line of a chart: a figure of this run, and beside it that of another. */
export interface ChartLine {
  readonly name: Child;
  readonly estimate: Estimate | null | undefined;
  readonly other?: Estimate | undefined;
  readonly isSum?: boolean;
  /** What stands behind the figure and its interval. */
  readonly cells?: readonly Child[];
}

/** Values of a measure with their 95 % intervals; where another run is named, with its values beside them. */
export function intervalChart(
  first: string,
  lines: readonly ChartLine[],
  measure: Measure,
  otherName?: string,
): Markup | undefined {
  const decimals = decimalsOf(measure);
  const scale = scaleOf(
    measure,
    lines.flatMap(({ estimate, other }) => [estimate, other]),
  );
  const heads = ['Score', '95 % interval', ...(otherName === undefined ? [] : [otherName]), 'Rows'];
  const cells = ({ estimate, other }: ChartLine) => [
    number(estimate, decimals),
    html`<span class="range">${range(estimate, decimals) ?? DASH}</span>`,
    ...(otherName === undefined ? [] : [number(other, decimals)]),
    count(estimate?.rows),
  ];
  return chart(first, heads, scale, lines, cells);
}

/** Differences with their 95 % intervals around 0. @param heads of the difference, and of the cells of each line */
export function differenceChart(
  first: string,
  [difference, ...heads]: readonly string[],
  lines: readonly ChartLine[],
): Markup | undefined {
  const scale = scaleAround(lines.flatMap(({ estimate }) => estimate ?? []).flatMap(ends));
  return chart(first, [difference, '95 % interval', ...heads], scale, lines, ({ estimate, cells = [] }) => [
    signed(estimate),
    html`<span class="range">${signedRange(estimate) ?? DASH}</span>`,
    ...cells,
  ]);
}

function ends({ value, low, high }: Estimate): number[] {
  return [value, low ?? value, high ?? value];
}

/** A table whose second column is a drawing on one scale. On a phone the columns behind the first two figures are left out. */
function chart(
  first: string,
  heads: readonly Child[],
  scale: Scale,
  lines: readonly ChartLine[],
  cellsOf: (line: ChartLine) => readonly Child[],
): Markup | undefined {
  if (lines.length === 0) return undefined;
  const isAround = scale.from === -scale.to;
  const ticks = scale.ticks.map((tick) => {
    const anchor = tick === scale.from ? 'start' : tick === scale.to ? 'end' : 'middle';
    const text = `${isAround && tick > 0 ? '+' : ''}${tickText(tick)}`;
    return html`<text x="${x(tick, scale)}" y="80%" text-anchor="${anchor}">${text}</text>`;
  });
  const grid = scale.ticks.map((tick) => {
    const at = x(tick, scale);
    return html`<line class="${tick === 0 && isAround ? 'zero-line' : 'grid'}" x1="${at}" x2="${at}" y1="0" y2="100%"/>`;
  });
  const rows = lines.map((line) => {
    // Two runs lie one above the other, so that neither hides the other's interval.
    const { estimate, other } = line;
    const marks = other
      ? html`<g class="other">${mark(other, scale, 4, 72)}</g>${mark(estimate, scale, 5, 32)}`
      : mark(estimate, scale, 5);
    const drawing = html`<svg class="track" aria-hidden="true">${grid}${marks}</svg>`;
    return { cells: [line.name, drawing, ...cellsOf(line)], isSum: line.isSum };
  });
  const axis = html`<svg class="axis" aria-hidden="true">${ticks}</svg>`;
  return table([first, axis, ...heads], rows, { look: 'chart', classOf: chartClass });
}

/** The classes of a chart's columns. */
export function chartClass(column: number): string {
  return ['', 't', 'n', 'n'][column] ?? 'n wide';
}

/** A dot with its interval, by percent of the track, so that a chart of any width keeps its proportions. */
function mark(estimate: Estimate | null | undefined, scale: Scale, radius: number, y = 50): Child {
  if (!estimate) return undefined;
  const { value, low, high } = estimate;
  const reach =
    typeof low === 'number' &&
    typeof high === 'number' &&
    html`<line class="reach" x1="${x(low, scale)}" x2="${x(high, scale)}" y1="${y}%" y2="${y}%"/>`;
  return html`${reach}<circle class="dot" cx="${x(value, scale)}" cy="${y}%" r="${radius}"/>`;
}

/** A measure's range in quarters; where it has no end, as far as these figures and their intervals reach. */
export function scaleOf({ range: [least, most] }: Measure, estimates: readonly (Estimate | null | undefined)[]): Scale {
  const reached = estimates.flatMap((estimate) => estimate ?? []).flatMap(ends);
  if (reached.length === 0) reached.push(0, 100);
  const isWhole = Number.isFinite(least) && Number.isFinite(most);
  const low = Number.isFinite(least) ? least : Math.min(...reached);
  const high = Number.isFinite(most) ? most : Math.max(...reached);
  const step = isWhole ? (high - low) / 4 : tickStep(high - low);
  const from = isWhole ? low : Math.floor(low / step) * step;
  return stepped(from, step, Math.max(1, Math.ceil((high - from) / step)));
}

/** A round number, a few of which make up the span. */
function tickStep(span: number): number {
  const size = 10 ** Math.floor(Math.log10(span || 1));
  return span / size > 5 ? 2 * size : span / size > 2 ? size : size / 2;
}

/** Differences of scores around 0. */
function scaleAround(values: readonly number[]): Scale {
  // No difference is larger than 100, whatever the interval of a few trajectories says: what is beyond is cut off at the edge.
  const most = Math.min(100, Math.max(5, ...values.map(Math.abs)));
  const step = [2.5, 5, 10, 25].find((size) => size * 2 >= most) ?? 50;
  const steps = Math.ceil(most / step);
  return stepped(-steps * step, step, 2 * steps);
}

function stepped(from: number, step: number, steps: number): Scale {
  const ticks = Array.from({ length: steps + 1 }, (_, at) => Number((from + at * step).toPrecision(6)));
  return { from, to: from + steps * step, ticks };
}

/** How far from the left a value stands; what is beyond the scale stands at its edge. */
export function x(value: number, { from, to }: Scale): string {
  return cssPercent(100 * Math.min(1, Math.max(0, (value - from) / (to - from))));
}

/** A percentage as drawings take it. */
export function cssPercent(percent: number): string {
  return `${Number(percent.toFixed(2))}%`;
}

export function tickText(tick: number): string {
  return String(tick).replace('-', '−');
}
