// Made-up comparisons of two runs, for tests of their output.

import { DOMAINS } from '../../src/core/types.js';
import type { ComparisonView } from '../../src/report/comparison.js';
import type { Difference } from '../../src/stats/compare.js';

/** A figure that changed by this many points, with an interval of 2 to either side. */
export function difference(value: number, more: Partial<Difference> = {}): Difference {
  return {
    difference: { value, rows: 20, clusters: 10, se: 1, df: 9, low: value - 2, high: value + 2 },
    base: 60,
    candidate: 60 + value,
    wins: 5,
    ties: 6,
    losses: 9,
    p: 0.01,
    pAdjusted: 0.07,
    smallestEffect: 3.1,
    ...more,
  };
}

/** As for Overall, which is a single figure and needs no adjustment. */
export function unadjusted({ pAdjusted: _, ...rest }: Difference): Difference {
  return rest;
}

/** The same figure over this many rows. */
export function ofRows(rows: number, found: Difference): Difference {
  return { ...found, difference: { ...found.difference, rows } };
}

/** A comparison of these domains in which every figure fell by 1.5. */
export function comparisonView(
  domains: readonly string[] = DOMAINS,
  more: Partial<ComparisonView> = {},
): ComparisonView {
  return {
    base: { name: 'old', source: '/old', judge: 'j', rubricPack: 'bundled' },
    candidate: { name: 'new', source: '/new', judge: 'j', rubricPack: 'bundled' },
    comparison: {
      status: 'ok',
      domains: domains.map((domain) => ({
        domain,
        rows: 22,
        compared: 20,
        coverage: 20 / 22,
        missing: { base: 1, candidate: 1 },
        figures: { total: difference(-1.5) },
      })),
      overall: { total: unadjusted(ofRows(20 * domains.length, difference(-1.5))) },
      macroOf: domains.length,
      rows: 22 * domains.length,
      compared: 20 * domains.length,
      coverage: 20 / 22,
      moved: [{ key: 'k1', domain: 'web', turnIdx: 3, base: 100, candidate: 25, difference: -75 }],
    },
    shared: { judge: 'equal' },
    weaknesses: new Map([['k1', 'now: it made up a price']]),
    notes: ['A note.'],
    dimensions: false,
    ...more,
  };
}
