// JSON that any terminal or log can hold, and a leaderboard in it.

import { costsDocument } from '../cost-json.js';
import { spreadDocument } from '../estimate-json.js';
import { type Block, type BoardRow, figureIds, type Leaderboard, officialIn, remarksOn } from '../leaderboard/board.js';
import { trustDocument } from '../trust.js';

/**
 * Figures are unrounded, with the model's failures at rating 1; one that a run lacks is null. `best` is also true for what cannot
 * be told from the best, and `official` is the same figure as the official script counts it.
 */
export function jsonBoard(board: Leaderboard): string {
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
      ...(block.judgedWith.rollout === undefined ? {} : { rollout: block.judgedWith.rollout }),
    },
    judge_trust: trustDocument(block.trust),
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
    const { low, high, se, df, rows, clusters } = spreadDocument(figure);
    const official = officialIn(row, figure) ?? null;
    // What is known only in part is a lower end, and no value.
    if (figure.isLeast)
      return [id, { value: null, low: figure.value, high, se, df, rows, clusters, best: false, official }];
    return [id, { value: figure.value, low, high, se, df, rows, clusters, best: row.marked.has(id), official }];
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
    costs: costsDocument(run?.costs),
  };
}

/** JSON in ASCII: it holds nothing that hides or reorders text where it is printed. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
