// A leaderboard in every text format, each with its file endings. Texts are escaped, whatever they contain.

import { z } from 'zod';
import { documentOf, FIGURE, keyed, SPREAD, TEXT } from '../core/document.js';
import { UserError } from '../core/errors.js';
import { sum } from '../core/groups.js';
import { asciiJson } from '../core/json.js';
import { grouped, intervalText, shortenedByWords, twoDecimals } from '../core/printable.js';
import type { CellTable, OutputFormat } from '../core/table.js';
import { bold, type Look, legendOf, terminal, wrapped } from '../core/terminal.js';
import { askedName, DOMAINS } from '../core/types.js';
import { percent } from '../stats/coverage.js';
import { COSTS, costsSource } from './costs.js';
import { type Block, type BoardRow, figureIds, type Leaderboard } from './leaderboard/leaderboard.js';
import { csvText, latexText, markdownTable, markdownText } from './markup.js';
import { INTERVALS, TRUST, trustDocument } from './trust.js';

/** A leaderboard in each text format; a page is a further format. */
export const TEXT_FORMATS = {
  terminal: { endings: [], print: terminalBoard },
  md: { endings: ['.md'], print: ({ blocks }) => blocks.map(markdownBlock).join('\n') },
  csv: { endings: ['.csv'], print: csvBoard },
  json: { endings: ['.json'], print: (board) => `${asciiJson(leaderboardDocument(board))}\n` },
  latex: {
    endings: ['.tex'],
    print: ({ blocks }) => `% needs \\usepackage{adjustbox,booktabs}\n${blocks.map(latexBlock).join('\n')}`,
  },
  hf: { endings: ['.yaml', '.yml'], print: huggingFaceBoard },
} satisfies Record<string, OutputFormat<Leaderboard, Look>>;

/** A block as a table: its own runs, then the published rows; the best are strong. */
function tableOf(block: Block, footnotes: readonly string[], most = Number.POSITIVE_INFINITY): CellTable {
  const { columns, rows } = block;
  const isOwn = ({ run }: BoardRow) => run !== undefined;
  const groups = [rows.filter(isOwn), rows.filter((row) => !isOwn(row))].filter((some) => some.length > 0);
  return {
    columns,
    groups: groups.map((some) =>
      some.map(({ texts, marked }) =>
        columns.map(({ id }, column) => {
          return { text: shortenedByWords(texts[column] ?? '', most), isStrong: marked.has(id) };
        }),
      ),
    ),
    footnotes,
  };
}

/** The widest cell in a terminal. */
const CELL_COLUMNS = 40;

function terminalBoard({ blocks }: Leaderboard, look: Look): string {
  const texts = blocks.map((block) => {
    const title = wrapped(block.heading, look.columns).map((line) => bold(line, look));
    const judge = block.judge.flatMap((line) => wrapped(line, look.columns));
    const mark = look.color ? 'Green' : '*';
    const marks = block.hasMarks ? [`${mark}: best of its column, or not shown to be worse.`] : [];
    const table = tableOf(block, [...marks, ...block.notes], CELL_COLUMNS);
    return `${[...title, ...judge].join('\n')}\n\n${terminal(table, look)}`;
  });
  return [
    ...texts,
    legendOf(
      blocks.flatMap(({ legend }) => legend),
      look,
    ),
  ].join('\n');
}

function markdownBlock(block: Block): string {
  return [
    `### ${markdownText(block.heading)}`,
    '',
    ...block.judge.flatMap((text) => [markdownText(text), '']),
    markdownTable(tableOf(block, [...block.legend, ...block.notes])),
  ].join('\n');
}

/** Each figure has its interval below it, so the column of intervals is left out. */
function latexBlock(block: Block): string {
  const shown = [...block.columns.entries()].filter(([, { id }]) => id !== 'interval');
  const line = (cells: readonly string[]) => `  ${cells.join(' & ')} \\\\`;
  const rows = block.rows.flatMap(({ texts, marked, figures }) => {
    const strong = (id: string, text: string) => (marked.has(id) ? `\\textbf{${text}}` : text);
    const cells = shown.map(([at, { id }]) => strong(id, latexText(texts[at] ?? '')));
    const intervals = shown.map(([, { id }]) => intervalText(figures.get(id) ?? {}, (end) => end.toFixed(1)));
    const below = intervals.map((text) => (text ? `{\\scriptsize ${text.replace(' to ', '--')}}` : ''));
    return below.some(Boolean) ? [line(cells), line(below), '  \\addlinespace'] : [line(cells)];
  });
  const intervals = block.columns.find(({ id }) => id === 'interval')?.legend;
  const notes = [...block.legend.slice(1), ...block.notes].filter((note) => note !== intervals);
  return [
    '\\begin{table}',
    '  \\centering\\setlength{\\tabcolsep}{3pt}',
    `  \\caption{${latexText(captionOf(block))}}`,
    // A wide table shrinks to the width of the line.
    `  \\begin{adjustbox}{max width=\\linewidth}\\begin{tabular}{${shown.map(([, { align }]) => align.charAt(0)).join('')}}`,
    '  \\toprule',
    line(shown.map(([, { short }]) => latexText(short))),
    '  \\midrule',
    ...rows,
    '  \\bottomrule',
    '  \\end{tabular}\\end{adjustbox}',
    ...notes.map((note) => `  \\par{\\footnotesize ${latexText(note)}}`),
    '\\end{table}',
    '',
  ].join('\n');
}

