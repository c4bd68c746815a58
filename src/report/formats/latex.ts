// A leaderboard as LaTeX tables.

import { type Block, type BoardRow, isMarked, type Leaderboard, remarksOn } from '../leaderboard/board.js';

export function latexBoard(board: Leaderboard): string {
  return `% needs \\usepackage{booktabs}\n${board.blocks.map(latexBlock).join('\n')}`;
}

function latexBlock(block: Block): string {
  const line = (cells: readonly string[]) => `  ${cells.join(' & ')} \\\\`;
  const cell = (row: BoardRow) => (text: string, column: number) =>
    isMarked(block, row, column) ? `\\textbf{${latexText(text)}}` : latexText(text);
  return [
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${latexText(block.heading)}}`,
    `  \\begin{tabular}{${block.columns.map((column) => (column.align === 'right' ? 'r' : 'l')).join('')}}`,
    '  \\toprule',
    line(block.columns.map((column) => latexText(column.short))),
    '  \\midrule',
    ...block.rows.map((row) => line(row.texts.map(cell(row)))),
    '  \\bottomrule',
    '  \\end{tabular}',
    ...[...block.judge, ...remarksOn(block, 'Bold')].map((note) => `  \\par{\\footnotesize ${latexText(note)}}`),
    '\\end{table}',
    '',
  ].join('\n');
}

const LATEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '"': '\\textquotedbl{}',
  "'": "{'}",
  '`': '{`}',
  '–': '--',
  '≥': '\\ensuremath{\\geq}',
  '…': '\\ldots{}',
};

/** Text that LaTeX sets as it is. A bracket at a cell's start would be read as the argument of the `\\\\` before it. */
function latexText(text: string): string {
  return text
    .replace(/[\\{}$&#^_~%<>|"'`–≥…]/g, (character) => LATEX[character] ?? `\\${character}`)
    .replace(/^[[*]/, '{$&}');
}
