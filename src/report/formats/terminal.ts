// A leaderboard in a terminal.

import { shortenedByWords } from '../../core/printable.js';
import { bold, fits, type Look, legendOf, terminal, wrapped } from '../../core/terminal.js';
import { type Block, type BoardRow, isMarked, type Leaderboard, legendOn } from '../leaderboard/board.js';

/** Widest cell in a terminal. */
const CELL_COLUMNS = 40;

export function terminalBoard({ blocks }: Leaderboard, look: Look): string {
  const legend = blocks.flatMap((block) => legendOn(block, look.color ? 'Green' : '*'));
  return [...blocks.map((block) => terminalBlock(block, look)), legendOf(legend, look)].join('\n');
}

function terminalBlock(block: Block, look: Look): string {
  const mark = look.color ? 'Green' : '*';
  const title = wrapped(block.heading, look.columns).map((line) => bold(line, look));
  const judge = block.judge.flatMap((line) => wrapped(line, look.columns));
  const isOwn = (row: BoardRow) => row.run !== undefined;
  const groups = [block.rows.filter(isOwn), block.rows.filter((row) => !isOwn(row))].filter((rows) => rows.length > 0);
  const marks = block.markNote === undefined ? [] : [`${mark}: best of its column, or not shown to be worse.`];
  const table = (columns: readonly number[], notes: readonly string[]) => ({
    columns: columns.flatMap((column) => block.columns[column] ?? []),
    groups: groups.map((rows) =>
      rows.map((row) => columns.map((column) => shortenedByWords(row.texts[column] ?? '', CELL_COLUMNS))),
    ),
    footnotes: [...marks, ...notes, ...block.notes],
    isStrong: (group: number, row: number, column: number) =>
      isMarked(block, groups[group]?.[row], columns[column] ?? -1),
  });
  const all = table([...block.columns.keys()], []);
  const alike = [...block.columns.keys()].filter((column) => isAlike(block, column));
  const telling = [...block.columns.keys()].filter((column) => !alike.includes(column));
  const facts = alike.map((column) => `${block.columns[column]?.heading} ${block.rows[0]?.texts[column]}`);
  const shown = alike.length === 0 || fits(all, look) ? all : table(telling, [`Of every run: ${facts.join(', ')}.`]);
  return `${[...title, ...judge].join('\n')}\n\n${terminal(shown, look)}`;
}

/** Whether a column says the same of every run, so that it gives way where there is no room. */
function isAlike({ columns, rows }: Block, column: number): boolean {
  const own = rows.filter(({ run }) => run !== undefined);
  const texts = new Set(own.map((row) => row.texts[column]));
  return ['coverage', 'rows'].includes(columns[column]?.id ?? '') && texts.size === 1;
}
