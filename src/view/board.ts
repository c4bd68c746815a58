// A leaderboard -> one HTML page that asks for nothing and runs nothing, in the look of the report; and all formats of a leaderboard.

import { twoDecimals } from '../core/printable.js';
import { intervalCell, NONE, type OutputFormat } from '../core/table.js';
import { type BoardLook, TEXT_FORMATS } from '../report/formats.js';
import { type Block, type BoardRow, type Leaderboard, remarksOn } from '../report/leaderboard/leaderboard.js';
import type { BoardFigure } from '../report/leaderboard/runs.js';
import { PUBLISHED_SOURCE } from '../report/published.js';
import { type Child, html, type Markup, pageOf, type Sha256, type TableRow, table } from './html.js';

const { hf, ...others } = TEXT_FORMATS;
/** A leaderboard in each format. `sha256` is for the policy of the page. */
export const FORMATS = {
  ...others,
  html: { endings: ['.html', '.htm'], print: (board, { sha256 }) => htmlBoard(board, sha256) },
  hf,
} satisfies Record<string, OutputFormat<Leaderboard, BoardLook & { readonly sha256: Sha256 }>>;

const TITLE = 'AgentWorldBench leaderboard';

/** The page, with the block's own runs above the published rows. Names of runs and judges may be hostile. */
function htmlBoard(board: Leaderboard, sha256: Sha256): string {
  const runs = board.blocks.flatMap(({ rows }) => rows).filter(({ run }) => run !== undefined);
  const counts = [
    [runs.length, runs.length === 1 ? 'run' : 'runs'] as const,
    [board.blocks.length, board.blocks.length === 1 ? 'way of judging' : 'ways of judging'] as const,
  ].map(([count, what]) => html`<span><b>${count}</b> ${what}</span>`);
  const head = html`<header><h1>${TITLE}</h1><p class="by">${counts}</p></header>`;
  return pageOf({ title: TITLE, main: [head, board.blocks.map(blockSection)] }, sha256);
}

function blockSection(block: Block): Markup {
  const ids = block.columns.map(({ id }) => id);
  const places = [...ids.keys()].filter((place) => !isBelow(ids[place] ?? '', ids));
  const columns = places.flatMap((place) => block.columns[place] ?? []);
  const row = (own: BoardRow): TableRow => ({ cells: places.map((place) => cellOf(block, own, place)) });
  const isOwn = ({ run }: BoardRow) => run !== undefined;
  const published = block.rows.filter((each) => !isOwn(each)).map(row);
  const title = { cells: [`Published: official figures, judge ${PUBLISHED_SOURCE.judge}`] };
  const rows = [...block.rows.filter(isOwn).map(row), ...(published.length > 0 ? [title, ...published] : [])];
  const shown = table(
    columns.map((column) => column.heading),
    rows,
    {
      look: 'board',
      label: block.heading,
      classOf: (column, { cells } = { cells: [] }) =>
        `${columns[column]?.align === 'right' ? 'n' : ''}${cells[column] === NONE ? ' none' : ''}`.trim(),
    },
  );
  const judge = block.judge.map((line) => html`<p class="note">${line}</p>`);
  const notes = remarksOn(block, 'In colour').map((note) => html`<li>${note}</li>`);
  return html`<section class="block"><h2>${textOf(block.heading)}</h2>${judge}${shown}<ul class="notes">${notes}</ul></section>`;
}

/** Whether a column has no place of its own: intervals and official figures stand under their figures, rows under the coverage. */
function isBelow(id: string, ids: readonly string[]): boolean {
  const hasOverall = ids.includes('overall') || ids.includes('macro');
  return (hasOverall && (id === 'interval' || id === 'official')) || (id === 'rows' && ids.includes('coverage'));
}

function cellOf(block: Block, row: BoardRow, place: number): Child {
  const { id = '' } = block.columns[place] ?? {};
  const text = row.texts[place] ?? '';
  const rows = block.columns.findIndex((column) => column.id === 'rows');
  const under = [
    ...below(row.figures.get(id)),
    ...(id === 'coverage' && rows !== -1 && row.run !== undefined ? [row.texts[rows] ?? ''] : []),
  ];
  const shown = row.marked.has(id) ? html`<strong>${text}</strong>` : textOf(text);
  return under.length === 0 ? shown : [shown, under.map((line) => html`<small>${line}</small>`)];
}

/** A figure's interval, and the official figure where it differs. */
function below({ value, low, high, official }: Partial<BoardFigure> = {}): string[] {
  const interval = low === undefined || high === undefined ? [] : [intervalCell({ low, high })];
  const differs = official !== undefined && value !== undefined && Math.abs(official - value) >= 0.005;
  return [...interval, ...(differs ? [`official ${twoDecimals(official)}`] : [])];
}

/** Text for an element. Writing from right to left is kept apart, so that it reorders nothing beside it. */
function textOf(text: string): Child {
  return /[\u0590-\u08ff\ufb1d-\ufefc]|[\ud802\ud803\ud83a\ud83b]/.test(text) ? html`<bdi>${text}</bdi>` : text;
}
