// Texts and tables in GitHub's Markdown, and a leaderboard in it.

import { notesBelow, type Table } from '../../core/table.js';
import { type Block, type BoardRow, isMarked, type Leaderboard, remarksOn } from '../leaderboard/board.js';

export function markdownBoard(board: Leaderboard): string {
  return board.blocks.map(markdownBlock).join('\n');
}

function markdownBlock(block: Block): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const cell = (row: BoardRow) => (text: string, column: number) =>
    isMarked(block, row, column) ? `**${markdownText(text)}**` : markdownText(text);
  return [
    `### ${markdownText(block.heading)}`,
    '',
    ...block.judge.flatMap((text) => [markdownText(text), '']),
    line(block.columns.map((column) => markdownText(column.heading))),
    line(block.columns.map((column) => (column.align === 'right' ? '--:' : ':--'))),
    ...block.rows.map((row) => line(row.texts.map(cell(row)))),
    '',
    ...remarksOn(block, 'Bold').map((note) => `- ${markdownText(note)}`),
    '',
  ].join('\n');
}

/** A table in GitHub's Markdown, its notes as a list, ending in an empty line. */
export function markdownTable(table: Table): string {
  const { columns, groups } = table;
  const notes = notesBelow(table);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(({ heading }) => markdownText(heading))),
    line(columns.map(({ align }) => (align === 'right' ? '--:' : ':--'))),
    ...groups.flat().map((row) => line(row.map(markdownText))),
    '',
    ...notes.map((note) => `- ${markdownText(note)}`),
    ...(notes.length === 0 ? [] : ['']),
  ].join('\n');
}

/**
 * Text that GitHub's Markdown shows as it is: no table cell ends, no tag opens, no address becomes a link, nobody is mentioned.
 */
export function markdownText(text: string): string {
  return text
    .replace(/[\\`*_[\]<>&|~#$]|:(?=\/\/)/g, '\\$&')
    .replace(/@/g, '@<!-- -->')
    .replace(/(www)\./gi, '$1\\.');
}