/** A caption for a paper: what the figures are, the number of rows, and how far their judge can be trusted. */
function captionOf({ heading, legend, columns, rows, judge, judgedWith }: Block): string {
  const bootstrap = columns.some(({ id }) => id === 'decision-equivalence') ? '; Dec. eq.: bootstrap' : '';
  const own = rows.filter(({ run }) => run !== undefined);
  if (own.length === 0) return `${heading}. Official figures, as published.`;
  const each = (textOf: (row: BoardRow) => string) => [...new Set(own.map(textOf))].join(', ') || 'none';
  const counts = each(({ rows: ofDomains }) => grouped(sum([...ofDomains.values()], Number)));
  const coverage = each(({ run }) => percent(run?.card.coverage ?? 0));
  const trust = judge.map((line) => `; judge snapshot: ${judgedWith.snapshot ?? 'not recorded'}; ${line}`);
  return `${heading}. ${legend[0]} Below the figures, where known: 95 % intervals (${INTERVALS}${bootstrap}). Rows per run: ${counts}; coverage: ${coverage}${trust}.`;
}

/** The benchmark's dataset on the Hub. */
const DATASET = 'Qwen/AgentWorldBench';

/**
 * The scores of one run as a file for `.eval_results/` in the model's repository: a list of entries with `dataset.id`,
 * `dataset.task_id`, `value`, `date` and `notes` (https://huggingface.co/docs/hub/eval-results). The dataset declares no tasks, so they
 * are named after the domains, and `overall`. The values are official figures, like those that others publish.
 * @throws UserError (2) if there is not exactly one run with scores, or it was not judged like the published ones.
 */
function huggingFaceBoard(board: Leaderboard): string {
  const rows = board.blocks.flatMap((block) =>
    block.rows.filter((row) => row.run !== undefined && block.measure === undefined).map((row) => ({ block, row })),
  );
  const [only] = rows;
  if (only === undefined || rows.length > 1) {
    const found = rows.length === 0 ? 'none of these runs has ratings' : `these are ${rows.length} runs`;
    throw new UserError(`--format hf writes the scores of one run, but ${found}; choose one with --run`);
  }
  const { block, row } = only;
  if (!block.isOfficial) {
    throw new UserError(
      `--format hf writes scores of ${DATASET}, but this run was judged differently (${block.title}); judge it with the official judge and rubric pack, or choose another format`,
    );
  }
  const tasks: readonly string[] = ['overall', ...DOMAINS];
  return [
    "# For .eval_results/ in the model's repository; see https://huggingface.co/docs/hub/eval-results\n",
    ...tasks.flatMap((task) => entryOf(block, row, task)),
  ].join('');
}

function entryOf(block: Block, row: BoardRow, task: string): string[] {
  const figure = row.figures.get(task);
  if (figure === undefined || row.run === undefined) return [];
  const value = figure.official ?? figure.value;
  const counted =
    twoDecimals(value) === twoDecimals(figure.value)
      ? ''
      : `; ${twoDecimals(figure.value)} with the model's failures as rating 1`;
  const around = intervalText(figure);
  const interval = around === undefined ? '' : `; 95 % interval${counted === '' ? '' : ' of that'} ${around}`;
  const rows = `; ${figure.rows} rows${row.isComplete ? '' : ', incomplete'}`;
  const lines = [
    '- dataset:',
    `    id: ${DATASET}`,
    `    task_id: ${task}`,
    `  value: ${twoDecimals(value)}`,
    `  date: ${asciiJson(row.run.at.slice(0, 10))}`,
    `  notes: ${asciiJson(`${block.title}${counted}${interval}${rows}`)}`,
    '',
  ];
  return [lines.join('\n')];
}

