// Terminal output as the resulting screen: styled lines. Colours and cursor movement are applied, all other sequences are dropped.

/** What a terminal shows. Trailing empty lines are left out. */
export interface TerminalScreen {
  readonly kind: 'terminal';
  /** Pieces of text in one style: words separated by spaces, such as `bold red on-blue`, or none for plain text. */
  readonly lines: readonly (readonly { readonly text: string; readonly style: string }[])[];
  /** Whether output beyond `MOST_LINES` or `MOST_COLUMNS` is missing. */
  readonly cut: boolean;
}

const MOST_LINES = 1000;
const MOST_COLUMNS = 1000;
const TAB_COLUMNS = 8;

/**
 * A control sequence (CSI) with its parameters and its last character, or an unfinished one; a control string with its payload; another
 * escape sequence; one control character; text (ECMA-48, sections 5.3 to 5.6). Each matches from its first character, so time is
 * linear.
 */
const TOKEN =
  /(?:\x1b\[|\x9b)(?:(?<parameters>[0-?]*)[ -/]*(?<final>[@-~])?)|(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*(?:\x1b\\|[\x07\x18\x1a\x9c])?|\x1b[ -/]*[0-~]?|[\x00-\x1f\x7f-\x9f]|(?<text>[^\x00-\x1f\x7f-\x9f]+)/g;

/**
 * The screen that output leaves. Lines are as long as written: nothing wraps, since the pane's width is unknown, and each code point
 * takes one column. A line feed moves to the start of the next line.
 */
export function terminalScreen(output: string): TerminalScreen {
  const grid = new Grid();
  let style: Style = {};
  for (const { 0: token, groups = {} } of output.matchAll(TOKEN)) {
    const { text, parameters = '', final } = groups;
    if (text !== undefined) grid.write(text, Object.values(style).filter(Boolean).join(' '));
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

  /** Clamped to the first line and column. */
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

  /** Removes the cursor's line from a column on. */
  shorten(length: number): void {
    this.#lines[this.row]?.splice(length);
  }

  /** Empties all lines from one on. */
  erase(from: number): void {
    for (const line of this.#lines.slice(from)) line.length = 0;
  }

  screen(): TerminalScreen {
    const lines = this.#lines.map((cells) => {
      const line: { text: string; style: string }[] = [];
      for (const { char, style } of cells) {
        const last = line.at(-1);
        if (last?.style === style) last.text += char;
        else line.push({ text: char, style });
      }
      return line;
    });
    const end = lines.findLastIndex((line) => line.length > 0) + 1;
    return { kind: 'terminal', lines: lines.slice(0, end), cut: this.#isCut };
  }
}

const CONTROLS: Readonly<Record<string, (grid: Grid) => void>> = {
  '\n': (grid) => grid.moveTo(grid.row + 1, 0),
  '\r': (grid) => grid.moveTo(grid.row, 0),
  '\b': (grid) => grid.moveTo(grid.row, grid.column - 1),
  '\t': (grid) => grid.moveTo(grid.row, grid.column + TAB_COLUMNS - (grid.column % TAB_COLUMNS)),
};

/** A sequence moves by its first number, 1 if missing; positions count from 1. Erasing towards the start is ignored. */
const SEQUENCES: Readonly<Record<string, (grid: Grid, numbers: readonly number[]) => void>> = {
  A: (grid, [count]) => grid.moveTo(grid.row - (count || 1), grid.column),
  B: (grid, [count]) => grid.moveTo(grid.row + (count || 1), grid.column),
  C: (grid, [count]) => grid.moveTo(grid.row, grid.column + (count || 1)),
  D: (grid, [count]) => grid.moveTo(grid.row, grid.column - (count || 1)),
  G: (grid, [place]) => grid.moveTo(grid.row, (place || 1) - 1),
  d: (grid, [place]) => grid.moveTo((place || 1) - 1, grid.column),
  H: (grid, [row, column]) => grid.moveTo((row || 1) - 1, (column || 1) - 1),
  K: (grid, [which = 0]) => {
    if (which !== 1) grid.shorten(which === 0 ? grid.column : 0);
  },
  J: (grid, [which = 0]) => {
    if (which === 0) grid.shorten(grid.column);
    if (which !== 1) grid.erase(which === 0 ? grid.row + 1 : 0);
  },
};

/** The current text style (SGR): the word for each part of a style, empty for none. */
type Style = Readonly<Record<string, string>>;

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
/** What a code changes; bright colours are shown like the normal ones. */
const CODES: Readonly<Record<number, Style>> = {
  1: { weight: 'bold' },
  2: { weight: 'dim' },
  4: { line: 'underline' },
  7: { inverse: 'inverse' },
  22: { weight: '' },
  24: { line: '' },
  27: { inverse: '' },
  39: { colour: '' },
  49: { ground: '' },
  ...Object.fromEntries(
    COLOURS.flatMap((name, at) => [
      [30 + at, { colour: name }],
      [90 + at, { colour: name }],
      [40 + at, { ground: `on-${name}` }],
      [100 + at, { ground: `on-${name}` }],
    ]),
  ),
};
/** These codes are followed by a colour beyond the sixteen, in one number or in three, which is not shown. */
const FURTHER_COLOURS = [38, 48];

function restyled(before: Style, codes: readonly number[]): Style {
  let style = before;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (FURTHER_COLOURS.includes(code)) at += codes[at + 1] === 5 ? 2 : 4;
    else style = code === 0 ? {} : { ...style, ...CODES[code] };
  }
  return style;
}
