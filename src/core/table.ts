// A table: rows, columns and footnotes, without a form of text; and what a form is.

import { type Ends, intervalText, twoDecimals } from './printable.js';
import { type Dimension, type Estimate, LEAST_CLUSTERS } from './types.js';

export interface Column {
  readonly heading: string;
  /** The heading where space is short. */
  readonly short: string;
  readonly align: 'left' | 'right';
}

/**
 * Columns by their headings, such as `<Domain, Predictions|Pred., Total`: behind a bar stands the heading where space is short, and `<`
 * marks columns of texts, which stand at the left.
 */
export function columnsOf(headings: string): Column[] {
  return headings.split(', ').map((text) => {
    const [heading = '', short = heading] = text.replace(/^</, '').split('|');
    return { heading, short, align: text.startsWith('<') ? 'left' : 'right' };
  });
}

/** A cell of a table: its text, and where that is not all, how it looks, and on a page what stands below it and where it leads. */
export type Cell =
  | string
  | {
      readonly text: string;
      readonly under?: readonly string[];
      /** A class of the stylesheet. */
      readonly look?: string | undefined;
      readonly isStrong?: boolean;
      /** An address within the app. */
      readonly link?: string;
    };

/** What a cell is, its text alone or more. */
export function partsOf(cell: Cell = ''): Exclude<Cell, string> {
  return typeof cell === 'string' ? { text: cell } : cell;
}

export interface Table {
  readonly columns: readonly Column[];
  /** Groups of rows, set apart from each other; each row has a text for every column. */
  readonly groups: readonly (readonly (readonly string[])[])[];
  /** What a reader has to know of these very figures. */
  readonly footnotes?: readonly string[];
  /** How to read any table like this one. */
  readonly legend?: readonly string[];
}

/** A table whose cells say more than a text. */
export interface CellTable extends Omit<Table, 'groups'> {
  readonly groups: readonly (readonly (readonly Cell[])[])[];
}

/** All that is said below a table where it stands alone. */
export function notesBelow({ legend = [], footnotes = [] }: Pick<Table, 'legend' | 'footnotes'>): readonly string[] {
  return [...legend, ...footnotes];
}

/** What stands where there is no figure. */
export const NONE = '-';
/** Why figures may stand without an interval. */
export const NO_INTERVAL = `No interval: fewer than ${LEAST_CLUSTERS} trajectories (for the mean of domains: in any of them), or rows that all say the same.`;

/** A figure as a cell shows it. */
export function figure(estimate: Pick<Estimate, 'value'> | null | undefined): string {
  return estimate ? twoDecimals(estimate.value) : NONE;
}

/** A figure with its interval, which stands below it on a page. */
export function figureCell(estimate: Estimate | undefined, decimals = 1): Cell {
  const interval = intervalText(estimate ?? {}, (value) => value.toFixed(decimals));
  return interval === undefined ? figure(estimate) : { text: figure(estimate), under: [interval] };
}

/** An interval as a cell shows it. */
export function intervalCell(estimate: Ends | undefined): string {
  return intervalText(estimate ?? {})?.replace(' to ', '–') ?? NONE;
}

/** A p below this is written as a bound. */
const LEAST_P = 0.0001;

/** A p as a cell shows it. */
export function chanceText(p: number): string {
  return p < LEAST_P ? `<${LEAST_P}` : p.toFixed(4);
}

/** A dimension as a heading names it. */
export function dimensionName(dimension: Dimension): string {
  return `${dimension.charAt(0).toUpperCase()}${dimension.slice(1)}`;
}

/** A form in which something is shown. */
export interface OutputFormat<Shown, Look> {
  /** What the names of such files end in, in small letters with the dot. A file of any other ending gets the form for a terminal. */
  readonly endings: readonly string[];
  /** The text, ending in a line feed. */
  print(shown: Shown, look: Look): string;
}