/** `best` is also true for figures that cannot be told from the best; `official` is the figure by the official script's rule. */
const BOARD_FIGURE = z.strictObject({
  value: FIGURE,
  ...SPREAD.pick({ low: true, high: true, se: true, df: true, rows: true, clusters: true }).shape,
  best: z.boolean(),
  official: FIGURE,
});
const ROW = z.strictObject({
  name: z.string(),
  published: z.boolean(),
  ...keyed(TEXT, 'label', 'world_model', 'db'),
  run: FIGURE,
  judged_at: TEXT,
  ...keyed(FIGURE, 'chosen', 'valid', 'coverage'),
  ...keyed(z.boolean(), 'complete', 'fewer_rows'),
  macro_of: z.number(),
  figures: z.record(z.string(), BOARD_FIGURE.nullable()),
  costs: COSTS,
});

/** Figures are unrounded and count the model's failures at rating 1; a missing figure is null. */
export const LEADERBOARD = z.strictObject({
  schema: z.literal('awb.leaderboard/2'),
  blocks: z.array(
    z.strictObject({
      title: z.string(),
      official: z.boolean(),
      judged_with: z.strictObject({
        kind: z.string(),
        ...keyed(TEXT, 'judge', 'judge_snapshot', 'rubric_pack', 'rubric_fingerprint', 'verdicts'),
        sampling: z.record(z.string(), z.unknown()).nullable(),
        protocol: TEXT,
        rollout: z.string().optional(),
      }),
      judge_trust: TRUST.nullable(),
      measure: TEXT,
      columns: z.array(z.string()),
      rows: z.array(ROW),
      notes: z.array(z.string()),
    }),
  ),
});

export function leaderboardDocument({ blocks }: Leaderboard) {
  return documentOf(LEADERBOARD, {
    schema: 'awb.leaderboard/2',
    blocks: blocks.map((block) => ({
      ...block,
      official: block.isOfficial,
      judgedWith: { ...block.judgedWith, judgeSnapshot: block.judgedWith.snapshot },
      judgeTrust: trustDocument(block.trust),
      columns: figureIds(block),
      rows: block.rows.map((row) => rowSource(block, row)),
      notes: [...block.legend, ...block.notes],
    })),
  });
}

function rowSource(block: Block, row: BoardRow) {
  const { run, name } = row;
  return {
    ...run?.card,
    ...run,
    ...row,
    published: run === undefined,
    worldModel: run === undefined ? name : run.worldModel,
    run: run?.number,
    judgedAt: run?.at,
    complete: row.isComplete,
    fewerRows: row.fewer.length > 0,
    figures: Object.fromEntries(figureIds(block).map((id) => [id, figureSource(row, id)])),
    costs: costsSource(run?.costs),
  };
}

/** A figure of a row; null if it has none. A published row has only official figures. */
function figureSource({ run, figures, marked }: BoardRow, id: string) {
  const figure = figures.get(id);
  if (figure === undefined) return null;
  const official = run === undefined ? figure.value : figure.official;
  // A partly known figure has a lower end but no value.
  if (figure.isLeast) return { ...figure, value: null, low: figure.value, best: false, official };
  return { ...figure, best: marked.has(id), official };
}

/** The CSV columns before a run's figures: keys of the document, of a row, of its block, or of how that was judged. */
const RUN_KEYS = [
  ...['block', 'kind', 'measure', 'name', 'label', 'world_model', 'published', 'db', 'run', 'judged_at', 'judge'],
  ...['judge_snapshot', 'rubric_pack', 'rubric_fingerprint', 'verdicts', 'protocol', 'chosen', 'valid', 'coverage'],
  ...['complete', 'fewer_rows', 'macro_of'],
];

function csvBoard(board: Leaderboard): string {
  const ids = [...new Set(board.blocks.flatMap(figureIds))];
  const lines = leaderboardDocument(board).blocks.flatMap((block, index) => {
    const { protocol, rollout } = block.judged_with;
    const judged = { ...block.judged_with, protocol: askedName(protocol ?? undefined, rollout) };
    return block.rows.map((row) => {
      const known = new Map<string, unknown>(
        Object.entries({ ...judged, measure: block.measure, ...row, block: index + 1 }),
      );
      const figures = ids.flatMap((id) => {
        const { [id]: figure } = row.figures;
        return [figure?.value, figure?.low, figure?.high, figure?.best ?? false, figure?.official];
      });
      return [...RUN_KEYS.map((key) => known.get(key)), ...figures];
    });
  });
  const head = ids.flatMap((id) => [id, `${id}_low`, `${id}_high`, `${id}_best`, `${id}_official`]);
  return csvText([[...RUN_KEYS, ...head], ...lines]);
}
