// What the HTML pages are made with: markup in which every text is escaped, tables, and a frame under which a page can ask for nothing.

import { oneLine, printable } from '../core/printable.js';
import { STYLE } from './style.js';

/** SHA-256 of a text's UTF-8 bytes in base64. */
export type Sha256 = (text: string) => string;

/** Markup, which is put into other markup as it is. */
export class Markup {
  constructor(readonly source: string) {}
}

/** What markup can hold. Texts are escaped; `undefined` and `false` are nothing. */
export type Child = Markup | string | number | undefined | false | readonly Child[];

/** Markup from a template: no text put into it can end an element or an attribute, steer the page, or hide. */
export function html(parts: TemplateStringsArray, ...children: readonly Child[]): Markup {
  return new Markup(String.raw({ raw: parts }, ...children.map(sourceOf)));
}

function sourceOf(child: Child): string {
  if (child === undefined || child === false) return '';
  if (child instanceof Markup) return child.source;
  return typeof child === 'object' ? child.map(sourceOf).join('') : escaped(oneLine(String(child), 4000));
}

/** A text of several lines, which stays as long as it is. */
export function longText(text: string): Markup {
  return new Markup(escaped(printable(text, { multiline: true })));
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&${ENTITIES[character]};`);
}

interface TableRow {
  /** The row's name, then a cell for each further column; a name alone stands above the rows that follow. */
  readonly cells: readonly Child[];
  /** Whether it sums up those above it. */
  readonly isSum?: boolean | undefined;
}

interface TableLook {
  /** The class of the table. */
  readonly look?: string;
  /** What it is called where it can be scrolled by keyboard. */
  readonly label?: string;
  /** The class of a column's cells; those of `t` hold a drawing. Figures (`n`) stand on the right. */
  classOf?(column: number, row?: TableRow): string;
}

/** A table of rows under its heads. Each cell of a board says what its column is called: a phone has no room for heads. */
export function table(
  heads: readonly Child[],
  rows: readonly TableRow[],
  { look, label, classOf = (column) => (column === 0 ? '' : 'n') }: TableLook = {},
): Markup {
  const attribute = (name: string, value: Child) => value !== undefined && value !== '' && html` ${name}="${value}"`;
  const head = heads.map((text, column) => {
    const classes = attribute('class', classOf(column));
    return classOf(column) === 't' ? html`<td${classes}>${text}</td>` : html`<th scope="col"${classes}>${text}</th>`;
  });
  const lines = rows.map((row) => {
    const [name, ...cells] = row.cells;
    if (cells.length === 0) return html`<tr class="group"><th colspan="${heads.length}">${name}</th></tr>`;
    const shown = cells.map((cell, at) => {
      const called = heads[at + 1];
      const labelled = typeof called === 'string' && attribute('data-label', called);
      return html`<td${attribute('class', classOf(at + 1, row))}${look === 'board' && labelled}>${cell}</td>`;
    });
    return html`<tr${row.isSum && html` class="sum"`}><th scope="row">${name}</th>${shown}</tr>`;
  });
  const region = label !== undefined && html` tabindex="0" role="region" aria-label="${label}"`;
  return html`<div class="scroll"${region}><table${attribute('class', look)}><thead><tr>${head}</tr></thead><tbody>${lines}</tbody></table></div>`;
}

/** A page and what it runs. Its texts may be hostile. */
interface Page {
  readonly title: string;
  /** Above its content, and below. */
  readonly nav?: Child;
  readonly main: Child;
  readonly panel?: Child;
  /** Name and version of the program. */
  readonly tool?: string;
  /** What it looks like beyond the other pages. */
  readonly style?: string;
  readonly script?: string;
  /** JSON for the script by the id of its element, without `<` (`scriptJson`). */
  readonly data?: Readonly<Record<string, string>>;
}

/** A page in one file. A policy allows its own style, and its script where it has one, by their hashes, and no request. */
export function pageOf({ title, nav, main, panel, tool, style = '', script, data = {} }: Page, sha256: Sha256): string {
  const look = STYLE + style;
  const policy = [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src 'sha256-${sha256(script)}'`]),
    `style-src 'sha256-${sha256(look)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
    `<link rel="icon" href="data:,">${html`<title>${title}</title>`.source}<style>${look}</style></head><body>`,
    '<a class="skip" href="#main">Skip to the content</a>',
    html`${nav}<main class="wrap" id="main" tabindex="-1">${main}</main>${panel}`.source,
    tool === undefined ? '' : html`<footer class="wrap">${tool}</footer>`.source,
    ...Object.entries(data).map(([id, json]) => `<script type="application/json" id="${id}">${json}</script>`),
    script === undefined ? '' : `<script>${script}</script>`,
    '</body></html>\n',
  ].join('');
}

/** JSON without `<`: nothing in it can end the script element that it stands in. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
