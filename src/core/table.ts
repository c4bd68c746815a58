// A table: rows, columns and footnotes, independent of the output format; and what a format is.

import { type Ends, intervalText, twoDecimals } from './printable.js';
import { type Dimension, type Estimate, LEAST_CLUSTERS } from './types.js';

export interface Column {
  readonly heading: string;
  /** The heading if space is short. */
  readonly short: string;
  readonly align: 'left' | 'right';
}

/**
 * Columns by their headings, such as `<Domain, Predictions|Pred., Total`: the short heading follows a bar, and `<` marks left-aligned
 * text columns.
 */
export function columnsOf(headings: string): Column[] {
  return headings.split(', ').map((text) => {
    const [heading = '', short = heading] = text.replace(/^</, '').split('|');
    return { heading, short, align: text.startsWith('<') ? 'left' : 'right' };
  });
}

/** A table cell: its text, or the text with a look, and on a page with the lines below it and a link. */
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

/** A cell as an object. */
export function partsOf(cell: Cell = ''): Exclude<Cell, string> {
  return typeof cell === 'string' ? { text: cell } : cell;
}

export interface Table {
  readonly columns: readonly Column[];
  /** Groups of rows, set apart from each other; each row has a text for every column. */
  readonly groups: readonly (readonly (readonly string[])[])[];
  /** What a reader has to know about these particular figures. */
  readonly footnotes?: readonly string[];
  /** How to read any table like this one. */
  readonly legend?: readonly string[];
}

/** A table whose cells are more than text. */
export interface CellTable extends Omit<Table, 'groups'> {
  readonly groups: readonly (readonly (readonly Cell[])[])[];
}

/** All notes below a table that is shown on its own. */
export function notesBelow({ legend = [], footnotes = [] }: Pick<Table, 'legend' | 'footnotes'>): readonly string[] {
  return [...legend, ...footnotes];
}

/** Shown if there is no figure. */
export const NONE = '-';
/** Why figures may have no interval. */
export const NO_INTERVAL = `No interval: fewer than ${LEAST_CLUSTERS} trajectories (for the mean over domains: in any domain), or rows that all have the same value.`;

/** A figure as a cell shows it. */
export function figure(estimate: Pick<Estimate, 'value'> | null | undefined): string {
  return estimate ? twoDecimals(estimate.value) : NONE;
}

/** A figure with its interval, which a page shows below it. */
export function figureCell(estimate: Estimate | undefined, decimals = 1): Cell {
  const interval = intervalText(estimate ?? {}, (value) => value.toFixed(decimals));
  return interval === undefined ? figure(estimate) : { text: figure(estimate), under: [interval] };
}

/** An interval as a cell shows it. */
export function intervalCell(estimate: Ends | undefined): string {
  return intervalText(estimate ?? {})?.replace(' to ', '–') ?? NONE;
}

/** A smaller p is written as a bound. */
const LEAST_P = 0.0001;

/** A p as a cell shows it. */
export function chanceText(p: number): string {
  return p < LEAST_P ? `<${LEAST_P}` : p.toFixed(4);
}

/** A dimension as a heading names it. */
export function dimensionName(dimension: Dimension): string {
  return `${dimension.charAt(0).toUpperCase()}${dimension.slice(1)}`;
}

/** An output format. */
export interface OutputFormat<Shown, Look> {
  /** The file name endings of this format, in lower case with the dot. A file with any other ending gets the terminal format. */
  readonly endings: readonly string[];
  /** The text, ending in a line feed. */
  print(shown: Shown, look: Look): string;
}
