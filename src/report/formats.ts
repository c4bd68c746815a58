// Tables and leaderboards -> text, in each format.

import { UserError } from '../errors.js';
import { twoDecimals } from '../figures.js';
import { printable, shortenedByWords } from '../printable.js';
import { DOMAINS } from '../types.js';
import {
  type Block,
  type BoardRow,
  type Figure,
  headingOf,
  isMarked,
  type Leaderboard,
  remarksOn,
} from './board/board.js';
import type { Sha256 } from './page/frame.js';
import { leaderboardPage } from './page/leaderboard.js';
import { bold, type Look, terminal, wrapped } from './terminal.js';

/** What formats need to know beside the leaderboard. */
interface BoardLook extends Look {
  /** For the policy of the HTML page. */
  readonly sha256: Sha256;
  /** Whether figures of another judge or rubric pack may go into a file for the official data set. */
  readonly unofficial: boolean;
}

/** A leaderboard in each format, ending in a line feed. Whatever its texts hold, they stay text. */
export const FORMATS = {
  terminal: (board, look) => board.blocks.map((block) => terminalBlock(block, look)).join('\n'),
  md: (board) => board.blocks.map(markdownBlock).join('\n'),
  csv,
  json,
  latex,
  html: (board, { sha256 }) => leaderboardPage(board, sha256),
  hf: (board, { unofficial }) => huggingFace(board, unofficial),
} satisfies Record<string, (board: Leaderboard, look: BoardLook) => string>;
export type Format = keyof typeof FORMATS;

// Leaderboards in a terminal and in Markdown.

/** Widest cell in a terminal. */
const CELL_COLUMNS = 40;

function terminalBlock(block: Block, look: Look): string {
  const title = wrapped(headingOf(block), look.columns).map((line) => bold(line, look));
  const isOwn = (row: BoardRow) => row.run !== undefined;
  const groups = [block.rows.filter(isOwn), block.rows.filter((row) => !isOwn(row))].filter((rows) => rows.length > 0);
  const footnotes = remarksOn(block, look.color ? 'Bold' : '*');
  const table = {
    columns: block.columns,
    groups: groups.map((rows) => rows.map((row) => row.texts.map((text) => shortenedByWords(text, CELL_COLUMNS)))),
    footnotes,
    isStrong: (group: number, row: number, column: number) => isMarked(block, groups[group]?.[row], column),
  };
  return `${title.join('\n')}\n\n${terminal(table, look)}`;
}

