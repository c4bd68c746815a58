// Judged rows of a rollout in, its curves and its drift out: by domain, and over all rows.

import { inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import type { RolloutCard } from '../../rollout-card.js';
import type { JudgedRow } from '../../types.js';
import { rolloutPart } from './curves.js';
import { driftCard } from './drift.js';
import { isStepped, pairsOf, type RolloutFigure, type SteppedRow, valuesOf } from './placed.js';

/**
 * The card of a run; undefined where none of its rows stands in a rollout.
 * @param forced the rows of a run that predicted the same with true histories, judged in the same way
 */
export function rolloutCard(
  rows: readonly JudgedRow[],
  figure: RolloutFigure,
  forced?: readonly JudgedRow[],
): RolloutCard | undefined {
  const stepped = rows.filter(isStepped);
  if (stepped.length === 0) return undefined;
  const partners = forced && valuesOf(forced, figure);
  const partOf = (own: readonly SteppedRow[]) =>
    rolloutPart(own, figure, partners ? pairsOf(own, partners, figure) : []);
  const domains = [...groupBy(stepped, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  return {
    ...(figure.measure === undefined ? {} : { measure: figure.measure }),
    starts: [...new Set(stepped.map(({ rollout }) => rollout.from))].sort((a, b) => a - b),
    domains: domains.map(([domain, own]) => ({ domain, ...partOf(own) })),
    all: partOf(stepped),
    ...(partners && { drift: driftCard(stepped, partners, figure) }),
  };
}
