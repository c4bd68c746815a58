// Text fit to be shown to people: hostile text without control sequences or characters that hide and reorder; paths and command lines;
// figures and money with one rounding, sign and plural everywhere.

import { basename, dirname, isAbsolute, relative, sep } from 'node:path';
import type { Cost } from './costs.js';
import type { Io } from './types.js';

/**
 * Control strings (OSC, DCS, SOS, PM, APC) with their payload, up to their end or the end of the text; then CSI and all other escape
 * sequences; each in its 7-bit and 8-bit form (ECMA-48, sections 5.3 to 5.6). Every alternative matches from its first character, so
 * the time is linear.
 */
const SEQUENCE =
  /(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*(?:\x1b\\|[\x07\x18\x1a\x9c])?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?/;
/** A Windows line end keeps its newline. */
const CARRIAGE_RETURN_BEFORE_NEWLINE = /\r(?=\n)/;
/** The other controls, and what Unicode calls ignorable: bidirectional and zero-width characters, fillers, variation selectors, tags. */
const HIDDEN =
  /[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]|\p{Default_Ignorable_Code_Point}/u;
/** Characters that end or overwrite a line and are not newlines. Each becomes a space, so that adjacent words stay apart. */
const LINE_CONTROL = /[\v\f\r\x85\u2028\u2029]/;

const UNPRINTABLE = new RegExp(
  `(?<dropped>${[SEQUENCE, CARRIAGE_RETURN_BEFORE_NEWLINE, HIDDEN].map(({ source }) => source).join('|')})` +
    `|(?<space>${LINE_CONTROL.source})|(?<layout>[\\n\\t])|\\p{Surrogate}`,
  'gu',
);

/**
 * Text that can neither control a terminal nor show anything other than what it contains: without control sequences and their payload,
 * control characters, bidirectional and invisible characters. A lone surrogate becomes U+FFFD. Newlines and tabs stay if `multiline`,
 * else they become spaces. Idempotent, in linear time.
 */
export function printable(text: string, { multiline = false } = {}): string {
  return text.replace(UNPRINTABLE, (match, dropped?: string, space?: string, layout?: string) => {
    if (dropped !== undefined) return '';
    if (space !== undefined) return ' ';
    if (layout !== undefined) return multiline ? match : ' ';
    return '\ufffd';
  });
}

const SEQUENCES = new RegExp(SEQUENCE.source, 'g');
/** A control string or escape sequence whose end depends on what follows. */
const UNENDED =
  /^(?:(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*|(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b[ -/]*)$/;
const CONTROL_STRING = /^(\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*$/;
/** The end of a text that must be read together with what follows: half a Windows line end, half a surrogate pair. */
const HALF = /[\r\ud800-\udbff]$/;

/**
 * Multiline `printable` of a text that arrives in pieces: anything that could become a control sequence is held back until it is
 * complete. All pieces together give the same as the complete text.
 */
export function openGrowingPrintable(): { add(piece: string): string; end(): string } {
  let held = '';
  const shown = (text: string) => printable(text, { multiline: true });
  return {
    add(piece) {
      const text = held + piece;
      const end = endOfWhole(text);
      // Nothing of a control string is shown: its beginning is enough to find its end.
      held = text.slice(end).replace(CONTROL_STRING, '$1');
      return shown(text.slice(0, end));
    },
    end() {
      const rest = held;
      held = '';
      return shown(rest);
    },
  };
}

/** Where the part of a text begins that cannot be read until more arrives. */
function endOfWhole(text: string): number {
  let last: RegExpExecArray | undefined;
  for (const match of text.matchAll(SEQUENCES)) last = match;
  if (last !== undefined && last.index + last[0].length === text.length && UNENDED.test(last[0])) return last.index;
  return HALF.test(text) ? text.length - 1 : text.length;
}

/** Wide in East Asian text (Unicode's East_Asian_Width W and F, by whole blocks), and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Columns that a terminal needs for one printable character. */
function columnsOf(character: string): number {
  if (/^[\p{Mn}\p{Me}]$/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Columns that a terminal needs for printable text on one line. */
export function widthOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOf(character);
  return columns;
}

/** Text on one line of at most `maxColumns` terminal columns: `shortened`, with each run of white space as one space. */
export function oneLine(text: string, maxColumns: number): string {
  return shortened(printable(text).replace(/\s+/g, ' ').trim(), maxColumns);
}

/**
 * Like `shortened`, but cut between words, or between parts of a name such as `qwen-35b_step/100`, if one of them ends in the last
 * half.
 */
export function shortenedByWords(text: string, maxColumns: number): string {
  const cut = shortened(text, maxColumns);
  if (cut === printable(text)) return cut;
  const whole = /^.*[\s\-_/.:,](?=.*…$)/su.exec(cut)?.[0].trimEnd() ?? '';
  return widthOf(whole) * 2 >= maxColumns ? `${whole}…` : cut;
}

/** Printable text of at most `maxColumns` terminal columns, with an ellipsis where something was cut off. */
export function shortened(text: string, maxColumns: number): string {
  const line = printable(text);
  let columns = 0;
  let end = 0;
  // The longest start that leaves a column for the ellipsis.
  let shortEnd = 0;
  for (const character of line) {
    columns += columnsOf(character);
    if (columns > maxColumns) return maxColumns < 1 ? '' : `${line.slice(0, shortEnd)}…`;
    end += character.length;
    if (columns < maxColumns) shortEnd = end;
  }
  return line;
}

// Command lines that people can paste into a shell.

/** A word as a POSIX shell reads it back: quoted if necessary, and without anything that could control the terminal. */
function shellWord(text: string): string {
  const shown = printable(text);
  return /^[\w./:@%+,=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

/** Words as one line for a POSIX shell. */
export function shellLine(words: readonly string[]): string {
  return words.map(shellWord).join(' ');
}

// Paths as they are shown to people.

type Place = Pick<Io, 'cwd' | 'isBeside'>;

/**
 * A path for people: relative if below the working folder; relative with `..` if paths were typed that way and it is shorter; else in
 * full.
 */
export function shownPath(path: string, { cwd, isBeside = false }: Place): string {
  const from = relative(cwd, path);
  const isFrom = from !== '' && !isAbsolute(from) && (isBeside ? from.length < path.length : !from.startsWith('..'));
  return printable(isFrom ? from : path);
}

/** A text in which each path is shown as by `shownPath`. */
export function withShownPaths(text: string, { cwd, isBeside = false }: Place): string {
  const own = `(?!${escaped(basename(cwd))}(?:[\\\\/\\s]|$))`;
  const beside = isBeside ? [[dirname(cwd), `(?=\\S)${own}`, `..${sep}`] as const] : [];
  return [[cwd, '(?=\\S)', ''] as const, ...beside].reduce((shown, [folder, end, from]) => {
    // Every path is below the root. A path begins a word, and is not inside another path or an address.
    if (folder.endsWith(sep) || !shown.includes(folder)) return shown;
    return shown.replace(new RegExp(`(?<![\\w.~\\\\/-])${escaped(folder)}[\\\\/]${end}`, 'g'), () => from);
  }, text);
}

/** The source of a pattern that matches exactly this text. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

// Figures in words.

/**
 * Formats like Python's `.2f`, so that a table and the official script's output agree to the last digit: exact ties (only eighths can
 * be ties) go to the even digit, while `toFixed` rounds up. What rounds to zero has no sign.
 */
export function twoDecimals(value: number): string {
  const below = Math.floor(value * 100);
  const isTie = Number.isInteger(value * 8) && value * 100 - below === 0.5;
  const text = (isTie ? (below + Math.abs(below % 2)) / 100 : value).toFixed(2);
  return text === '-0.00' ? '0.00' : text;
}

/** A difference, with its sign. */
export function signed(value: number): string {
  const text = twoDecimals(value);
  return value > 0 && text !== '0.00' ? `+${text}` : text;
}

/** The ends of an interval; without an interval they are absent, or null in a document. */
export interface Ends {
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
}

/** An interval such as `1.00 to 2.00`, its ends formatted by `show`; undefined if there is none. */
export function intervalText({ low, high }: Ends, show = twoDecimals): string | undefined {
  return typeof low !== 'number' || typeof high !== 'number' ? undefined : `${show(low)} to ${show(high)}`;
}

const MOST_DIGITS = 6;

/** A value formatted by `show`, with more decimals if it would otherwise look equal to the limit that it is compared with. */
export function besideLimit(value: number, limit: number, show = twoDecimals): string {
  if (value === limit || show(value) !== show(limit)) return show(value);
  let digits = 2;
  while (digits < MOST_DIGITS && value.toFixed(digits) === limit.toFixed(digits)) digits++;
  return value.toFixed(digits);
}

/** `1 row`, `2 rows`; `show` formats the number. */
export function counted(
  count: number,
  one: string,
  many = `${one}s`,
  show: (count: number) => string = String,
): string {
  return `${show(count)} ${count === 1 ? one : many}`;
}

/** A whole number with thousands separators: `262,144`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A size such as `45 kB`, `12.3 MB` or `1.20 GB` (powers of ten); a part is shown in the unit of `whole`. */
export function bytesText(bytes: number, whole = bytes): string {
  if (whole < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return whole < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
];

/** Seconds in at most two units: `45 s`, `7 min 12 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const at = UNITS.findIndex(([, size]) => whole >= size);
  const [unit, size] = UNITS[at] ?? ['s', 1];
  const [next, part] = UNITS[at + 1] ?? ['s', 1];
  const first = `${Math.floor(whole / size)} ${unit}`;
  return size === 1 ? first : `${first} ${Math.floor((whole % size) / part)} ${next}`;
}

// Money: one rounding everywhere.

/** The smallest price in dollars whose digits are shown. */
const LEAST = 1e-6;

/** US dollars: `$12.35`, `$1,234.57`, `$0.0034`. Below a dollar, two significant digits, and at least cents. */
export function dollars(usd: number): string {
  if (usd > 0 && usd < LEAST) return '<$0.000001';
  const decimals = usd >= 1 || usd === 0 ? 2 : Math.max(2, 1 - Math.floor(Math.log10(usd)));
  const [whole = '', part = ''] = usd.toFixed(decimals).split('.');
  return `$${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${part.replace(/(?<=..)0+$/, '')}`;
}

/** A cost in a table cell: `$12.35`, `unknown`, or `≥ $3.10` if part of it is unknown. */
export function costCell({ usd, unpriced }: Cost): string {
  if (usd === undefined) return unpriced === 0 ? dollars(0) : 'unknown';
  return unpriced === 0 ? dollars(usd) : `≥ ${dollars(usd)}`;
}
