// The formats of a leaderboard: one file each, and one key in this list.

import type { OutputFormat } from '../core/table.js';
import type { Look } from '../core/terminal.js';
import { csvBoard } from './formats/csv.js';
import { htmlBoard } from './formats/html.js';
import { huggingFaceBoard } from './formats/hugging-face.js';
import { jsonBoard } from './formats/json.js';
import { latexBoard } from './formats/latex.js';
import { markdownBoard } from './formats/markdown.js';
import { terminalBoard } from './formats/terminal.js';
import type { Sha256 } from './html.js';
import type { Leaderboard } from './leaderboard/board.js';

/** What formats need to know beside the leaderboard. */
interface BoardLook extends Look {
  /** For the policy of the HTML page. */
  readonly sha256: Sha256;
  /** Whether figures of another judge or rubric pack may go into a file for the official data set. */
  readonly unofficial: boolean;
}

/** A leaderboard in each format. Whatever its texts hold, they stay text. */
export const FORMATS = {
  terminal: { endings: [], print: terminalBoard },
  md: { endings: ['.md'], print: markdownBoard },
  csv: { endings: ['.csv'], print: csvBoard },
  json: { endings: ['.json'], print: jsonBoard },
  latex: { endings: ['.tex'], print: latexBoard },
  html: { endings: ['.html', '.htm'], print: (board, { sha256 }) => htmlBoard(board, sha256) },
  hf: { endings: ['.yaml', '.yml'], print: (board, { unofficial }) => huggingFaceBoard(board, unofficial) },
} satisfies Record<string, OutputFormat<Leaderboard, BoardLook>>;
