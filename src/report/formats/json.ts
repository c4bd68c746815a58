// A leaderboard as JSON.

import { z } from 'zod';
import { asciiJson, documentOf, FIGURE, SPREAD, TEXT } from '../../core/document.js';
import { COSTS, costsSource } from '../costs.js';
import { type Block, type BoardRow, figureIds, type Leaderboard, officialIn, remarksOn } from '../leaderboard/board.js';
import { TRUST, trustDocument } from '../trust.js';

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

export function jsonBoard(board: Leaderboard): string {
  return `${asciiJson(leaderboardDocument(board))}\n`;
}

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

/** A figure of a row; null where it has none. */
function figureSource(row: BoardRow, id: string) {
  const figure = row.figures.get(id);
  if (figure === undefined) return null;
  const official = officialIn(row, figure);
  // What is known only in part is a lower end, and no value.
  if (figure.isLeast) return { ...figure, value: null, low: figure.value, best: false, official };
  return { ...figure, best: row.marked.has(id), official };
}
