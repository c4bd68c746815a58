// Tables and sentences for a terminal: within its width, without broken words.

import CliTable from 'cli-table3';
import { grouped, shortened, widthOf } from './printable.js';
import { type Cell, type CellTable, partsOf, type Table } from './table.js';
import type { Io } from './types.js';

const BOLD = '\x1b[1m';
const DIM = '\x1b[2m';
const RESET = '\x1b[0m';

/** How wide a terminal is, and whether it shows colours. */
export interface Look {
  readonly columns: number;
  readonly color: boolean;
  /** Whether legends are wanted. */
  readonly explain?: boolean;
}

/** The look of standard output, or of its replacement, under the settings that every command has. */
export function lookOf(
  { color, explain = false }: Partial<Omit<Look, 'columns'>>,
  { stdout }: Pick<Io, 'stdout'>,
): Look {
  return { columns: stdout.columns, color: color === true && stdout.isTTY, explain };
}

/** Whether a terminal shows block characters: not if it says otherwise, or if its locale names a character set other than UTF-8. */
export function hasBlocks({ TERM, LC_ALL, LC_CTYPE, LANG }: Io['env']): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG || 'UTF-8';
  return TERM !== 'dumb' && TERM !== 'linux' && /utf-?8/i.test(locale);
}

/**
 * A table for the terminal, ending in a line feed. If it is too wide, its gaps narrow and as few headings as possible become short.
 * Columns that still do not fit follow in further tables with the same first column, so nothing is left out.
 */
export function terminal(table: CellTable, look: Look): string {
  const footer = (table.footnotes ?? []).flatMap((note) => wrapped(note, look.columns)).map((line) => dim(line, look));
  return `${[...layOut(table, look), ...footer].join('\n')}\n`;
}

function layOut(table: CellTable, look: Look): string[] {
  // Measured without colours, where asterisks take room, so that both variants have the same layout.
  const [plain, shown] = [withMarks(table, false), withMarks(table, look.color)];
  const whole = fitted(plain, look.columns);
  if (whole !== undefined) return render(shown, whole, look);
  return rangesOf(plain, look.columns).flatMap(([from, to], index) => {
    const cut = part(plain, from, to);
    const narrowest = { headings: cut.columns.map(({ short }) => short), gap: 1 };
    const lines = render(part(shown, from, to), fitted(cut, look.columns) ?? narrowest, look);
    return index === 0 ? lines : ['', ...lines];
  });
}

/** Legends below all tables, each once, if wanted; else how to get them. Ends in a line feed; empty if there are none. */
export function legendOf(texts: readonly string[], look: Look): string {
  if (texts.length === 0) return '';
  const shown = look.explain ? [...new Set(texts)] : ['--explain shows how to read this.'];
  const lines = shown.flatMap((text) => wrapped(text, look.columns)).map((line) => painted(line, DIM, look));
  return `${lines.join('\n')}\n`;
}

/** How a table is laid out: its headings, and the spaces between columns. */
interface Setting {
  readonly headings: readonly string[];
  readonly gap: number;
}

/** All headings in full, or as many from the left as fit; undefined if even the narrowest setting does not fit. */
function fitted(table: Table, width: number): Setting | undefined {
  const full = table.columns.map(({ heading }) => heading);
  const short = table.columns.map((column) => column.short);
  const fits = (setting: Setting) => widthUnder(table, setting) <= width;
  const settings = [full, short].flatMap((headings) => [2, 1].map((gap): Setting => ({ headings, gap })));
  const first = settings.find(fits);
  if (first === undefined) return undefined;
  return full.reduce((widest, heading, column) => {
    const wider = { gap: widest.gap, headings: widest.headings.with(column, heading) };
    return fits(wider) ? wider : widest;
  }, first);
}

function widthUnder({ groups }: Table, { headings, gap }: Setting): number {
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...groups.flat().map((cells) => widthOf(cells[column] ?? ''))),
  );
  return widths.reduce((sum, width) => sum + width + gap, -gap);
}

/** Terminal colours for the looks of a page. */
const COLORS: Readonly<Record<string, string>> = { good: '\x1b[32m', bad: '\x1b[31m', soft: '\x1b[33m' };

/** With colours, strong cells are bold and green. Without, an asterisk follows them, and a space follows the rest of their column. */
function withMarks(table: CellTable, color: boolean): Table {
  const spaces = table.columns.map((_, column) => {
    const hasMarks = table.groups.flat().some((cells) => partsOf(cells[column]).isStrong);
    return hasMarks && !color ? ' ' : '';
  });
  const shown = (cell: Cell, column: number) => {
    const { text, isStrong, look = '' } = partsOf(cell);
    if (!color) return isStrong ? `${text}*` : text + spaces[column];
    const code = isStrong ? `${BOLD}${COLORS.good}` : COLORS[look];
    return code === undefined ? text : `${code}${text}${RESET}`;
  };
  return {
    ...table,
    columns: table.columns.map((column, index) => ({
      ...column,
      heading: column.heading + spaces[index],
      short: column.short + spaces[index],
    })),
    groups: table.groups.map((rows) => rows.map((cells) => cells.map(shown))),
  };
}

