// Judged rows of a rollout in, its curves out: by domain, and over all rows.

import { inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import type { RolloutCard } from '../../rollout-card.js';
import type { JudgedRow } from '../../types.js';
import { rolloutPart } from './curves.js';
import { isStepped, type RolloutFigure } from './placed.js';

/** The card of a run; undefined where none of its rows stands in a rollout. */
export function rolloutCard(rows: readonly JudgedRow[], figure: RolloutFigure): RolloutCard | undefined {
  const stepped = rows.filter(isStepped);
  if (stepped.length === 0) return undefined;
  const domains = [...groupBy(stepped, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  return {
    ...(figure.measure === undefined ? {} : { measure: figure.measure }),
    starts: [...new Set(stepped.map(({ rollout }) => rollout.from))].sort((a, b) => a - b),
    domains: domains.map(([domain, own]) => ({ domain, ...rolloutPart(own, figure) })),
    all: rolloutPart(stepped, figure),
  };
}
