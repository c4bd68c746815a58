// Tables and leaderboards -> text, in each format.

import { UserError } from '../errors.js';
import { printable, shortened } from '../printable.js';
import { DOMAINS } from '../types.js';
import type { Block, BoardRow, Leaderboard } from './leaderboard.js';
import { type Column, twoDecimals } from './table.js';
import { bold, type Look, terminal, wrapped } from './terminal.js';

/** A leaderboard in each format, ending in a line feed. Whatever its texts hold, they stay text. */
export const FORMATS = {
  terminal: (board, look) => board.blocks.map((block) => terminalBlock(block, look)).join('\n'),
  md: (board) => board.blocks.map(markdownBlock).join('\n'),
  csv,
  json,
  latex,
  html,
  hf,
} satisfies Record<string, (board: Leaderboard, look: Look) => string>;
export type Format = keyof typeof FORMATS;

// Leaderboards in a terminal and in Markdown.

/** Widest cell in a terminal. */
const CELL_COLUMNS = 40;

function terminalBlock(block: Block, look: Look): string {
  const title = wrapped(headingOf(block), look.columns).map((line) => bold(line, look));
  const footnotes = notesOf(block, look.color ? 'Bold' : '*');
  const table = {
    columns: block.columns,
    groups: [block.rows.map((row) => row.texts.map((text) => shortened(text, CELL_COLUMNS)))],
    footnotes,
    isStrong: (_: number, row: number, column: number) => isMarked(block, block.rows[row], column),
  };
  return `${title.join('\n')}\n\n${terminal(table, look)}`;
}

function headingOf({ isOfficial, title }: Block): string {
  return isOfficial ? `As published: ${title}` : title;
}

function isMarked(block: Block, row: BoardRow | undefined, column: number): boolean {
  return row?.marked.has(block.columns[column]?.id ?? '') ?? false;
}

function notesOf({ markNote, notes }: Block, mark: string): string[] {
  return [...(markNote === undefined ? [] : [`${mark}: ${markNote}`]), ...notes];
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
    ...notesOf(block, 'Bold').map((note) => `- ${markdownText(note)}`),
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
  const head = [...RUN_FIELDS, ...figures.flatMap((id) => [id, `${id}_low`, `${id}_high`, `${id}_best`])];
  const lines = board.blocks.flatMap((block, index) =>
    block.rows.map((row) => [
      ...Object.values(runFields(block, index, row)),
      ...figures.flatMap((id) => {
        const figure = row.figures.get(id);
        return [figure?.value, figure?.low, figure?.high, row.marked.has(id)];
      }),
    ]),
  );
  return [head, ...lines].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
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
  'macro_of',
] as const;

// JSON.

/** Figures are unrounded; one that a run lacks is null. `best` is also true for what cannot be told from the best. */
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
    notes: notesOf(block, 'best'),
  }));
  return `${asciiJson({ schema: 'awb.leaderboard/1', blocks })}\n`;
}

