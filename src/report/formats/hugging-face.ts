// The scores of one run as a file for the Hugging Face Hub.

import { asciiJson } from '../../core/document.js';
import { UserError } from '../../core/errors.js';
import { intervalText, twoDecimals } from '../../core/figures.js';
import { DOMAINS } from '../../core/types.js';
import type { Block, BoardRow, Leaderboard } from '../leaderboard/board.js';

/** The benchmark's data set on the Hub. */
const DATASET = 'Qwen/AgentWorldBench';

/**
 * The scores of one run as a file for `.eval_results/` in the model's repository: a list of entries with `dataset.id`,
 * `dataset.task_id`, `value`, `date` and `notes` (https://huggingface.co/docs/hub/eval-results). The tasks are named here as the
 * domains are, and `overall`, since the data set declares none. The values are official figures, as are those that others publish.
 * @throws UserError (2) where there is not exactly one run with scores, and where it was not judged as published ones, unless
 * `unofficial` allows that; the file then says so.
 */
export function huggingFaceBoard(board: Leaderboard, unofficial: boolean): string {
  const rows = board.blocks.flatMap((block) =>
    block.rows.filter((row) => row.run !== undefined && block.measure === undefined).map((row) => ({ block, row })),
  );
  const [only] = rows;
  if (only === undefined || rows.length > 1) {
    const found = rows.length === 0 ? 'none of these runs has ratings' : `these are ${rows.length} runs`;
    throw new UserError(`--format hf writes the scores of one run, and ${found}; choose one with --run`);
  }
  const { block, row } = only;
  if (!block.isOfficial && !unofficial) {
    throw new UserError(
      `--format hf writes scores of ${DATASET}, and this run was not judged as those are (${block.title}); judge it with the official judge and rubric pack, or add --unofficial, which the file will say`,
    );
  }
  const tasks: readonly string[] = ['overall', ...DOMAINS];
  return [
    "# For .eval_results/ in the model's repository; see https://huggingface.co/docs/hub/eval-results\n",
    ...(block.isOfficial ? [] : [`# ${UNOFFICIAL}\n`]),
    ...tasks.flatMap((task) => entryOf(block, row, task)),
  ].join('');
}

const UNOFFICIAL = 'NOT THE OFFICIAL JUDGE, RUBRIC PACK OR PROTOCOL: not comparable with published figures.';

function entryOf(block: Block, row: BoardRow, task: string): string[] {
  const figure = row.figures.get(task);
  if (figure === undefined || row.run === undefined) return [];
  const value = figure.official ?? figure.value;
  const counted =
    twoDecimals(value) === twoDecimals(figure.value)
      ? ''
      : `; ${twoDecimals(figure.value)} with the model's failures at rating 1`;
  const around = intervalText(figure);
  const interval = around === undefined ? '' : `; 95 % interval${counted === '' ? '' : ' of that'} ${around}`;
  const rows = `; ${figure.rows} rows${row.isComplete ? '' : ', incomplete'}`;
  const notes = `${block.isOfficial ? '' : `${UNOFFICIAL} `}${block.title}${counted}${interval}${rows}`;
  const lines = [
    '- dataset:',
    `    id: ${DATASET}`,
    `    task_id: ${task}`,
    `  value: ${twoDecimals(value)}`,
    `  date: ${asciiJson(row.run.at.slice(0, 10))}`,
    `  notes: ${asciiJson(notes)}`,
    '',
  ];
  return [lines.join('\n')];
}
