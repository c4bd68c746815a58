// Charts and tables of the HTML report's overview, as markup: inline SVG beside the figures themselves, so that nobody has to read a chart.

import { FIGURES } from '../../comparison.js';
import { domainName } from '../../domains.js';
import { possibleRating } from '../../points.js';
import { printable } from '../../printable.js';
import { DIMENSIONS, type Dimension, type Estimate, type JudgedRow, type ScoreCard } from '../../types.js';
import { measureTable, overallName, scoreTable } from '../score-table.js';
import type { Table } from '../table.js';
import { escapeHtml } from './frame.js';

/** A line of a chart: a figure of this run, and beside it that of another. */
interface ChartLine {
  readonly name: string;
  readonly estimate: Estimate | undefined;
  readonly other?: Estimate | undefined;
  readonly isSum?: boolean;
  /** Where the samples behind it are listed. */
  readonly href?: string;
}

/** What a chart spans: scores from 0 to 100, differences around 0. */
interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

const SCORES: Scale = { from: 0, to: 100, ticks: [0, 25, 50, 75, 100] };

/** Figures with their 95 % intervals on a scale of 0 to 100; where another run is named, with its figures beside them. */
export function intervalChart(first: string, lines: readonly ChartLine[], otherName?: string): string {
  const columns = ['Score', '95 % interval', ...(otherName === undefined ? [] : [escapeHtml(otherName)]), 'Rows'];
  return chart(first, columns, SCORES, lines, ({ name, estimate, other, isSum, href }) => {
    // Two runs lie one above the other, so that neither hides the other's interval.
    const marks = other === undefined ? mark(estimate, SCORES, 5) : pairOfMarks(estimate, other);
    const cells = [
      number(estimate),
      `<span class="range">${range(estimate) ?? '–'}</span>`,
      ...(otherName === undefined ? [] : [number(other)]),
      count(estimate?.rows),
    ];
    return [isSum === true, heading(name, href), marks, cells];
  });
}

function pairOfMarks(own: Estimate | undefined, other: Estimate): string {
  return `<g class="other">${mark(other, SCORES, 4, 72)}</g>${mark(own, SCORES, 5, 32)}`;
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
      `<span class="range">${signedRange(difference) ?? '–'}</span>`,
      count(wins),
      count(ties),
      count(losses),
    ],
  ]);
}

function scaleAround(values: readonly number[]): Scale {
  // No difference is larger than 100, whatever the interval of a few trajectories says: what is beyond is cut off at the edge.
  const most = Math.min(100, Math.max(5, ...values.map(Math.abs)));
  const step = [2.5, 5, 10, 25].find((size) => size * 2 >= most) ?? 50;
  const end = Math.ceil(most / step) * step;
  const ticks = Array.from({ length: Math.round((2 * end) / step) + 1 }, (_, i) => i * step - end);
  return { from: -end, to: end, ticks };
}

type Drawn = readonly [isSum: boolean, heading: string, marks: string, cells: readonly string[]];

