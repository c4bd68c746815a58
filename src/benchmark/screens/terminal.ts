// Terminal output as the screen that it leaves behind: styled lines. Colours and cursor movement are carried out, all other sequences are dropped.

/** What a terminal shows. Trailing empty lines are left out. */
export interface TerminalScreen {
  readonly kind: 'terminal';
  readonly lines: readonly (readonly StyledRun[])[];
  /** Whether output beyond `MOST_LINES`, `MOST_COLUMNS` or `MOST_RUNS` is missing, or has lost its style. */
  readonly cut: boolean;
}

/** Text in one style. */
interface StyledRun {
  readonly text: string;
  /** Words with spaces between them, such as `bold bright-red on-blue`; empty for plain text. */
  readonly style: string;
}

const MOST_LINES = 1000;
const MOST_COLUMNS = 1000;
/** Text behind so many runs is shown, but plain. */
const MOST_RUNS = 10_000;
const TAB_COLUMNS = 8;

/**
 * A control sequence (CSI) with its parameters and its last character, or one that does not end; a control string with its payload;
 * another escape sequence; one control character; text (ECMA-48, sections 5.3 to 5.6). Each matches from its first character on, so
 * that time is linear.
 */
const TOKEN =
  /(?:\x1b\[|\x9b)(?:(?<parameters>[0-?]*)[ -/]*(?<final>[@-~])?)|(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*(?:\x1b\\|[\x07\x18\x1a\x9c])?|\x1b[ -/]*[0-~]?|[\x00-\x1f\x7f-\x9f]|(?<text>[^\x00-\x1f\x7f-\x9f]+)/g;

/**
 * The screen that output leaves. Lines are as long as they were written: nothing wraps, since the pane's width is not known, and each
 * code point takes one column. A line feed goes to the start of the next line.
 */
export function terminalScreen(output: string): TerminalScreen {
  const grid = new Grid();
  let style = PLAIN;
  for (const { 0: token, groups = {} } of output.matchAll(TOKEN)) {
    const { text, parameters = '', final } = groups;
    if (text !== undefined) grid.write(text, style.words);
    else if (final === undefined) CONTROLS[token]?.(grid);
    // Parameters with other characters belong to private sequences.
    else if (/^[\d;]*$/.test(parameters)) {
      const numbers = parameters.split(';', 64).map((number) => Number(number.slice(0, 4)));
      if (final === 'm') style = restyled(style, numbers);
      else SEQUENCES[final]?.(grid, numbers);
    }
  }
  return grid.screen();
}

interface Cell {
  readonly char: string;
  readonly style: string;
}
const BLANK: Cell = { char: ' ', style: '' };

/** Lines of cells, and a cursor that moves over them. Lines and columns count from 0. */
class Grid {
  row = 0;
  column = 0;
  readonly #lines: Cell[][] = [];
  #isCut = false;

  /** To no place above the first line or left of the first column. */
  moveTo(row: number, column: number): void {
    this.row = Math.max(0, row);
    this.column = Math.max(0, column);
  }

  write(text: string, style: string): void {
    for (const char of text) {
      if (this.row >= MOST_LINES || this.column >= MOST_COLUMNS) {
        this.#isCut = true;
        return;
      }
      while (this.#lines.length <= this.row) this.#lines.push([]);
      const line = this.#lines[this.row] ?? [];
      while (line.length < this.column) line.push(BLANK);
      line[this.column++] = { char, style };
    }
  }

  /** Puts blanks over the cursor's line up to the cursor. */
  blank(): void {
    this.#lines[this.row]?.fill(BLANK, 0, this.column + 1);
  }

  /** Takes the cursor's line away from a column on. */
  shorten(length: number): void {
    this.#lines[this.row]?.splice(length);
  }

  /** Empties whole lines. */
  erase(from: number, to = MOST_LINES): void {
    for (const line of this.#lines.slice(from, to)) line.length = 0;
  }

  screen(): TerminalScreen {
    let runs = 0;
    const lines = this.#lines.map((cells) => {
      const line: { text: string; style: string }[] = [];
      for (const cell of cells) {
        const style = runs < MOST_RUNS ? cell.style : '';
        const last = line.at(-1);
        if (last?.style === style) last.text += cell.char;
        else runs = line.push({ text: cell.char, style }) && runs + 1;
      }
      return line;
    });
    return {
      kind: 'terminal',
      lines: lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1),
      cut: this.#isCut || runs > MOST_RUNS,
    };
  }
}

const CONTROLS: Readonly<Record<string, (grid: Grid) => void>> = {
  '\n': (grid) => grid.moveTo(grid.row + 1, 0),
  '\r': (grid) => grid.moveTo(grid.row, 0),
  '\b': (grid) => grid.moveTo(grid.row, grid.column - 1),
  '\t': (grid) => grid.moveTo(grid.row, grid.column + TAB_COLUMNS - (grid.column % TAB_COLUMNS)),
};

/** A sequence moves by its first number, which is 1 where it is missing; places count from 1, and what is erased is numbered from 0. */
const SEQUENCES: Readonly<Record<string, (grid: Grid, numbers: readonly number[]) => void>> = {
  A: (grid, [count]) => grid.moveTo(grid.row - (count || 1), grid.column),
  B: (grid, [count]) => grid.moveTo(grid.row + (count || 1), grid.column),
  C: (grid, [count]) => grid.moveTo(grid.row, grid.column + (count || 1)),
  D: (grid, [count]) => grid.moveTo(grid.row, grid.column - (count || 1)),
  G: (grid, [place]) => grid.moveTo(grid.row, (place || 1) - 1),
  d: (grid, [place]) => grid.moveTo((place || 1) - 1, grid.column),
  H: (grid, [row, column]) => grid.moveTo((row || 1) - 1, (column || 1) - 1),
  K: (grid, [which = 0]) => {
    if (which === 0) grid.shorten(grid.column);
    if (which === 1) grid.blank();
    if (which === 2) grid.shorten(0);
  },
  J: (grid, [which = 0]) => {
    if (which === 0) grid.shorten(grid.column);
    if (which === 0) grid.erase(grid.row + 1);
    if (which === 1) grid.blank();
    if (which === 1) grid.erase(0, grid.row);
    if (which === 2 || which === 3) grid.erase(0);
  },
};

/** How text is written from here on (SGR). */
interface Style {
  readonly marks: readonly string[];
  readonly colour: string;
  /** The background. */
  readonly ground: string;
  readonly words: string;
}

const PLAIN: Style = { marks: [], colour: '', ground: '', words: '' };
const MARKS: Readonly<Record<number, string>> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'struck',
};
const ENDED: Readonly<Record<number, readonly string[]>> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['struck'],
};
const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

