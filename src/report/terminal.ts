// Tables and sentences for a terminal: within its width, and without a broken word.

import CliTable from 'cli-table3';
import { widthOf } from '../printable.js';
import type { Table } from './table.js';

const BOLD = '\x1b[1m';
const DIM = '\x1b[2m';
const RESET = '\x1b[0m';

/** How wide a terminal is, and whether it shows colours. */
export interface Look {
  readonly columns: number;
  readonly color: boolean;
}

/** A table of which some cells stand out: those for which `isStrong` (by group, row and column) is true. */
interface MarkedTable extends Table {
  isStrong?(group: number, row: number, column: number): boolean;
}

/**
 * A table for the terminal, ending in a line feed. Where it is too wide, its gaps narrow and as few headings as possible become short.
 * Columns that still do not fit follow in further tables under the same first column, so that nothing is left out.
 */
export function terminal(table: MarkedTable, look: Look): string {
  const footer = table.footnotes.flatMap((note) => wrapped(note, look.columns)).map((line) => painted(line, DIM, look));
  return `${[...layOut(table, look), ...footer].join('\n')}\n`;
}

function layOut(table: MarkedTable, look: Look): string[] {
  // Measured as it is without colours, where asterisks take room: both ways have the same layout.
  const [plain, shown] = [withMarks(table, false), withMarks(table, look.color)];
  const whole = fitted(plain, look.columns);
  if (whole !== undefined) return render(shown, whole, look);
  return rangesOf(plain, look.columns).flatMap(([from, to], index) => {
    const cut = part(plain, from, to);
    return [
      ...(index === 0 ? [] : ['']),
      ...render(part(shown, from, to), fitted(cut, look.columns) ?? narrowest(cut), look),
    ];
  });
}

/** How a table is set: its headings, and the columns between two of its own. */
interface Setting {
  readonly headings: readonly string[];
  readonly gap: number;
}

/** All headings in full, else as many from the left as there is room for; undefined where not even the narrowest setting fits. */
function fitted(table: Table, width: number): Setting | undefined {
  const full = table.columns.map(({ heading }) => heading);
  const short = table.columns.map((column) => column.short);
  const fits = (setting: Setting) => widthUnder(table, setting) <= width;
  for (const headings of [full, short]) {
    const setting = [2, 1].map((gap) => ({ headings, gap })).find(fits);
    if (setting === undefined) continue;
    let widest: Setting = setting;
    for (const [column, heading] of full.entries()) {
      const wider = { gap: setting.gap, headings: widest.headings.with(column, heading) };
      if (fits(wider)) widest = wider;
    }
    return widest;
  }
  return undefined;
}

function narrowest(table: Table): Setting {
  return { headings: table.columns.map(({ short }) => short), gap: 1 };
}

function widthUnder({ groups }: Table, { headings, gap }: Setting): number {
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...groups.flat().map((cells) => widthOf(cells[column] ?? ''))),
  );
  return widths.reduce((sum, width) => sum + width + gap, -gap);
}

/** Cells that stand out are bold where there are colours. Elsewhere an asterisk follows them, and a space the rest of their column. */
function withMarks(table: MarkedTable, color: boolean): Table {
  const isStrong = (group: number, row: number, column: number) => table.isStrong?.(group, row, column) ?? false;
  const spaces = table.columns.map((_, column) => {
    const hasMarks = table.groups.some((rows, group) => rows.some((_row, row) => isStrong(group, row, column)));
    return hasMarks && !color ? ' ' : '';
  });
  const cell = (text: string, strong: boolean, column: number) => {
    if (!strong) return text + spaces[column];
    return color ? `${BOLD}${text}${RESET}` : `${text}*`;
  };
  return {
    ...table,
    columns: table.columns.map((column, index) => ({
      ...column,
      heading: column.heading + spaces[index],
      short: column.short + spaces[index],
    })),
    groups: table.groups.map((rows, group) =>
      rows.map((cells, row) => cells.map((text, column) => cell(text, isStrong(group, row, column), column))),
    ),
  };
}

/** Ranges of columns, from and to before, that each fit beside the first. */
function rangesOf(table: Table, width: number): (readonly [from: number, to: number])[] {
  const ranges: (readonly [number, number])[] = [];
  for (let from = 1; from < table.columns.length; ) {
    let to = table.columns.length;
    while (to > from + 1 && fitted(part(table, from, to), width) === undefined) to--;
    ranges.push([from, to]);
    from = to;
  }
  return ranges;
}

/** The first column and those from `from` to before `to`. */
function part(table: Table, from: number, to: number): Table {
  const pick = <T>(cells: readonly T[]) => [...cells.slice(0, 1), ...cells.slice(from, to)];
  return { ...table, columns: pick(table.columns), groups: table.groups.map((rows) => rows.map(pick)) };
}

function render(table: Table, { headings, gap }: Setting, look: Look): string[] {
  const text = new CliTable({
    head: headings.map((heading) => (heading === '' ? '' : bold(heading, look))),
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

/**
 * Text in lines of at most `width` columns, broken between words alone: a word that is longer than a line stands on one of its own.
 * Lines behind the first begin with `indent` spaces.
 */
export function wrapped(text: string, width: number, indent = 0): string[] {
  const lines: string[] = [];
  let columns = 0;
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    const wide = widthOf(word);
    if (last >= 0 && columns + 1 + wide <= width) {
      lines[last] += ` ${word}`;
      columns += 1 + wide;
    } else {
      lines.push(last < 0 ? word : ' '.repeat(indent) + word);
      columns = (last < 0 ? 0 : indent) + wide;
    }
  }
  return lines;
}

/** Text that stands out, where there are colours. */
export function bold(text: string, look: Look): string {
  return painted(text, BOLD, look);
}

/** Text behind an escape sequence for its colour, where there are colours. */
export function painted(text: string, code: string, { color }: Look): string {
  return color ? `${code}${text}${RESET}` : text;
}
