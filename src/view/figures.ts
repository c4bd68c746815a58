// Formats figures on pages, for documents and browsers; and makes tables whose figures are drawn on one scale.

import { counted, type Ends, grouped, intervalText } from '../core/printable.js';
import { type CellTable, notesBelow } from '../core/table.js';
import type { Cell, Figure, ScaleEnds, ShownTable } from './documents.js';

/** Shown for a missing figure. */
export const DASH = '–';

/** A figure; a missing one as a dash. */
export function number(figure: { readonly value: number } | null | undefined, decimals = 1): string {
  return figure?.value.toFixed(decimals) ?? DASH;
}

/** The interval of a figure, if it has one. */
export function range(ends: Ends | null | undefined, text = oneDecimal): string | undefined {
  return intervalText(ends ?? {}, text);
}

/** The same as a line below a figure. */
export function rangeBelow(ends: Ends | null | undefined, text = oneDecimal): string {
  const interval = range(ends, text);
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}

function oneDecimal(value: number): string {
  return value.toFixed(1);
}

/** A difference in points with its sign; minus is typographic. */
export function signed(points: number, decimals = 1): string {
  const text = Math.abs(points).toFixed(decimals);
  return Number(text) === 0 ? text : `${points > 0 ? '+' : '−'}${text}`;
}

export function count(value: number | undefined): string {
  return value === undefined ? DASH : grouped(value);
}

export function plural(value: number, one: string, many?: string): string {
  return counted(value, one, many, grouped);
}

/** Columns of figures with these headings; the first column names the row. */
export function figureColumns(headings: readonly string[]): ShownTable['columns'] {
  return headings.map((heading, at) => ({ heading, align: at === 0 ? 'left' : 'right' }));
}

/** A row of a chart: its name and its figure. */
interface ChartLine {
  readonly name: Cell;
  readonly figure: Figure | null;
}

/** Scores with their 95 % intervals; a phone leaves out the number of rows. @param sum the line that sums up the others */
export function scoreChart(
  first: string,
  ends: ScaleEnds,
  lines: readonly ChartLine[],
  { sum, decimals = 1 }: { readonly sum?: ChartLine; readonly decimals?: number } = {},
): ShownTable {
  const text = (value: number) => value.toFixed(decimals);
  const groups = [lines, sum ? [sum] : []];
  const row = ({ name, figure }: ChartLine): Cell[] => [
    name,
    figure === null ? DASH : text(figure.value),
    { text: range(figure, text) ?? DASH, look: 'note' },
    count(figure?.rows),
  ];
  const columns = figureColumns([first, 'Score', '95 % interval', 'Rows']);
  return {
    columns: columns.map((column, at) => ({ ...column, isWide: at > 2 })),
    groups: groups.map((group) => group.map(row)),
    drawings: { ends, figures: groups.flat().map(({ figure }) => figure) },
  };
}

/** A terminal's table for a page, with its reading and notes below. */
export function withNotes({ columns, groups, ...notes }: CellTable) {
  return { columns, groups, footnotes: notesBelow(notes) };
}
