// A leaderboard as CSV: a line for each run.

import { printable } from '../../printable.js';
import { askedName } from '../../rollout.js';
import { type Block, type BoardRow, figureIds, type Leaderboard, officialIn } from '../leaderboard/board.js';

export function csvBoard(board: Leaderboard): string {
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
        // What is known only in part is a lower end, and no value.
        if (figure?.isLeast) return [undefined, figure.value, undefined, false, undefined];
        return [figure?.value, figure?.low, figure?.high, row.marked.has(id), officialIn(row, figure)];
      }),
    ]),
  );
  return csvText([head, ...lines]);
}

type CsvValue = string | number | boolean | null | undefined;

/** Records of RFC 4180, one a line. */
export function csvText(records: readonly (readonly CsvValue[])[]): string {
  return records.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/**
 * A field, on one line. An apostrophe stands before what a spreadsheet would take for the start of a formula. A semicolon
 * starts a field too, since it separates fields in some countries' spreadsheets.
 */
function csvCell(value: CsvValue): string {
  if (value === null || value === undefined) return '';
  // Fifteen digits are all that a sum of rows is sure of; a seventeenth shows how floating point rounds.
  if (typeof value === 'number') return String(Number(value.toPrecision(15)));
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
    protocol: askedName(judgedWith.protocol, judgedWith.rollout) ?? null,
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
