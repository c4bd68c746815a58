// Every figure of the tables that `awb score` prints, each above its interval.

import { FIGURES } from '../core/comparison.js';
import type { MeasureLookup } from '../core/measures.js';
import { type Column, notesBelow, type Table } from '../core/table.js';
import type { Estimate, ScoreCard } from '../core/types.js';
import { escapeHtml } from '../report/html/frame.js';
import { decimalsOf, measureNames, measureTable, scoreTable } from '../report/score-table.js';
import { DASH, range } from './figures.js';
import { mark, SCORES, type Scale, scaleOf } from './scale.js';

/** What stands behind a column of figures: on which scale it is drawn, and its estimate in a row; undefined for a column of text. */
interface Drawn {
  readonly scale: Scale;
  readonly decimals: number;
  at(row: number): Estimate | undefined;
}

export function figureMatrix(card: ScoreCard, measureOf: MeasureLookup): string {
  const scored = scoreTable(card);
  const measured = measureTable(card, measureOf);
  return [
    ...(scored === undefined ? [] : [matrix(scored, scoreColumns(card))]),
    ...(measured === undefined ? [] : [matrix(measured, measureColumns(card, measureOf))]),
  ].join('');
}

/** Names and predictions, then the figures, then the official total. The interval's column is left out: each cell has its own. */
function scoreColumns(card: ScoreCard): ReadonlyMap<number, Drawn | undefined> {
  const sets = [...card.domains.map((domain) => domain.withFailures), card.overallWithFailures];
  const figures = FIGURES.map((figure): Drawn => ({ scale: SCORES, decimals: 1, at: (row) => sets[row]?.[figure] }));
  const [names, rows, interval] = [0, 1, 2 + figures.length];
  return new Map([
    [names, undefined],
    [rows, undefined],
    ...figures.map((figure, index) => [2 + index, figure] as const),
    [interval + 1, undefined],
  ]);
}

function measureColumns(card: ScoreCard, measureOf: MeasureLookup): ReadonlyMap<number, Drawn | undefined> {
  const withAny = card.domains.filter((domain) => Object.keys(domain.measures).length > 0);
  const sets = [...withAny.map((domain) => domain.measures), card.overallMeasures];
  const figures = measureNames(card).map((name): Drawn => {
    const at = (row: number) => sets[row]?.[name];
    const measure = measureOf(name);
    return {
      scale: scaleOf(
        measure,
        sets.map((set) => set[name]),
      ),
      decimals: decimalsOf(measure),
      at,
    };
  });
  return new Map([[0, undefined], [1, undefined], ...figures.map((figure, index) => [2 + index, figure] as const)]);
}

/** The table's columns that are shown, in order, those of figures with what is drawn below each. */
function matrix(table: Table, shown: ReadonlyMap<number, Drawn | undefined>): string {
  const columns = table.columns.map((column, index) => ({ column, index })).filter(({ index }) => shown.has(index));
  const head = columns.map(({ column }) => headCell(column));
  let row = -1;
  const groups = table.groups.map((rows, group) => {
    const lines = rows.map((cells, index) => {
      row++;
      const texts = columns.map(({ index: column }) => bodyCell(cells[column] ?? '', column, shown.get(column), row));
      return `<tr${group > 0 && index === 0 ? ' class="sum"' : ''}>${texts.join('')}</tr>`;
    });
    return lines.join('');
  });
  const notes = notesBelow(table).map(escapeHtml).join(' ');
  return `<div class="scroll"><table class="matrix"><thead><tr>${head.join('')}</tr></thead><tbody>${groups.join('')}</tbody></table></div><p class="note">${notes}</p>`;
}

function headCell({ heading, align }: Column): string {
  return `<th scope="col"${align === 'right' ? ' class="n"' : ''}>${escapeHtml(heading)}</th>`;
}

function bodyCell(cell: string, column: number, drawn: Drawn | undefined, row: number): string {
  const text = escapeHtml(cell);
  if (column === 0) return `<th scope="row">${text}</th>`;
  const estimate = drawn?.at(row);
  if (drawn === undefined || estimate === undefined) return `<td class="n">${text}</td>`;
  const title = `95 % interval: ${range(estimate, drawn.decimals) ?? DASH}`;
  return `<td class="n" title="${title}">${text}${miniature(estimate, drawn.scale)}</td>`;
}

function miniature(estimate: Estimate, scale: Scale): string {
  return `<svg class="mini" aria-hidden="true"><line class="base" x1="0" x2="100%" y1="50%" y2="50%"/>${mark(estimate, scale, 2.5)}</svg>`;
}
