// A leaderboard as CSV: a line for each run.

import { present } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { askedName } from '../../core/rollout.js';
import { type BoardRow, figureIds, type Leaderboard, officialIn } from '../leaderboard/board.js';
import { leaderboardDocument } from './json.js';

export function csvBoard(board: Leaderboard): string {
  const figures = [...new Set(board.blocks.flatMap(figureIds))];
  const head = figures.flatMap((id) => [id, `${id}_low`, `${id}_high`, `${id}_best`, `${id}_official`]);
  const lines = leaderboardDocument(board).blocks.flatMap((block, index) =>
    block.rows.map((row, at) => [
      ...Object.values(RUN_FIELDS).map((of) => of(block, row, index)),
      ...figuresOf(present(board.blocks[index]?.rows[at]), figures),
    ]),
  );
  return csvText([[...Object.keys(RUN_FIELDS), ...head], ...lines]);
}

/** The figures of a row, those among them that its block does not show. */
function figuresOf(row: BoardRow, ids: readonly string[]): CsvValue[] {
  return ids.flatMap((id) => {
    const figure = row.figures.get(id);
    // What is known only in part is a lower end, and no value.
    if (figure?.isLeast) return [undefined, figure.value, undefined, false, undefined];
    return [figure?.value, figure?.low, figure?.high, row.marked.has(id), officialIn(row, figure)];
  });
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

type Document = ReturnType<typeof leaderboardDocument>['blocks'][number];

/** What stands in front of a run's figures. */
const RUN_FIELDS: Readonly<
  Record<string, (block: Document, row: Document['rows'][number], index: number) => CsvValue>
> = {
  block: (_block, _row, index) => index + 1,
  kind: ({ judged_with: { kind } }) => kind,
  measure: ({ measure }) => measure,
  name: (_, { name }) => name,
  label: (_, { label }) => label,
  world_model: (_, row) => row.world_model,
  published: (_, { published }) => published,
  db: (_, { db }) => db,
  run: (_, { run }) => run,
  judged_at: (_, row) => row.judged_at,
  judge: ({ judged_with: { judge } }) => judge,
  judge_snapshot: ({ judged_with }) => judged_with.judge_snapshot,
  rubric_pack: ({ judged_with }) => judged_with.rubric_pack,
  rubric_fingerprint: ({ judged_with }) => judged_with.rubric_fingerprint,
  verdicts: ({ judged_with }) => judged_with.verdicts,
  protocol: ({ judged_with: { protocol, rollout } }) => askedName(protocol ?? undefined, rollout),
  chosen: (_, { chosen }) => chosen,
  valid: (_, { valid }) => valid,
  coverage: (_, { coverage }) => coverage,
  complete: (_, { complete }) => complete,
  fewer_rows: (_, row) => row.fewer_rows,
  macro_of: (_, row) => row.macro_of,
};
