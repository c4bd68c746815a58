// Decision equivalence as JSON.

import { AGREEMENT, type Equivalence, type EquivalenceCard } from '../../equivalence.js';

/** The member `decision_equivalence` of a scored run's document. */
export function equivalenceDocument({ domains, overall, macroOf }: EquivalenceCard) {
  return {
    domains: Object.fromEntries(domains.map(({ domain, ...own }) => [domain, partDocument(own)])),
    overall: partDocument(overall),
    macro_of: macroOf,
  };
}

function partDocument({ predicted, ceiling, floor, rows, clusters, gap, found }: Equivalence) {
  const isFound = typeof found !== 'string';
  const interval = isFound ? found.interval : undefined;
  return {
    ...{ rows, clusters, [AGREEMENT.predicted]: predicted, [AGREEMENT.ceiling]: ceiling, [AGREEMENT.floor]: floor },
    ceiling_minus_floor: { value: ceiling - floor, low: gap?.low ?? null, high: gap?.high ?? null },
    value: isFound ? found.value : null,
    low: interval?.low ?? null,
    high: interval?.high ?? null,
    why_none: isFound ? null : found,
  };
}
