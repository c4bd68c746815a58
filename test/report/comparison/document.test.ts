// What is said about two runs in one sentence.

import { describe, expect, it } from 'vitest';
import { DOMAINS } from '../../../src/core/types.js';
import { openingOf } from '../../../src/report/comparison.js';
import type { Difference } from '../../../src/stats/compare.js';
import { comparisonView, difference, ofRows } from '../../support/comparison-views.js';

describe('the opening sentence', () => {
  const about = (total: Difference, domains: readonly string[] = DOMAINS) => {
    const shown = comparisonView(domains);
    return openingOf({
      ...shown,
      comparison: { ...shown.comparison, overall: { total: ofRows(20 * domains.length, total) } },
    });
  };
  const bare = ({
    difference: { value, rows, clusters },
    smallestEffect: _,
    p: _p,
    ...rest
  }: Difference): Difference => ({
    ...rest,
    difference: { value, rows, clusters },
  });

  it.each<[string, Difference, string]>([
    ['better', difference(8.9), 'new is better than old: +8.90 points (95 % interval +6.90 to +10.90; 140/154 rows).'],
    ['worse', difference(-8.9), 'new is worse than old: -8.90 points (95 % interval -10.90 to -6.90; 140/154 rows).'],
    [
      'open',
      difference(1.5),
      'new and old cannot be told apart: +1.50 points (95 % interval -0.50 to +3.50; 140/154 rows); a true difference of 3.10 would show with 80 % power.',
    ],
    [
      'of too few trajectories',
      bare(difference(9.34)),
      'new and old cannot be told apart: +9.34 points (too few trajectories for an interval; 140/154 rows).',
    ],
  ])('says %s', (_what, total, sentence) => {
    expect(about(total)).toBe(sentence);
  });

  it('says how many domains it covers if that is not Overall', () => {
    expect(about(difference(8.9), ['web', 'os'])).toContain('(95 % interval +6.90 to +10.90; macro of 2; 40/44 rows)');
  });
});
