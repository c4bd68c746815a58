// Tables -> text.

import CliTable from 'cli-table3';
import type { Column, Table } from './table.js';

const BOLD = '\x1b[1m';
const DIM = '\x1b[2m';
const RESET = '\x1b[0m';

/**
 * A table for the terminal, ending in a line feed. Where it is wider than `columns`, headings become short and gaps narrow; what
 * still does not fit follows in further tables under the same first column, so that nothing is left out.
 */
export function terminal(table: Table, look: { readonly columns: number; readonly color: boolean }): string {
  const notes = table.footnotes.flatMap((note) => wrap(note, look.columns));
  const footer = notes.map((note) => (look.color ? `${DIM}${note}${RESET}` : note));
  return `${[...layOut(table, look.columns, look.color), ...footer].join('\n')}\n`;
}

function layOut(table: Table, width: number, color: boolean): string[] {
  for (const form of ['heading', 'short'] as const) {
    for (const gap of [2, 1]) {
      if (widthOf(render(table, form, gap, false)) <= width) return render(table, form, gap, color);
    }
  }
  return piecesOf(table, width).flatMap((piece, index) => [
    ...(index === 0 ? [] : ['']),
    ...render(piece, 'short', 1, color),
  ]);
}

function piecesOf(table: Table, width: number): Table[] {
  const pieces: Table[] = [];
  for (let from = 1; from < table.columns.length; ) {
    let to = table.columns.length;
    while (to > from + 1 && widthOf(render(part(table, from, to), 'short', 1, false)) > width) to--;
    pieces.push(part(table, from, to));
    from = to;
  }
  return pieces;
}

/** The first column and those from `from` to before `to`. */
function part(table: Table, from: number, to: number): Table {
  const pick = <T>(cells: readonly T[]) => [...cells.slice(0, 1), ...cells.slice(from, to)];
  return { ...table, columns: pick(table.columns), groups: table.groups.map((rows) => rows.map(pick)) };
}

function render(table: Table, form: 'heading' | 'short', gap: number, color: boolean): string[] {
  const strong = (text: string) => (color && text !== '' ? `${BOLD}${text}${RESET}` : text);
  const text = new CliTable({
    head: table.columns.map((column: Column) => strong(column[form])),
    colAligns: table.columns.map((column) => column.align),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
    chars: NO_LINES,
  });
  for (const [index, rows] of table.groups.entries()) {
    if (index > 0 && rows.length > 0) text.push(table.columns.map(() => ''));
    for (const row of rows) text.push([...row]);
  }
  return text
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};

function widthOf(lines: readonly string[]): number {
  return Math.max(...lines.map((line) => line.length));
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
