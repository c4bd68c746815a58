// Charts of a report, as markup: inline SVG beside the figures themselves, so that nobody has to read a chart.

import type { EstimateDocument } from '../core/document.js';
import type { Measure } from '../core/measures.js';
import { printable } from '../core/printable.js';
import type { Estimate } from '../core/types.js';
import { escapeHtml } from '../report/html/frame.js';
import { decimalsOf } from '../report/score-table.js';
import { count, DASH, number, range, signed, signedRange } from './figures.js';
import { mark, type Scale, scaleAround, scaleOf, x } from './scale.js';

/** A line of a chart: a figure of this run, and beside it that of another. */
export interface ChartLine {
  readonly name: string;
  readonly estimate: Estimate | EstimateDocument | null | undefined;
  readonly other?: Estimate | undefined;
  readonly isSum?: boolean;
  /** Where the samples behind it are listed. */
  readonly href?: string;
}

/** Values of a measure with their 95 % intervals; where another run is named, with its values beside them. */
export function intervalChart(
  first: string,
  lines: readonly ChartLine[],
  measure: Measure,
  otherName?: string,
): string {
  const decimals = decimalsOf(measure);
  const scale = scaleOf(
    measure,
    lines.flatMap(({ estimate, other }) => [estimate, other]),
  );
  const columns = ['Score', '95 % interval', ...(otherName === undefined ? [] : [escapeHtml(otherName)]), 'Rows'];
  return chart(first, columns, scale, lines, ({ name, estimate, other, isSum, href }) => {
    // Two runs lie one above the other, so that neither hides the other's interval.
    const marks = other === undefined ? mark(estimate, scale, 5) : pairOfMarks(estimate, other, scale);
    const cells = [
      number(estimate, decimals),
      `<span class="range">${range(estimate, decimals) ?? DASH}</span>`,
      ...(otherName === undefined ? [] : [number(other, decimals)]),
      count(estimate?.rows),
    ];
    return [isSum === true, heading(name, href), marks, cells];
  });
}

function pairOfMarks(own: ChartLine['estimate'], other: Estimate, scale: Scale): string {
  return `<g class="other">${mark(other, scale, 4, 72)}</g>${mark(own, scale, 5, 32)}`;
}

/** How a domain, or all of them, changed between two runs. */
export interface ChangeLine {
  readonly name: string;
  readonly difference: Estimate;
  readonly wins: number;
  readonly ties: number;
  readonly losses: number;
  readonly isSum?: boolean;
  readonly href?: string;
}

/** Differences with their 95 % intervals around 0. */
export function changeChart(lines: readonly ChangeLine[]): string {
  const scale = scaleAround(lines.flatMap(({ difference: { value, low, high } }) => [value, low ?? 0, high ?? 0]));
  const columns = ['Change', '95 % interval', 'Better', 'Same', 'Worse'];
  return chart('Domain', columns, scale, lines, ({ name, difference, wins, ties, losses, isSum, href }) => [
    isSum === true,
    heading(name, href),
    mark(difference, scale, 5),
    [
      signed(difference.value),
      `<span class="range">${signedRange(difference) ?? DASH}</span>`,
      count(wins),
      count(ties),
      count(losses),
    ],
  ]);
}

/** A line as a chart shows it. All texts are markup; there is a cell for every column. */
type Drawn = readonly [isSum: boolean, heading: string, marks: string, cells: readonly string[]];

/** A table whose second column is a drawing on one scale. On a phone the columns behind the first two are left out. */
export function chart<L>(
  first: string,
  columns: readonly string[],
  scale: Scale,
  lines: readonly L[],
  draw: (line: L) => Drawn,
): string {
  const ticks = scale.ticks.map((tick) => {
    const text = isAround(scale) && tick > 0 ? `+${tick}` : String(tick).replace('-', '−');
    return `<text x="${x(tick, scale)}" y="80%" text-anchor="${anchorAt(tick, scale)}">${text}</text>`;
  });
  const grid = scale.ticks.map(
    (tick) =>
      `<line class="${tick === 0 && isAround(scale) ? 'zero-line' : 'grid'}" x1="${x(tick, scale)}" x2="${x(tick, scale)}" y1="0" y2="100%"/>`,
  );
  const head = columns.map((column, at) => `<th scope="col" class="${cellClass(at)}">${column}</th>`);
  const rows = lines
    .map(draw)
    .map(([isSum, name, marks, cells]) =>
      [
        `<tr${isSum ? ' class="sum"' : ''}><th scope="row">${name}</th>`,
        `<td class="t"><svg class="track" aria-hidden="true">${grid.join('')}${marks}</svg></td>`,
        ...cells.map((cell, at) => `<td class="${cellClass(at)}">${cell}</td>`),
        '</tr>',
      ].join(''),
    );
  return [
    `<div class="scroll"><table class="chart"><thead><tr><th scope="col">${first}</th>`,
    `<td class="t"><svg class="axis" aria-hidden="true">${ticks.join('')}</svg></td>${head.join('')}</tr></thead>`,
    `<tbody>${rows.join('')}</tbody></table></div>`,
  ].join('');
}

/** Figures behind the first two are left out where there is no room for them. */
function cellClass(place: number): string {
  return place < 2 ? 'n' : 'n wide';
}

/** Whether it spans differences, of which 0 is none. */
function isAround({ from, to }: Scale): boolean {
  return from === -to;
}

function anchorAt(tick: number, { from, to }: Scale): string {
  if (tick === from) return 'start';
  return tick === to ? 'end' : 'middle';
}

export function heading(name: string, href: string | undefined): string {
  return href === undefined ? escapeHtml(name) : `<a href="${escapeHtml(href)}">${escapeHtml(name)}</a>`;
}

/** The list of samples under filters. */
export function samplesHref(filters: Readonly<Record<string, string>>): string {
  const set = Object.entries(filters).map(([name, value]) => `${name}=${encodeURIComponent(printable(value))}`);
  return `#samples?${set.join('&')}`;
}
