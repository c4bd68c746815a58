// What pages are put together from: figures as text, blocks, and a head with facts, warnings and key figures.

import { type Ends, intervalText } from '../core/figures.js';
import type { Table } from '../core/table.js';
import { type Child, html, type Markup, table } from './html.js';

/** What stands where there is no figure. */
export const DASH = '–';

/** A score; a missing one as a dash. */
export function number(estimate: { readonly value: number } | null | undefined, decimals = 1): string {
  return estimate?.value.toFixed(decimals) ?? DASH;
}

/** The interval of a score, where it has one. */
export function range(estimate: Ends | null | undefined, decimals = 1): string | undefined {
  return intervalText(estimate ?? {}, (value) => value.toFixed(decimals));
}

/** A difference in points with its sign. The minus is the typographic one, unlike in terminals. */
export function signed(difference: { readonly value: number } | null | undefined): string {
  return difference ? signedPoints(difference.value) : DASH;
}

/** The interval of a difference, where it has one. */
export function signedRange(difference: Ends | null | undefined): string | undefined {
  return intervalText(difference ?? {}, signedPoints);
}

function signedPoints(points: number): string {
  const text = Math.abs(points).toFixed(1);
  return text === '0.0' ? text : `${points > 0 ? '+' : '−'}${text}`;
}

/** A whole number with separators; a missing one as a dash. */
export function count(value: number | undefined): Child {
  if (value === undefined) return DASH;
  return value === 0 ? html`<span class="zero">0</span>` : value.toLocaleString('en');
}

/** A cell of a figure above its interval; a dash where there is none. */
export function withRange(figure: string, interval: string | undefined): Child {
  return figure === DASH ? DASH : html`${figure}<span class="range under">${interval ?? 'no interval'}</span>`;
}

/** A part of a page under its heading, with a note on how to read it; nothing where it has no content. */
export function block(title: Child, note: Child, body: Markup | undefined): Child {
  return body && html`<section class="block"><h2>${title}</h2><p class="note">${note}</p>${body}</section>`;
}

/** A table that has a row at least. */
export function tableOf(...[heads, rows, look]: Parameters<typeof table>): Markup | undefined {
  return rows.length === 0 ? undefined : table(heads, rows, look);
}

/**
 * A table as the terminal shows it.
 * @param cellOf what stands in a cell, where that is more than its text; @param firstSum the group from which on the first row is a sum
 */
export function terminalTable(
  { columns, groups, footnotes = [] }: Table,
  cellOf: (text: string, row: number, column: number) => Child = String,
  firstSum = 1,
): Child {
  const rows = groups
    .flatMap((group, at) => group.map((texts, index) => ({ texts, isSum: at >= firstSum && index === 0 })))
    .map(({ texts, isSum }, row) => ({ cells: texts.map((text, column) => cellOf(text, row, column)), isSum }));
  const heads = columns.map(({ heading }) => heading);
  return [table(heads, rows, { look: 'matrix' }), html`<p class="note">${footnotes.join(' ')}</p>`];
}

export type Fact = readonly [name: string, text: string | undefined];
/** A title, a figure, and the lines under it. */
export type KeyFigure = readonly [title: string, figure: Child, ...under: Child[]];

/** The head of a page: what it is about, what made it, what to heed, and its key figures. */
export function header(
  name: string,
  facts: Child,
  warnings: readonly string[],
  figures: readonly (KeyFigure | false | null | undefined)[],
  below?: Child,
): Markup {
  const said = warnings.map((text) => html`<p>${text}</p>`);
  const boxes = figures
    .filter((figure) => !!figure)
    .map(
      ([title, figure, ...under]) =>
        html`<div><dt>${title}</dt><dd class="big">${figure}</dd><dd class="under">${lines(under)}</dd></div>`,
    );
  return html`<header><h1>${name}</h1><p class="by">${facts}</p>${said.length > 0 && html`<div class="warn" role="note">${said}</div>`}<dl class="key">${boxes}</dl>${below}</header>`;
}

function lines(texts: readonly Child[]): Child {
  return texts
    .filter((text) => text !== undefined && text !== false)
    .map((text, at) => (at === 0 ? text : html`<br>${text}`));
}

/** Facts in one line; what nobody knows is left out. */
export function factSpans(facts: readonly Fact[]): Child {
  return facts.map(([name, text]) => text !== undefined && text !== '' && html`<span>${name} <b>${text}</b></span>`);
}

/** The interval under a key figure. */
export function underFigure(interval: string | undefined): string {
  return interval === undefined ? 'no interval' : `95 %: ${interval}`;
}
