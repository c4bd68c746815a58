// A leaderboard -> one HTML page that asks for nothing and runs nothing, in the look of the report.

import { counted, twoDecimals } from '../../core/figures.js';
import { type Column, intervalCell, NONE } from '../../core/table.js';
import { escapeHtml, pageHead, type Sha256 } from '../html/frame.js';
import {
  type Block,
  type BoardColumn,
  type BoardFigure,
  type BoardRow,
  headingOf,
  judgeLine,
  type Leaderboard,
  remarksOn,
} from '../leaderboard/board.js';
import { PUBLISHED_SOURCE } from '../published.js';

const TITLE = 'AgentWorldBench leaderboard';

/** The page, with the block's own runs above the published rows. Names of runs and judges may be hostile. */
export function htmlBoard(board: Leaderboard, sha256: Sha256): string {
  const runs = board.blocks.reduce((sum, { rows }) => sum + rows.filter(({ run }) => run !== undefined).length, 0);
  const counts = [counted(runs, 'run'), counted(board.blocks.length, 'way of judging', 'ways of judging')].map(
    (text) => `<span>${text.replace(/^\d+/, '<b>$&</b>')}</span>`,
  );
  return [
    pageHead(TITLE, sha256),
    `<main class="wrap" id="main" tabindex="-1"><header><h1>${TITLE}</h1><p class="by">${counts.join('')}</p></header>`,
    ...board.blocks.map(blockSection),
    '</main></body></html>\n',
  ].join('\n');
}

function blockSection(block: Block, index: number): string {
  const id = `block-${index + 1}`;
  const ids = block.columns.map((column) => column.id);
  const columns = block.columns.filter(({ id }) => !isBelow(id, ids));
  const head = columns.map((column) => `<th scope="col"${classOf(column)}>${escapeHtml(column.heading)}</th>`);
  const own = block.rows.filter(({ run }) => run !== undefined);
  const published = block.rows.filter(({ run }) => run === undefined);
  const line = (row: BoardRow) => rowLine(block, columns, row);
  const notes = remarksOn(block, 'In colour').map((note) => `<li>${escapeHtml(note)}</li>`);
  return [
    `<section class="block"><h2 id="${id}">${textOf(headingOf(block))}</h2>`,
    ...judgeLine(block).map((line) => `<p class="note">${escapeHtml(line)}</p>`),
    `<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}"><table class="board" aria-labelledby="${id}">`,
    `<thead><tr>${head.join('')}</tr></thead>`,
    own.length === 0 ? '' : `<tbody>${own.map(line).join('')}</tbody>`,
    published.length === 0
      ? ''
      : `<tbody class="published">${publishedHead(columns)}${published.map(line).join('')}</tbody>`,
    `</table></div><ul class="notes">${notes.join('')}</ul></section>`,
  ].join('\n');
}

/** Whether a column has no place of its own: intervals and official figures stand under their figures, rows under the coverage. */
function isBelow(id: string, ids: readonly string[]): boolean {
  const hasOverall = ids.includes('overall') || ids.includes('macro');
  return (hasOverall && (id === 'interval' || id === 'official')) || (id === 'rows' && ids.includes('coverage'));
}

function publishedHead(columns: readonly BoardColumn[]): string {
  return `<tr class="group"><th colspan="${columns.length}" scope="rowgroup">Published: official figures, judge ${PUBLISHED_SOURCE.judge}</th></tr>`;
}

function rowLine(block: Block, columns: readonly BoardColumn[], row: BoardRow): string {
  const cells = columns.slice(1).map((column) => {
    const text = textOf(row.texts[block.columns.indexOf(column)] ?? '');
    const figure = column.isFigure ? row.figures.get(column.id) : undefined;
    const shown = row.marked.has(column.id) ? `<strong>${text}</strong>` : text;
    const hasNothing = row.texts[block.columns.indexOf(column)] === NONE;
    // On a phone each figure stands in a place of its own, under its column's name.
    const label = ` data-label="${escapeHtml(column.heading)}"`;
    const classes = [column.align === 'right' ? 'n' : '', hasNothing ? 'none' : ''].filter(Boolean).join(' ');
    const under = [
      ...(figure === undefined ? [] : below(figure)),
      ...(column.id === 'coverage' ? rowsOf(block, row) : []),
    ];
    const small = under.map((line) => `<small>${line}</small>`).join('');
    return `<td${classes === '' ? '' : ` class="${classes}"`}${label}>${shown}${small}</td>`;
  });
  return `<tr><th scope="row">${textOf(row.name)}</th>${cells.join('')}</tr>`;
}

/** A figure's interval, and the official figure where it differs. */
function below({ value, low, high, official }: BoardFigure): string[] {
  const interval = low === undefined || high === undefined ? [] : [intervalCell({ low, high })];
  const differs = official !== undefined && Math.abs(official - value) >= 0.005;
  return [...interval, ...(differs ? [`official ${twoDecimals(official)}`] : [])];
}

function rowsOf(block: Block, row: BoardRow): string[] {
  const place = block.columns.findIndex(({ id }) => id === 'rows');
  return place === -1 || row.run === undefined ? [] : [textOf(row.texts[place] ?? '')];
}

function classOf({ align }: Column): string {
  return align === 'right' ? ' class="n"' : '';
}

/** Text for an element. Writing from right to left is kept apart, so that it reorders nothing beside it. */
function textOf(text: string): string {
  const escaped = escapeHtml(text);
  return /[\u0590-\u08ff\ufb1d-\ufefc]|[\ud802\ud803\ud83a\ud83b]/.test(escaped) ? `<bdi>${escaped}</bdi>` : escaped;
}
