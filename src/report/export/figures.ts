// Every figure of a score card under a name, for programs that know no score cards.

import type { Domain, Estimate, ScoreCard } from '../../types.js';

export interface NamedFigure {
  readonly domain: Domain | typeof OVERALL;
  /** How it is counted: as the official script does, with the model's failures at the lowest rating, or a measure. */
  readonly kind: 'official' | 'with_failures' | 'measure';
  /** `total`, a dimension, or a measure's name. */
  readonly figure: string;
  readonly estimate: Estimate;
}

const OVERALL = 'overall';

/** Domains in the card's order, Overall behind them. */
export function figuresOf(card: ScoreCard): NamedFigure[] {
  const all = card.domains.map(({ domain, scores, withFailures, measures }) => ({
    domain,
    kinds: { official: scores, with_failures: withFailures, measure: measures },
  }));
  const overall = {
    domain: OVERALL,
    kinds: { official: card.overall, with_failures: card.overallWithFailures, measure: card.overallMeasures },
  } as const;
  return [...all, overall].flatMap(({ domain, kinds }) =>
    (['official', 'with_failures', 'measure'] as const).flatMap((kind) =>
      Object.entries(kinds[kind]).map(([figure, estimate]) => ({ domain, kind, figure, estimate })),
    ),
  );
}
