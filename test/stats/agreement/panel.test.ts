// The ratings of a panel, checked against NumPy over complete matrices, and what its offsets are for.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  combinedRating,
  offsetsOf,
  type PanelCase,
  type PanelRule,
  panelAgreement,
} from '../../../src/stats/agreement/panel.js';

interface Known {
  readonly judges: (number | null)[][];
  readonly quorum: number | null;
  readonly combine: PanelRule['combine'];
  readonly joined: number[];
}
const { panels } = JSON.parse(readFileSync(new URL('../../../fixtures/agreement.json', import.meta.url), 'utf8')) as {
  readonly panels: Known[];
};

/** Cases rated in one dimension. */
const casesOf = (rows: readonly (readonly (number | null)[])[], domain = 'web'): PanelCase[] =>
  rows.map((row, index) => ({
    domain,
    trajectory: `t${index}`,
    given: row.map((format) => (format === null ? undefined : { format })),
  }));
const totalsOf = (cases: readonly PanelCase[], combine: PanelRule['combine'], quorum?: number) => {
  const offsets = offsetsOf(cases);
  return cases.map((one) => combinedRating(one, { combine, quorum }, offsets)?.total ?? 0);
};

describe('a panel', () => {
  test.each(panels)(
    'rates as NumPy combines the judges: $combine, quorum $quorum',
    ({ judges, quorum, combine, joined }) => {
      const found = totalsOf(casesOf(judges), combine, quorum ?? undefined);
      for (const [at, total] of found.entries()) expect(total).toBeCloseTo(joined[at] ?? -1, 12);
    },
  );

  test('has offsets that add up to 0 in each domain and differ by domain', () => {
    const [web, os] = [
      casesOf([
        [1, 3, 5],
        [2, 4, 4],
      ]),
      casesOf([[5, 3, 1]], 'os'),
    ];
    const offsets = offsetsOf([...web, ...os]);
    const formats = (domain: string) => offsets[domain]?.judges.map(({ format }) => format ?? 0) ?? [];
    expect(formats('web').reduce((sum, offset) => sum + offset, 0)).toBeCloseTo(0, 12);
    expect(formats('os')).toEqual([2, 0, -2]);
    expect(offsets.web?.rows).toBe(2);
  });

  test('gives no rating under a quorum if no row was rated by all judges, since their offsets are unknown', () => {
    expect(
      totalsOf(
        casesOf([
          [1, null],
          [null, 3],
        ]),
        'mean',
        1,
      ),
    ).toEqual([0, 0]);
  });

  test('needs all judges in each dimension, and its total is the mean of the dimensions it has', () => {
    const one: PanelCase = {
      domain: 'web',
      trajectory: 't',
      given: [
        { format: 4, quality: 2 },
        { format: 2, quality: 2, realism: 5 },
      ],
    };
    expect(combinedRating(one, { combine: 'mean' }, {})).toEqual({
      ratings: { format: 3, quality: 2 },
      total: 2.5,
      judges: 2,
    });
  });

  test('reports alpha in dimensions and total, overall and by domain; what was not rated has none', () => {
    const cases = [
      ...casesOf([
        [1, 1],
        [3, 3],
        [5, 5],
      ]),
      ...casesOf(
        [
          [1, 5],
          [5, 1],
        ],
        'os',
      ),
    ];
    const { all, domains } = panelAgreement(cases, { draws: 10, seed: 1 });
    expect(Object.entries(all).flatMap(([figure, found]) => (found === null ? [] : [figure]))).toEqual([
      'format',
      'total_score',
    ]);
    expect(Object.entries(domains).map(([domain, { total_score }]) => [domain, total_score?.alpha])).toEqual([
      ['web', 1],
      ['os', expect.closeTo(-0.5, 12)],
    ]);
  });
});