/** Ranges of columns (`to` is exclusive) that each fit next to the first column. */
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

/** The first column and those from `from` up to but not including `to`. */
function part(table: Table, from: number, to: number): Table {
  const pick = <T>(cells: readonly T[]) => [...cells.slice(0, 1), ...cells.slice(from, to)];
  return { ...table, columns: pick(table.columns), groups: table.groups.map((rows) => rows.map(pick)) };
}

function render({ columns, groups }: Table, { headings, gap }: Setting, look: Look): string[] {
  const head = headings.map((heading) => (heading === '' ? '' : bold(heading, look)));
  const rows = groups.flatMap((rows, index) =>
    index > 0 && rows.length > 0 ? [columns.map(() => ''), ...rows] : rows,
  );
  const right = columns.flatMap(({ align }, column) => (align === 'right' ? [column] : []));
  return aligned([head, ...rows], gap, right);
}

/** cli-table3's characters for lines, all of them absent. */
const NO_LINES = Object.fromEntries(
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid middle'
    .split(' ')
    .map((name) => [name, '']),
);

/** Rows of cells as lines, each cell as wide as the widest of its column; columns in `right` are right-aligned. */
export function aligned(rows: readonly (readonly string[])[], gap: number, right: readonly number[]): string[] {
  const table = new CliTable({
    colAligns: (rows[0] ?? []).map((_, column) => (right.includes(column) ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
    chars: NO_LINES,
  });
  table.push(...rows.map((cells) => [...cells]));
  const lines = table.toString().split('\n');
  return rows.length === 0 ? [] : lines.map((line) => line.trimEnd());
}

const BAR_COLUMNS = 20;
/** A longer name is shortened in favour of the counts. */
const MOST_NAME_COLUMNS = 24;

/** What a bar shows about a part: how much of it is done, failures included. */
interface Bar {
  readonly name: string;
  readonly done: number;
  /** Absent if unknown; then there is no bar. */
  readonly total?: number | undefined;
  readonly failed: number;
}

/** One line per part: name, bar, counts, share and failures, each in its column. Bars get shorter if space is short. */
export function barLines(bars: readonly Bar[], columns: number, blocks: boolean, length = BAR_COLUMNS): string[] {
  const [full, empty] = blocks ? ['█', '░'] : ['#', '.'];
  const rows = bars.map(({ name, done, total, failed }) => {
    const share = total === undefined || total === 0 ? 1 : Math.min(1, done / total);
    const filled = Math.floor(share * length);
    const shown = shortened(name, MOST_NAME_COLUMNS);
    const failures = failed > 0 ? ` ${grouped(failed)} failed` : '';
    if (total === undefined) return [shown, '', grouped(done), '', failures];
    // As wide at the beginning as at the end, so that nothing moves meanwhile.
    const counts = `${grouped(done).padStart(grouped(total).length)}/${grouped(total)}`;
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    return [shown, full.repeat(filled) + empty.repeat(length - filled), counts, percent, failures];
  });
  const lines = aligned(rows, 1, [2, 4]);
  const isTooWide = length > 5 && lines.some((line) => widthOf(line) > columns);
  return isTooWide ? barLines(bars, columns, blocks, length - 5) : lines;
}

/**
 * Text in lines of at most `width` columns, broken only between words: a word longer than a line gets a line of its own. Lines after
 * the first begin with `indent` spaces.
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

/** Blocks of lines with an empty line between them, ending in a line feed; empty blocks are left out. */
export function blocksText(blocks: readonly (readonly string[])[]): string {
  const texts = blocks.map((lines) => lines.join('\n')).filter((text) => text !== '');
  return `${texts.join('\n\n')}\n`;
}

/** Emphasised text, if there are colours. */
export function bold(text: string, look: Pick<Look, 'color'>): string {
  return painted(text, BOLD, look);
}

/** Dimmed text, if there are colours. */
export function dim(text: string, look: Pick<Look, 'color'>): string {
  return painted(text, DIM, look);
}

/** A line of counts, with its failures in red if there are colours. */
export function withRedFailures(line: string, { color }: Pick<Look, 'color'>): string {
  return color ? line.replace(/[\d,]+ failed/, '\x1b[31m$&\x1b[39m') : line;
}

/** Text after an escape sequence for its colour, if there are colours. */
export function painted(text: string, code: string, { color }: Pick<Look, 'color'>): string {
  return color ? `${code}${text}${RESET}` : text;
}
