// The formats of a leaderboard: one file each, and one key in this list.

import { csvBoard } from './formats/csv.js';
import { htmlBoard } from './formats/html.js';
import { huggingFaceBoard } from './formats/hugging-face.js';
import { jsonBoard } from './formats/json.js';
import { latexBoard } from './formats/latex.js';
import { markdownBoard } from './formats/markdown.js';
import { terminalBoard } from './formats/terminal.js';
import type { Leaderboard } from './leaderboard/board.js';
import type { Sha256 } from './page/frame.js';
import type { Look } from './terminal.js';

/** What formats need to know beside the leaderboard. */
interface BoardLook extends Look {
  /** For the policy of the HTML page. */
  readonly sha256: Sha256;
  /** Whether figures of another judge or rubric pack may go into a file for the official data set. */
  readonly unofficial: boolean;
}

/** A leaderboard in each format, ending in a line feed. Whatever its texts hold, they stay text. */
export const FORMATS = {
  terminal: terminalBoard,
  md: markdownBoard,
  csv: csvBoard,
  json: jsonBoard,
  latex: latexBoard,
  html: (board, { sha256 }) => htmlBoard(board, sha256),
  hf: (board, { unofficial }) => huggingFaceBoard(board, unofficial),
} satisfies Record<string, (board: Leaderboard, look: BoardLook) => string>;
export type Format = keyof typeof FORMATS;