function chart<L>(
  first: string,
  columns: readonly string[],
  scale: Scale,
  lines: readonly L[],
  draw: (line: L) => Drawn,
): string {
  const ticks = scale.ticks.map((tick) => {
    const text = scale.from < 0 && tick > 0 ? `+${tick}` : String(tick).replace('-', '−');
    return `<text x="${x(tick, scale)}" y="80%" text-anchor="${anchorAt(tick, scale)}">${text}</text>`;
  });
  const grid = scale.ticks.map(
    (tick) =>
      `<line class="${tick === 0 && scale.from < 0 ? 'zero-line' : 'grid'}" x1="${x(tick, scale)}" x2="${x(tick, scale)}" y1="0" y2="100%"/>`,
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

function anchorAt(tick: number, { from, to }: Scale): string {
  if (tick === from) return 'start';
  return tick === to ? 'end' : 'middle';
}

/** A dot with its interval, by percent of the track, so that a chart of any width keeps its proportions. */
function mark(estimate: Estimate | undefined, scale: Scale, radius: number, y = 50): string {
  if (estimate === undefined) return '';
  const { value, low, high } = estimate;
  const reach =
    low === undefined || high === undefined
      ? ''
      : `<line class="reach" x1="${x(low, scale)}" x2="${x(high, scale)}" y1="${y}%" y2="${y}%"/>`;
  return `${reach}<circle class="dot" cx="${x(value, scale)}" cy="${y}%" r="${radius}"/>`;
}

function x(value: number, { from, to }: Scale): string {
  const share = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return `${Number((share * 100).toFixed(2))}%`;
}

function heading(name: string, href: string | undefined): string {
  return href === undefined ? escapeHtml(name) : `<a href="${escapeHtml(href)}">${escapeHtml(name)}</a>`;
}

/** A score; a missing one as a dash. */
export function number(estimate: Estimate | undefined): string {
  return estimate === undefined ? '–' : estimate.value.toFixed(1);
}

/** The interval of a score, where it has one. */
export function range(estimate: Estimate | undefined): string | undefined {
  if (estimate?.low === undefined || estimate.high === undefined) return undefined;
  return `${estimate.low.toFixed(1)} to ${estimate.high.toFixed(1)}`;
}

/** The interval of a difference, where it has one. */
export function signedRange({ low, high }: Estimate): string | undefined {
  return low === undefined || high === undefined ? undefined : `${signed(low)} to ${signed(high)}`;
}

/** A difference in points with its sign. */
export function signed(points: number): string {
  const text = Math.abs(points).toFixed(1);
  if (text === '0.0') return '0.0';
  return `${points > 0 ? '+' : '−'}${text}`;
}

/** A whole number with separators; a missing one as a dash. */
export function count(value: number | undefined): string {
  if (value === undefined) return '–';
  return value === 0 ? '<span class="zero">0</span>' : value.toLocaleString('en');
}

/** Every figure of the table that `awb score` prints, each above its interval. */
export function figureMatrix(card: ScoreCard): string {
  const scored = scoreTable(card);
  const measured = measureTable(card);
  const parts: string[] = [];
  if (scored !== undefined) {
    const sets = [...card.domains.map((domain) => domain.scores), card.overall, card.overallMicro];
    // The interval and its column stand in the cells themselves.
    parts.push(matrix(scored, (row, column) => sets[row]?.[FIGURES[column - 2] ?? 'total'], [8]));
  }
  if (measured !== undefined) {
    const names = [...new Set(card.domains.flatMap((domain) => Object.keys(domain.measures)))];
    const withAny = card.domains.filter((domain) => Object.keys(domain.measures).length > 0);
    const sets = [...withAny.map((domain) => domain.measures), card.overallMeasures];
    parts.push(matrix(measured, (row, column) => sets[row]?.[names[column - 2] ?? ''], []));
  }
  return parts.join('');
}

function matrix(
  table: Table,
  estimateAt: (row: number, column: number) => Estimate | undefined,
  left: readonly number[],
): string {
  const shown = table.columns.map((_, column) => column).filter((column) => !left.includes(column));
  const head = shown.map((column) => {
    const { heading: text, align } = table.columns[column] as Table['columns'][number];
    return `<th scope="col"${align === 'right' ? ' class="n"' : ''}>${escapeHtml(text)}</th>`;
  });
  let row = -1;
  const groups = table.groups.map((rows, group) => {
    const lines = rows.map((cells, index) => {
      row++;
      const texts = shown.map((column) => {
        const text = escapeHtml(cells[column] as string);
        if (column === 0) return `<th scope="row">${text}</th>`;
        const estimate =
          column < 2 || /With failures/.test(table.columns[column]?.heading ?? '')
            ? undefined
            : estimateAt(row, column);
        return `<td class="n"${estimate === undefined ? '' : ` title="95 % interval: ${range(estimate) ?? '–'}"`}>${text}${miniature(estimate)}</td>`;
      });
      return `<tr${group > 0 && index === 0 ? ' class="sum"' : ''}>${texts.join('')}</tr>`;
    });
    return lines.join('');
  });
  const notes = table.footnotes.map(escapeHtml).join(' ');
  return `<div class="scroll"><table class="matrix"><thead><tr>${head.join('')}</tr></thead><tbody>${groups.join('')}</tbody></table></div><p class="note">${notes}</p>`;
}

function miniature(estimate: Estimate | undefined): string {
  if (estimate === undefined) return '';
  return `<svg class="mini" aria-hidden="true"><line class="base" x1="0" x2="100%" y1="50%" y2="50%"/>${mark(estimate, SCORES, 2.5)}</svg>`;
}

/** How often each rating was given, by dimension, over valid rows. */
export function ratingChart(rows: readonly JudgedRow[]): string {
  const lines = DIMENSIONS.map((dimension) => ratingLine(dimension, countsOf(rows, dimension)));
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

function countsOf(rows: readonly JudgedRow[], dimension: Dimension): number[] {
  const counts = [0, 0, 0, 0, 0];
  for (const row of rows) {
    const rating = Math.round(possibleRating(row, dimension) ?? 0);
    if (rating > 0) counts[rating - 1] = (counts[rating - 1] as number) + 1;
  }
  return counts;
}

function ratingLine(dimension: Dimension, counts: readonly number[]): string {
  const total = counts.reduce((sum, times) => sum + times, 0);
  let before = 0;
  const bars = counts.map((times, index) => {
    const share = total === 0 ? 0 : (times / total) * 100;
    const from = before;
    before += share;
    if (share === 0) return '';
    const label =
      share < 7
        ? ''
        : `<text class="o${index + 1}" x="${percent(from + share / 2)}" y="52%">${Math.round(share)} %</text>`;
    return `<rect class="f${index + 1}" x="${percent(from)}" width="${percent(share)}" height="100%"/>${label}`;
  });
  const mean = counts.reduce((sum, times, index) => sum + times * (index + 1), 0) / total;
  const name = `${dimension.charAt(0).toUpperCase()}${dimension.slice(1)}`;
  const cells = [
    ...counts.map((times, index) => `<td class="${ratingClass(String(index + 1))}">${count(times)}</td>`),
    `<td class="n">${total === 0 ? '–' : mean.toFixed(2)}</td>`,
  ];
  return `<tr><th scope="row">${name}</th><td class="t"><svg class="stack" aria-hidden="true">${bars.join('')}</svg></td>${cells.join('')}</tr>`;
}

function ratingClass(heading: string): string {
  return heading === 'Mean' ? 'n' : 'n wide';
}

function percent(share: number): string {
  return `${Number(share.toFixed(2))}%`;
}

/** Counts by name and domain: failures by class, or flags; undefined where nothing was counted. */
export function tallyTable(
  first: string,
  card: ScoreCard,
  tallyOf: (domain: ScoreCard['domains'][number]) => Readonly<Record<string, number>>,
  canLink: (name: string) => boolean,
): string | undefined {
  const sums = new Map<string, number>();
  for (const domain of card.domains) {
    for (const [name, times] of Object.entries(tallyOf(domain))) sums.set(name, (sums.get(name) ?? 0) + times);
  }
  const names = [...sums].filter(([, times]) => times > 0).sort((a, b) => b[1] - a[1]);
  if (names.length === 0) return undefined;
  const head = [...card.domains.map(({ domain }) => escapeHtml(domainName(domain))), 'All'];
  const rows = names.map(([name, sum]) => {
    const cells = [...card.domains.map((domain) => count(tallyOf(domain)[name] ?? 0)), `<b>${count(sum)}</b>`];
    const href = canLink(name) ? samplesHref({ flag: name }) : undefined;
    return `<tr><th scope="row">${heading(name, href)}</th>${cells.map((cell) => `<td class="n">${cell}</td>`).join('')}</tr>`;
  });
  return `<div class="scroll"><table><thead><tr><th scope="col">${first}</th>${head.map((name) => `<th scope="col" class="n">${name}</th>`).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** The list of samples under filters. */
export function samplesHref(filters: Readonly<Record<string, string>>): string {
  const set = Object.entries(filters).map(([name, value]) => `${name}=${encodeURIComponent(printable(value))}`);
  return `#samples?${set.join('&')}`;
}

/** The measure that stands for a run of which nothing was rated, chrF where there is one; undefined where there are ratings. */
export function leadingMeasure(card: ScoreCard): string | undefined {
  if (card.overall.total !== undefined) return undefined;
  const names = Object.keys(card.overallMeasures);
  return names.find((name) => name === 'chrf') ?? names[0];
}

/** Lines of the chart by domain: each domain's figure, then the mean over them, each beside that of another run. */
export function domainLines(card: ScoreCard, other: ScoreCard | undefined): ChartLine[] {
  const measure = leadingMeasure(card) ?? '';
  const isRated = measure === '';
  const figure = (scores: ScoreCard['domains'][number] | undefined) =>
    isRated ? scores?.scores.total : scores?.measures[measure];
  const sum = (whole: ScoreCard | undefined) => (isRated ? whole?.overall.total : whole?.overallMeasures[measure]);
  const domains = card.domains.map((score) => ({
    name: domainName(score.domain),
    estimate: figure(score),
    other: figure(other?.domains.find(({ domain }) => domain === score.domain)),
    href: samplesHref({ domain: domainName(score.domain) }),
  }));
  return [...domains, { name: overallName(card), estimate: sum(card), other: sum(other), isSum: true }];
}