function markdownBlock(block: Block): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const cell = (row: BoardRow) => (text: string, column: number) =>
    isMarked(block, row, column) ? `**${markdownText(text)}**` : markdownText(text);
  return [
    `### ${markdownText(headingOf(block))}`,
    '',
    line(block.columns.map((column) => markdownText(column.heading))),
    line(block.columns.map((column) => (column.align === 'right' ? '--:' : ':--'))),
    ...block.rows.map((row) => line(row.texts.map(cell(row)))),
    '',
    ...remarksOn(block, 'Bold').map((note) => `- ${markdownText(note)}`),
    '',
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

// CSV: a line for each run.

function csv(board: Leaderboard): string {
  const figures = [...new Set(board.blocks.flatMap(figureIds))];
  const head = [
    ...RUN_FIELDS,
    ...figures.flatMap((id) => [id, `${id}_low`, `${id}_high`, `${id}_best`, `${id}_official`]),
  ];
  const lines = board.blocks.flatMap((block, index) =>
    block.rows.map((row) => [
      ...Object.values(runFields(block, index, row)),
      ...figures.flatMap((id) => {
        const figure = row.figures.get(id);
        return [figure?.value, figure?.low, figure?.high, row.marked.has(id), officialIn(row, figure)];
      }),
    ]),
  );
  return [head, ...lines].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/** A figure as the official script counts it; a published row holds no other. */
function officialIn({ run }: BoardRow, figure: Figure | undefined): number | undefined {
  return run === undefined ? figure?.value : figure?.official;
}

function figureIds(block: Block): string[] {
  return block.columns.filter((column) => column.isFigure).map((column) => column.id);
}

type CsvValue = string | number | boolean | null | undefined;

/**
 * A field of RFC 4180, on one line. A text by which a spreadsheet would take it for a formula gets an apostrophe in front, also behind a
 * semicolon, which separates fields in some countries' spreadsheets.
 */
export function csvCell(value: CsvValue): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const safe = printable(value).replace(/(^|;)(?=\s*[=+\-@＝＋－＠])/g, "$1'");
  return /[",;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function runFields(block: Block, index: number, row: BoardRow) {
  const { judgedWith } = block;
  const { run } = row;
  return {
    block: index + 1,
    kind: judgedWith.kind,
    measure: block.measure ?? null,
    name: row.name,
    label: run?.label ?? null,
    world_model: run === undefined ? row.name : (run.worldModel ?? null),
    published: run === undefined,
    db: run?.db ?? null,
    run: run?.number ?? null,
    judged_at: run?.at ?? null,
    judge: judgedWith.judge ?? null,
    judge_snapshot: judgedWith.snapshot ?? null,
    rubric_pack: judgedWith.rubricPack ?? null,
    rubric_fingerprint: judgedWith.rubricFingerprint ?? null,
    verdicts: judgedWith.verdicts ?? null,
    protocol: judgedWith.protocol ?? null,
    chosen: run?.card.chosen ?? null,
    valid: run?.card.valid ?? null,
    coverage: run?.card.coverage ?? null,
    complete: row.isComplete,
    fewer_rows: row.hasFewerRows,
    macro_of: row.macroOf,
  } satisfies Record<(typeof RUN_FIELDS)[number], CsvValue>;
}

const RUN_FIELDS = [
  'block',
  'kind',
  'measure',
  'name',
  'label',
  'world_model',
  'published',
  'db',
  'run',
  'judged_at',
  'judge',
  'judge_snapshot',
  'rubric_pack',
  'rubric_fingerprint',
  'verdicts',
  'protocol',
  'chosen',
  'valid',
  'coverage',
  'complete',
  'fewer_rows',
  'macro_of',
] as const;

// JSON.

/**
 * Figures are unrounded, with the model's failures at rating 1; one that a run lacks is null. `best` is also true for what cannot
 * be told from the best, and `official` is the same figure as the official script counts it.
 */
function json(board: Leaderboard): string {
  const blocks = board.blocks.map((block) => ({
    title: block.title,
    official: block.isOfficial,
    judged_with: {
      kind: block.judgedWith.kind,
      judge: block.judgedWith.judge ?? null,
      judge_snapshot: block.judgedWith.snapshot ?? null,
      rubric_pack: block.judgedWith.rubricPack ?? null,
      rubric_fingerprint: block.judgedWith.rubricFingerprint ?? null,
      verdicts: block.judgedWith.verdicts ?? null,
      sampling: block.judgedWith.sampling ?? null,
      protocol: block.judgedWith.protocol ?? null,
    },
    measure: block.measure ?? null,
    columns: figureIds(block),
    rows: block.rows.map((row) => rowDocument(block, row)),
    notes: remarksOn(block, 'best'),
  }));
  return `${asciiJson({ schema: 'awb.leaderboard/2', blocks })}\n`;
}

function rowDocument(block: Block, row: BoardRow) {
  const { run } = row;
  const figures = figureIds(block).map((id) => {
    const figure = row.figures.get(id);
    if (figure === undefined) return [id, null];
    const { value, low = null, high = null, se = null, df = null, rows = null, clusters = null } = figure;
    const official = officialIn(row, figure) ?? null;
    return [id, { value, low, high, se, df, rows, clusters, best: row.marked.has(id), official }];
  });
  return {
    name: row.name,
    published: run === undefined,
    label: run?.label ?? null,
    world_model: run === undefined ? row.name : (run.worldModel ?? null),
    db: run?.db ?? null,
    run: run?.number ?? null,
    judged_at: run?.at ?? null,
    chosen: run?.card.chosen ?? null,
    valid: run?.card.valid ?? null,
    coverage: run?.card.coverage ?? null,
    complete: row.isComplete,
    fewer_rows: row.hasFewerRows,
    macro_of: row.macroOf,
    figures: Object.fromEntries(figures),
  };
}

/** JSON in ASCII: whoever prints it prints nothing that hides or reorders text. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

// LaTeX.

function latex(board: Leaderboard): string {
  return `% needs \\usepackage{booktabs}\n${board.blocks.map(latexBlock).join('\n')}`;
}

function latexBlock(block: Block): string {
  const line = (cells: readonly string[]) => `  ${cells.join(' & ')} \\\\`;
  const cell = (row: BoardRow) => (text: string, column: number) =>
    isMarked(block, row, column) ? `\\textbf{${latexText(text)}}` : latexText(text);
  return [
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${latexText(headingOf(block))}}`,
    `  \\begin{tabular}{${block.columns.map((column) => (column.align === 'right' ? 'r' : 'l')).join('')}}`,
    '  \\toprule',
    line(block.columns.map((column) => latexText(column.short))),
    '  \\midrule',
    ...block.rows.map((row) => line(row.texts.map(cell(row)))),
    '  \\bottomrule',
    '  \\end{tabular}',
    ...remarksOn(block, 'Bold').map((note) => `  \\par{\\footnotesize ${latexText(note)}}`),
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
  '…': '\\ldots{}',
};

/** Text that LaTeX sets as it is. A bracket at a cell's start would be read as the argument of the `\\\\` before it. */
function latexText(text: string): string {
  return text
    .replace(/[\\{}$&#^_~%<>|"'`–…]/g, (character) => LATEX[character] ?? `\\${character}`)
    .replace(/^[[*]/, '{$&}');
}

// Hugging Face.

/** The benchmark's data set on the Hub. */
const DATASET = 'Qwen/AgentWorldBench';

/**
 * The scores of one run as a file for `.eval_results/` in the model's repository: a list of entries with `dataset.id`,
 * `dataset.task_id`, `value`, `date` and `notes` (https://huggingface.co/docs/hub/eval-results). The tasks are named here as the
 * domains are, and `overall`, since the data set declares none. The values are official figures, as are those that others publish.
 * @throws UserError (2) where there is not exactly one run with scores, and where it was not judged as published ones, unless
 * `unofficial` allows that; the file then says so.
 */
function huggingFace(board: Leaderboard, unofficial: boolean): string {
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
  const interval =
    figure.low === undefined || figure.high === undefined
      ? ''
      : `; 95 % interval${counted === '' ? '' : ' of that'} ${twoDecimals(figure.low)} to ${twoDecimals(figure.high)}`;
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