function rowDocument(block: Block, row: BoardRow) {
  const { run } = row;
  const figures = figureIds(block).map((id) => {
    const figure = row.figures.get(id);
    if (figure === undefined) return [id, null];
    const { value, low = null, high = null, se = null, df = null, rows = null, clusters = null } = figure;
    return [id, { value, low, high, se, df, rows, clusters, best: row.marked.has(id) }];
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
    ...notesOf(block, 'Bold').map((note) => `  \\par{\\footnotesize ${latexText(note)}}`),
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
export function latexText(text: string): string {
  return text
    .replace(/[\\{}$&#^_~%<>|"'`–…]/g, (character) => LATEX[character] ?? `\\${character}`)
    .replace(/^[[*]/, '{$&}');
}

// HTML: one page that asks for nothing and runs nothing.

const STYLE = `
:root { color-scheme: light dark; --line: #c9ced6; --soft: #5a6472; --best: #0b5d1e; --published: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --line: #3a424d; --soft: #9aa5b1; --best: #7ee08f; --published: #1c222a; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; padding: 1rem; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .7rem; text-align: right; vertical-align: top; }
th.left, td.left { text-align: left; }
thead th { border-bottom-width: 2px; }
tbody th { font-weight: normal; position: sticky; left: 0; background: Canvas; }
tr.published > * { background: var(--published); }
td strong { color: var(--best); }
small { color: var(--soft); display: block; font-size: .75em; }
ul { color: var(--soft); font-size: .9rem; padding-left: 1.2rem; }
`;
/** The SHA-256 of STYLE, which a test keeps true: the page's policy admits this style and nothing else. */
const STYLE_HASH = 'sha256-jQbYxlKZEIbhY5ZBoT+IigNCox9g5kfPzv+M8NrJbvw=';

function html(board: Leaderboard): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${STYLE_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>AgentWorldBench leaderboard</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>AgentWorldBench leaderboard</h1>
${board.blocks.map(htmlBlock).join('')}</main>
</body>
</html>
`;
}

function htmlBlock(block: Block, index: number): string {
  const id = `block-${index + 1}`;
  const head = block.columns.map((column) => `<th scope="col"${alignment(column)}>${htmlText(column.heading)}</th>`);
  const notes = notesOf(block, 'Bold').map((note) => `<li>${htmlText(note)}</li>`);
  return `<section>
<h2 id="${id}">${htmlText(headingOf(block))}</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}">
<table aria-labelledby="${id}">
<thead><tr>${head.join('')}</tr></thead>
<tbody>
${block.rows.map((row) => htmlRow(block, row)).join('\n')}
</tbody>
</table>
</div>
<ul>${notes.join('')}</ul>
</section>
`;
}

function htmlRow(block: Block, row: BoardRow): string {
  const cells = block.columns.slice(1).map((column, index) => {
    const text = htmlText(row.texts[index + 1] ?? '');
    const figure = row.figures.get(column.id);
    const hasInterval = column.isFigure && figure?.low !== undefined && figure.high !== undefined;
    const interval = hasInterval
      ? `<small>${twoDecimals(figure.low as number)}–${twoDecimals(figure.high as number)}</small>`
      : '';
    return `<td${alignment(column)}>${row.marked.has(column.id) ? `<strong>${text}</strong>` : text}${interval}</td>`;
  });
  const name = `<th scope="row" class="left">${htmlText(row.name)}</th>`;
  return `<tr${row.run === undefined ? ' class="published"' : ''}>${name}${cells.join('')}</tr>`;
}

function alignment({ align }: Column): string {
  return align === 'left' ? ' class="left"' : '';
}

/** Text for elements and quoted attributes; writing from right to left turns nothing beside it around. */
export function htmlText(text: string): string {
  const escaped = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return /[\u0590-\u08ff\ufb1d-\ufefc]|[\ud802\ud803\ud83a\ud83b]/.test(escaped) ? `<bdi>${escaped}</bdi>` : escaped;
}

// Hugging Face.

/** The benchmark's data set on the Hub. */
const DATASET = 'Qwen/AgentWorldBench';

/**
 * The scores of one run as a file for `.eval_results/` in the model's repository: a list of entries with `dataset.id`,
 * `dataset.task_id`, `value`, `date` and `notes` (https://huggingface.co/docs/hub/eval-results). The tasks are named here as the
 * domains are, and `overall`, since the data set declares none.
 * @throws UserError (2) where there is not exactly one run with scores.
 */
function hf(board: Leaderboard): string {
  const rows = board.blocks.flatMap((block) =>
    block.rows.filter((row) => row.run !== undefined && block.measure === undefined).map((row) => ({ block, row })),
  );
  const [only] = rows;
  if (only === undefined || rows.length > 1) {
    const found = rows.length === 0 ? 'none of these runs has ratings' : `these are ${rows.length} runs`;
    throw new UserError(`--format hf writes the scores of one run, and ${found}; choose one with --run`);
  }
  const tasks: readonly string[] = ['overall', ...DOMAINS];
  const entries = tasks.flatMap((task) => hfEntry(only.block, only.row, task));
  return `# For .eval_results/ in the model's repository; see https://huggingface.co/docs/hub/eval-results\n${entries.join('')}`;
}

function hfEntry(block: Block, row: BoardRow, task: string): string[] {
  const figure = row.figures.get(task);
  if (figure === undefined || row.run === undefined) return [];
  const interval =
    figure.low === undefined || figure.high === undefined
      ? ''
      : `; 95 % interval ${twoDecimals(figure.low)} to ${twoDecimals(figure.high)}`;
  const rows = `; ${figure.rows} rows${row.isComplete ? '' : ', incomplete'}`;
  const lines = [
    '- dataset:',
    `    id: ${DATASET}`,
    `    task_id: ${task}`,
    `  value: ${twoDecimals(figure.value)}`,
    `  date: ${asciiJson(row.run.at.slice(0, 10))}`,
    `  notes: ${asciiJson(`${block.title}${interval}${rows}`)}`,
    '',
  ];
  return [lines.join('\n')];
}
