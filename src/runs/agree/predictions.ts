// The predictions of judged files that people have rated, by row and by the hash of their text.

import { createHash } from 'node:crypto';
import { readJudged } from '../../bench/judged.js';
import { FIGURES, type Figure } from '../../comparison.js';
import { groupBy, type Some } from '../../groups.js';
import { possibleRating } from '../../points.js';
import { shownPrediction } from '../../reply.js';
import { rowId } from '../../row-id.js';
import { meanFigure } from '../../score/predictions.js';
import type { JudgedRow } from '../../types.js';

/** A prediction and its judgements, which may stand in several files. */
export interface JudgedPrediction {
  readonly sha256: string;
  readonly rows: Some<JudgedRow>;
}

/** SHA-256 hex of a prediction as the judge is shown it: what ties a person's rating to the text that was rated. */
export function predictionHash(shown: string): string {
  return createHash('sha256').update(shown).digest('hex');
}

/**
 * Reads judged files for the predictions of these rows (`key#repeat`). A row may have several: one for each text that was predicted.
 * @returns the predictions by row, and what is odd about the files, a sentence each
 * @throws UserError as `readJudged`
 */
export async function readPredictions(
  paths: readonly string[],
  wanted: ReadonlySet<string>,
  stop: AbortSignal,
): Promise<{ readonly predictions: ReadonlyMap<string, readonly JudgedPrediction[]>; readonly warnings: string[] }> {
  const found: { id: string; sha256: string; row: JudgedRow }[] = [];
  const warnings: string[] = [];
  for (const path of paths) {
    const file = await readJudged(path, stop, (row, { gen }) => {
      const id = rowId(row.key, row.repeat);
      if (!wanted.has(id)) return;
      found.push({ id, row, sha256: predictionHash(typeof gen === 'string' ? shownPrediction(gen) : '') });
    });
    warnings.push(...file.warnings);
  }
  const predictions = new Map<string, JudgedPrediction[]>();
  for (const [id, own] of groupBy(found, ({ id }) => id)) {
    const texts = [...groupBy(own, ({ sha256 }) => sha256)];
    predictions.set(
      id,
      texts.map(([sha256, [first, ...more]]) => ({ sha256, rows: [first.row, ...more.map(({ row }) => row)] })),
    );
  }
  return { predictions, warnings };
}

/** What the judge gave a prediction, averaged over its judgements. Of a row that could not be judged nothing is known. */
export function judgeFigures({ rows }: Pick<JudgedPrediction, 'rows'>): Partial<Record<Figure, number>> {
  const figures: Partial<Record<Figure, number>> = {};
  for (const figure of FIGURES) {
    const value = meanFigure(rows, (row) => possibleRating(row, figure));
    if (value !== undefined) figures[figure] = value;
  }
  return figures;
}
