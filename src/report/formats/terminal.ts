// A leaderboard in a terminal.

import { shortenedByWords } from '../../printable.js';
import {
  type Block,
  type BoardRow,
  headingOf,
  isMarked,
  judgeLine,
  type Leaderboard,
  remarksOn,
} from '../leaderboard/board.js';
import { bold, type Look, terminal, wrapped } from '../terminal.js';

/** Widest cell in a terminal. */
const CELL_COLUMNS = 40;

export function terminalBoard(board: Leaderboard, look: Look): string {
  return board.blocks.map((block) => terminalBlock(block, look)).join('\n');
}

function terminalBlock(block: Block, look: Look): string {
  const title = wrapped(headingOf(block), look.columns).map((line) => bold(line, look));
  const judge = judgeLine(block).flatMap((line) => wrapped(line, look.columns));
  const isOwn = (row: BoardRow) => row.run !== undefined;
  const groups = [block.rows.filter(isOwn), block.rows.filter((row) => !isOwn(row))].filter((rows) => rows.length > 0);
  const footnotes = remarksOn(block, look.color ? 'Bold' : '*');
  const table = {
    columns: block.columns,
    groups: groups.map((rows) => rows.map((row) => row.texts.map((text) => shortenedByWords(text, CELL_COLUMNS)))),
    footnotes,
    isStrong: (group: number, row: number, column: number) => isMarked(block, groups[group]?.[row], column),
  };
  return `${[...title, ...judge].join('\n')}\n\n${terminal(table, look)}`;
}