function restyled(style: Style, codes: readonly number[]): Style {
  let { marks, colour, ground } = style;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    const [mark, ended] = [MARKS[code], ENDED[code]];
    if (code === 0) ({ marks, colour, ground } = PLAIN);
    else if (mark !== undefined) marks = [...marks.filter((other) => other !== mark), mark];
    else if (ended !== undefined) marks = marks.filter((other) => !ended.includes(other));
    else if (code === 38 || code === 48) {
      const [form, ...values] = codes.slice(at + 1, at + 5);
      const name = form === 5 ? paletteColour(values[0] ?? 0) : form === 2 ? nearestColour(values) : undefined;
      if (code === 38) colour = name ?? colour;
      else ground = name ?? ground;
      at += form === 5 ? 2 : form === 2 ? 4 : 0;
    } else if ((code >= 30 && code <= 39) || (code >= 90 && code <= 97)) colour = standardColour(code);
    else if ((code >= 40 && code <= 49) || (code >= 100 && code <= 107)) ground = standardColour(code);
  }
  const words = [...marks, colour, ground && `on-${ground}`].filter((word) => word !== '').join(' ');
  return { marks, colour, ground, words };
}

/** The colour of a code such as 31 or 101; none for the codes that take a colour back. */
function standardColour(code: number): string {
  const name = COLOURS[code % 10] ?? '';
  return code >= 90 && name !== '' ? `bright-${name}` : name;
}

/** A colour of the 256: the sixteen of the terminal, a cube of six steps a channel, and greys. */
function paletteColour(index: number): string {
  if (index < 16) return `${index < 8 ? '' : 'bright-'}${COLOURS[index % 8]}`;
  if (index >= 232) return nearestColour([index, index, index].map((grey) => (grey - 232) * 11));
  const cube = index - 16;
  return nearestColour([cube / 36, (cube / 6) % 6, cube % 6].map((step) => Math.floor(step) * 51));
}

/** The one of eight colours whose channels are nearest to red, green and blue (0 to 255). */
function nearestColour([red = 0, green = 0, blue = 0]: readonly number[]): string {
  return COLOURS[Number(red > 127) + 2 * Number(green > 127) + 4 * Number(blue > 127)] ?? '';
}
