// A leaderboard as data: the document of `--format json`, and CSV with a line for each run.

import { z } from 'zod';
import { documentOf, FIGURE, SPREAD, TEXT } from '../../core/document.js';
import { present } from '../../core/errors.js';
import { askedName } from '../../core/rollout.js';
import { COSTS, costsSource } from '../costs.js';
import { csvText } from '../markup.js';
import { TRUST, trustDocument } from '../trust.js';
import { type Block, type BoardRow, figureIds, type Leaderboard, remarksOn } from './board.js';

/** `best` is also true for what cannot be told from the best, and `official` is the same figure as the official script counts it. */
const BOARD_FIGURE = z.strictObject({
  value: FIGURE,
  ...SPREAD.pick({ low: true, high: true, se: true, df: true, rows: true, clusters: true }).shape,
  best: z.boolean(),
  official: FIGURE,
});
const ROW = z.strictObject({
  name: z.string(),
  published: z.boolean(),
  label: TEXT,
  world_model: TEXT,
  db: TEXT,
  run: FIGURE,
  judged_at: TEXT,
  chosen: FIGURE,
  valid: FIGURE,
  coverage: FIGURE,
  complete: z.boolean(),
  fewer_rows: z.boolean(),
  macro_of: z.number(),
  figures: z.record(z.string(), BOARD_FIGURE.nullable()),
  costs: COSTS,
});

/** Figures are unrounded, with the model's failures at rating 1; one that a run lacks is null. */
export const LEADERBOARD = z.strictObject({
  schema: z.literal('awb.leaderboard/2'),
  blocks: z.array(
    z.strictObject({
      title: z.string(),
      official: z.boolean(),
      judged_with: z.strictObject({
        kind: z.string(),
        judge: TEXT,
        judge_snapshot: TEXT,
        rubric_pack: TEXT,
        rubric_fingerprint: TEXT,
        verdicts: TEXT,
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
      notes: remarksOn(block, 'best'),
    })),
  });
}

function rowSource(block: Block, row: BoardRow) {
  const { run, name } = row;
  return {
    ...row,
    published: run === undefined,
    label: run?.label,
    worldModel: run === undefined ? name : run.worldModel,
    db: run?.db,
    run: run?.number,
    judgedAt: run?.at,
    chosen: run?.card.chosen,
    valid: run?.card.valid,
    coverage: run?.card.coverage,
    complete: row.isComplete,
    fewerRows: row.fewer.length > 0,
    figures: Object.fromEntries(figureIds(block).map((id) => [id, figureSource(row, id)])),
    costs: costsSource(run?.costs),
  };
}

/** A figure of a row; null where it has none. A published row holds no other figures than official ones. */
function figureSource({ run, figures, marked }: BoardRow, id: string) {
  const figure = figures.get(id);
  if (figure === undefined) return null;
  const official = run === undefined ? figure.value : figure.official;
  // What is known only in part is a lower end, and no value.
  if (figure.isLeast) return { ...figure, value: null, low: figure.value, best: false, official };
  return { ...figure, best: marked.has(id), official };
}

/** What stands in front of a run's figures in CSV: keys of the document, of a row, of its block, or of how that was judged. */
const RUN_KEYS = [
  ...['block', 'kind', 'measure', 'name', 'label', 'world_model', 'published', 'db', 'run', 'judged_at', 'judge'],
  ...['judge_snapshot', 'rubric_pack', 'rubric_fingerprint', 'verdicts', 'protocol', 'chosen', 'valid', 'coverage'],
  ...['complete', 'fewer_rows', 'macro_of'],
];

/** The figures of a line are those of any block, whether or not its own shows them. */
export function csvBoard(board: Leaderboard): string {
  const ids = [...new Set(board.blocks.flatMap(figureIds))];
  const lines = leaderboardDocument(board).blocks.flatMap((block, index) => {
    const { protocol, rollout } = block.judged_with;
    const judged = { ...block.judged_with, protocol: askedName(protocol ?? undefined, rollout) };
    return block.rows.map((row, at) => {
      const known = new Map<string, unknown>(
        Object.entries({ ...judged, measure: block.measure, ...row, block: index + 1 }),
      );
      const figures = ids.flatMap((id) => {
        const figure = figureSource(present(board.blocks[index]?.rows[at]), id);
        return [figure?.value, figure?.low, figure?.high, figure?.best ?? false, figure?.official];
      });
      return [...RUN_KEYS.map((key) => known.get(key)), ...figures];
    });
  });
  const head = ids.flatMap((id) => [id, `${id}_low`, `${id}_high`, `${id}_best`, `${id}_official`]);
  return csvText([[...RUN_KEYS, ...head], ...lines]);
}
