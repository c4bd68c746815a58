// Comparing runs: what is paired, what counts, and the figures checked against statsmodels.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DOMAINS, type JudgedRow, type JudgementFailure } from '../../src/core/types.js';
import type { Comparison, RunRows } from '../../src/stats/compare.js';
import { compareRuns } from '../../src/stats/compare.js';

interface Paired {
  readonly base: number[];
  readonly candidate: number[];
  readonly clusters: string[];
  readonly mean: number;
  readonly se: number;
  readonly low: number;
  readonly high: number;
}
const { paired } = JSON.parse(readFileSync(new URL('../../fixtures/comparison.json', import.meta.url), 'utf8')) as {
  paired: Paired;
};

function row(key: string, total: number, more: Partial<JudgedRow> = {}): JudgedRow {
  return {
    key,
    trajectory: key,
    repeat: 0,
    index: 0,
    domain: 'os',
    turnIdx: 1,
    failed: 0,
    total,
    ratings: {},
    flags: [],
    ...more,
  };
}

function failed(key: string, cause: JudgementFailure, more: Partial<JudgedRow> = {}): JudgedRow {
  return row(key, 0, { failed: 1, failure: { class: cause, reason: 'so it was' }, ...more });
}

function compared(base: readonly JudgedRow[], candidate: readonly JudgedRow[]): Comparison {
  return ok({ rows: base }, { rows: candidate });
}

function ok(base: RunRows, candidate: RunRows): Comparison {
  const comparison = compareRuns(base, candidate, { draws: 200 });
  if (comparison.status !== 'ok') throw new Error(comparison.reason);
  return comparison;
}

const total = (comparison: Comparison) => comparison.domains[0]?.figures.total;

describe('pairing', () => {
  test('gives the difference, standard error and interval of the reference', () => {
    const rows = (totals: number[]) =>
      totals.map((value, index) => row(`r${index}`, value, { trajectory: paired.clusters[index] ?? '' }));
    const found = total(compared(rows(paired.base), rows(paired.candidate).reverse()))?.difference;
    expect(found?.value).toBeCloseTo(paired.mean, 10);
    expect(found?.se).toBeCloseTo(paired.se, 10);
    expect(found?.low).toBeCloseTo(paired.low, 9);
    expect(found?.high).toBeCloseTo(paired.high, 9);
  });

  test('goes by row, not by position in the file, and does not depend on that position', () => {
    const base = [row('a', 2), row('b', 4), row('c', 5)];
    const candidate = [row('c', 5), row('a', 3), row('b', 3)];
    const comparison = compared(base, candidate);
    expect(total(comparison)).toMatchObject({ wins: 1, ties: 1, losses: 1, difference: { value: 0, rows: 3 } });
    expect(compared([...base].reverse(), [...candidate].reverse())).toEqual(comparison);
  });

  test('with the runs swapped gives the same with the opposite sign', () => {
    const rating = fc.integer({ min: 5, max: 25 }).map((fifths) => fifths / 5);
    const rows = fc.array(fc.tuple(rating, rating, fc.integer({ min: 0, max: 5 })), { minLength: 2, maxLength: 30 });
    fc.assert(
      fc.property(rows, (some) => {
        const side = (place: 0 | 1) =>
          some.map((one, index) => row(`r${index}`, one[place], { trajectory: `t${one[2]}` }));
        const [there, back] = [total(compared(side(0), side(1))), total(compared(side(1), side(0)))];
        expect(there?.difference.value).toBeCloseTo(-(back?.difference.value ?? Number.NaN), 9);
        expect(there?.difference.se ?? 0).toBeCloseTo(back?.difference.se ?? 0, 9);
        expect([there?.wins, there?.ties, there?.losses]).toEqual([back?.losses, back?.ties, back?.wins]);
        expect(there?.p).toBe(back?.p);
      }),
      { numRuns: 50 },
    );
  });

  test('of a run with itself finds no difference', () => {
    const rows = [row('a', 2), row('b', 4.2), failed('c', 'empty'), row('d', 3), row('e', 1)];
    const comparison = compared(rows, rows);
    expect(total(comparison)).toMatchObject({ wins: 0, ties: 5, losses: 0, p: 1, difference: { value: 0, se: 0 } });
    expect(comparison.moved).toEqual([]);
  });
});

describe('what counts', () => {
  test.each([
    ['empty', 0],
    ['context-overflow', undefined],
    ['refused', 0],
    ['prediction', undefined],
    ['unreadable', undefined],
    ['judge-timeout', undefined],
  ] as const)('a failure "%s" of the candidate scores %s', (cause, candidate) => {
    const { domains, compared: rows } = compared([row('a', 5), row('b', 3)], [failed('a', cause), row('b', 3)]);
    const moved = candidate === undefined ? undefined : candidate - 100;
    expect(rows).toBe(moved === undefined ? 1 : 2);
    expect(domains[0]?.figures.total?.difference.value).toBe((moved ?? 0) / rows);
    expect(domains[0]?.missing).toEqual({ base: 0, candidate: moved === undefined ? 1 : 0 });
  });

  test('a model-caused failure counts in every dimension, a rating of 0 leaves its own only', () => {
    const ratings = { format: 3, realism: 2 };
    const base = [row('a', 3, { ratings }), row('b', 3, { ratings })];
    const { figures } = compared(base, [failed('a', 'empty'), row('b', 3, { ratings: { format: 0, realism: 4 } })])
      .domains[0] as Comparison['domains'][number];
    expect(figures.format?.difference).toMatchObject({ value: -50, rows: 1 });
    expect(figures.realism?.difference).toMatchObject({ value: (-25 + 50) / 2, rows: 2 });
    expect(figures.quality).toBeUndefined();
  });

  test('an impossible rating is omitted, together with its total', () => {
    const base = [row('a', 3, { ratings: { format: 3, realism: 3 } }), row('b', 3)];
    const { figures, compared: rows } = compared(base, [
      row('a', 51.5, { ratings: { format: 100, realism: 4 } }),
      row('b', 4),
    ]).domains[0] as Comparison['domains'][number];
    expect(rows).toBe(1);
    expect(figures.total?.difference.value).toBe(25);
    expect(figures.realism?.difference.value).toBe(25);
    expect(figures.format).toBeUndefined();
  });

  test('repeats are averaged before rows are, without those that failed at the judge', () => {
    const repeats = (key: string, ...totals: number[]) => totals.map((value, repeat) => row(key, value, { repeat }));
    const comparison = compared(
      [...repeats('a', 1, 3), row('b', 2)],
      [...repeats('a', 3, 5, 4), failed('a', 'judge-timeout', { repeat: 3 }), row('b', 2)],
    );
    expect(total(comparison)).toMatchObject({ base: 25, candidate: 50, difference: { value: 25, rows: 2 } });
    expect(comparison.coverage).toBe(1);
  });

  test('repeats with equal sums are a tie, despite rounding', () => {
    const side = (...totals: number[]) => totals.map((value, repeat) => row('a', value, { repeat }));
    // Their means in points differ by 3e-15.
    const comparison = compared([...side(1, 1.6), row('b', 3)], [...side(1.2, 1.4), row('b', 4)]);
    expect(total(comparison)).toMatchObject({ wins: 1, ties: 1 });
  });

  test('the variance splits into rows and sampling if there are repeats, and these rows get their own interval', () => {
    const rows = (shift: number) =>
      [1, 2, 3, 4, 5].flatMap((place) =>
        [0, 1].map((repeat) => row(`r${place}`, 1 + place / 4 + shift * place + repeat * 0.4, { repeat })),
      );
    const { split, difference, onTheseRows } = total(compared(rows(0.2), rows(0.3))) ?? {};
    // Repeats 0.4 apart are 10 points: mean square 50, from 5 rows with 2 repeats, in two runs.
    expect(split?.generation).toBeCloseTo((2 * 50) / (5 * 2), 9);
    expect(split?.perRepeat).toBeCloseTo((2 * 50) / 5, 9);
    expect(split?.row).toBe(Math.max(0, (difference?.se ?? 0) ** 2 - (split?.generation ?? 0)));
    expect(onTheseRows?.value).toBe(difference?.value);
    expect(onTheseRows?.se).toBeCloseTo(Math.sqrt(10), 9);
    expect(onTheseRows?.df).toBeCloseTo(10, 9);
    expect(
      total(
        compared(
          rows(0),
          rows(0.1).filter((one) => one.repeat === 0),
        ),
      )?.onTheseRows,
    ).toBeUndefined();
  });
});

describe('judgements of one prediction', () => {
  const judged = (key: string, repeat: number, ...totals: (number | undefined)[]) =>
    totals.map((value, index) =>
      value === undefined ? failed(key, 'judge-timeout', { repeat, index }) : row(key, value, { repeat, index }),
    );

  test('are averaged before repeats are, without those that failed', () => {
    const base = [...judged('a', 0, 1, 2, 3), ...judged('a', 1, 4), row('b', 2)];
    const candidate = [...judged('a', 0, 5, undefined, 4), ...judged('a', 1, 3.5, 3.5), row('b', 2)];
    // For row a: (2 + 4) / 2 = 3 against (4.5 + 3.5) / 2 = 4.
    expect(total(compared(base, candidate))).toMatchObject({
      base: (50 + 25) / 2,
      candidate: (75 + 25) / 2,
      difference: { value: 12.5, rows: 2 },
    });
  });

  test('that all agree change nothing', () => {
    const once = (shift: number) =>
      [1, 2, 3, 4, 5, 6].flatMap((place) =>
        [0, 1].map((repeat) => row(`r${place}`, 1 + (place + repeat + shift) / 4, { repeat })),
      );
    const often = (shift: number) => once(shift).flatMap((one) => [0, 1, 2].map((index) => ({ ...one, index })));
    const [single, several] = [compared(once(0), once(2)), compared(often(0), often(2))];
    const { split, ...rest } = total(several) ?? {};
    const { split: splitOnce, ...restOnce } = total(single) ?? {};
    expect(rest).toEqual(restOnce);
    expect(split).toEqual({ ...splitOnce, judge: 0 });
    expect(several.moved).toEqual(single.moved);
    expect(several.coverage).toBe(1);
  });

  test('give the judge a share of the variance if both runs have them, even without repeats', () => {
    const rows = (shift: number) =>
      [1, 2, 3, 4, 5].flatMap((place) =>
        judged(`r${place}`, 0, 1 + place / 4 + shift * place, 1.4 + place / 4 + shift * place),
      );
    const { split, difference } = total(compared(rows(0.2), rows(0.3))) ?? {};
    // Judgements 0.4 apart are 10 points: mean square 50, from 5 rows with 2 judgements, in two runs.
    expect(split?.judge).toBeCloseTo((2 * 50) / (5 * 2), 9);
    expect(split?.row).toBe(Math.max(0, (difference?.se ?? 0) ** 2 - (split?.judge ?? 0)));
    expect(split).not.toHaveProperty('generation');
    const once = rows(0.3).filter(({ index }) => index === 0);
    expect(total(compared(rows(0.2), once))?.split).not.toHaveProperty('judge');
  });
});

describe('coverage', () => {
  test('counts the rows that either run chose', () => {
    const comparison = ok(
      { rows: [row('a', 3), row('b', 3), row('c', 3)], chosen: new Map([['os', 6]]) },
      { rows: [row('b', 4), row('c', 4), row('d', 4), failed('e', 'unreadable')] },
    );
    expect(comparison.domains[0]).toMatchObject({
      rows: 6,
      compared: 2,
      coverage: 1 / 3,
      missing: { base: 3, candidate: 3 },
    });
  });

  test('counts rows even if a run has several judgements per prediction', () => {
    const rows = [0, 1, 2].flatMap((index) => [row('a', 3, { index }), row('b', 4, { index })]);
    const comparison = ok({ rows, chosen: new Map([['os', 2]]) }, { rows: [row('a', 3), row('b', 3)] });
    expect(comparison.domains[0]).toMatchObject({ rows: 2, compared: 2, coverage: 1 });
  });

  test('counts rows even if one run has repeats and the other has none', () => {
    const rows = [0, 1].flatMap((repeat) => [row('a', 3, { repeat }), row('b', 4, { repeat })]);
    expect(ok({ rows, chosen: new Map([['os', 4]]) }, { rows: [row('a', 3), row('b', 3)] }).coverage).toBe(1);
  });

  test('of a domain that one run lacks is 0, and Overall says how many domains it covers', () => {
    const web = { domain: 'web' };
    const comparison = ok(
      { rows: [row('a', 3), row('b', 4), row('w', 3, web)], chosen: new Map([['search', 5]]) },
      { rows: [row('a', 4), row('b', 4)] },
    );
    expect(comparison.domains.map(({ domain, rows, coverage }) => [domain, rows, coverage])).toEqual([
      ['search', 5, 0],
      ['web', 1, 0],
      ['os', 2, 1],
    ]);
    expect(comparison.macroOf).toBe(1);
    expect(comparison.overall.total?.difference.value).toBe(12.5);
  });
});

describe('Overall and resampling', () => {
  const side = (shift: number) =>
    ['mcp', 'search', 'os', 'own'].flatMap((domain, place) =>
      [0, 1, 2, 3, 4, 5].map((index) =>
        row(`${domain}${index}`, 2 + index / 5 + (index % 2 === 0 ? shift * place : 0), {
          domain,
          ratings: { format: 3 },
        }),
      ),
    );
  const comparison = compared(side(0), side(0.2));

  test('Overall is the unweighted mean of the domains, which appear in the published order', () => {
    expect(comparison.domains.map(({ domain }) => domain)).toEqual(['mcp', 'search', 'os', 'own']);
    const values = comparison.domains.map(({ figures }) => figures.total?.difference.value ?? Number.NaN);
    expect(comparison.overall.total?.difference.value).toBeCloseTo(values.reduce((sum, one) => sum + one, 0) / 4, 10);
    expect(comparison.overall.total).toMatchObject({ wins: 9, ties: 15, losses: 0 });
  });

  test('Overall of the seven stays the same in every figure, whatever other domains exist', () => {
    const seven = (shift: number) =>
      DOMAINS.flatMap((domain, place) =>
        [0, 1, 2, 3, 4, 5].map((index) => row(`${domain}${index}`, 2 + ((index + place) % 3) * shift, { domain })),
      );
    const further = (total: number) =>
      [0, 1, 2, 3, 4, 5].map((index) => row(`k${index}`, total, { domain: 'kitchen' }));
    const alone = compared(seven(0), seven(0.5));
    const both = compared([...seven(0), ...further(2)], [...seven(0.5), ...further(5)]);
    expect(both.overall).toEqual(alone.overall);
    expect([both.macroOf, both.domains.length]).toEqual([7, 8]);
    expect(both.domains.at(-1)?.figures.total?.difference.value).toBe(75);
    const fewer = compared([...seven(0).slice(6), ...further(2)], [...seven(0.5).slice(6), ...further(5)]);
    expect(fewer.macroOf).toBe(7);
    expect(fewer.overall.total?.difference.value).toBeGreaterThan(alone.overall.total?.difference.value ?? 99);
  });

  test('fewer than five trajectories give a number without interval, p and power, in their domain and in Overall', () => {
    const side = (shift: number) =>
      [4, 6].flatMap((count) =>
        Array.from({ length: count }, (_, index) =>
          row(`${count}-${index}`, 2 + index / 5 + shift * (index + 1), { domain: count === 4 ? 'os' : 'web' }),
        ),
      );
    const { domains, overall } = compared(side(0), side(0.2));
    const [web, os] = domains.map(({ figures }) => figures.total);
    expect(os?.difference).toEqual({ value: expect.closeTo(12.5, 9), rows: 4, clusters: 4 });
    expect(Object.keys(JSON.parse(JSON.stringify(os))).sort()).toEqual([
      'base',
      'candidate',
      'difference',
      'losses',
      'ties',
      'wins',
    ]);
    expect(web).toMatchObject({ p: 0.03125, pAdjusted: 0.03125 });
    expect(overall.total?.difference).toEqual({ value: expect.closeTo(15, 9), rows: 10, clusters: 10 });
    expect(overall.total?.p).toBeUndefined();
  });

  test('Holm adjusts the p of each figure over the domains', () => {
    const p = comparison.domains.map(({ figures }) => figures.total?.p ?? Number.NaN);
    expect(p).toEqual([1, 0.25, 0.25, 0.25]);
    expect(comparison.domains.map(({ figures }) => figures.total?.pAdjusted)).toEqual([1, 1, 1, 1]);
    expect(comparison.overall.total?.pAdjusted).toBeUndefined();
  });

  test('only the total is bootstrapped, and without draws nothing is resampled', () => {
    const { difference, bootstrap } = comparison.domains[3]?.figures.total ?? {};
    expect(bootstrap?.low).toBeLessThan(difference?.value ?? 0);
    expect(comparison.overall.format).toMatchObject({ ties: 24, p: 1 });
    expect(comparison.overall.format?.bootstrap).toBeUndefined();
    const bare = compareRuns({ rows: side(0) }, { rows: side(0.2) }, { draws: 0 });
    expect(JSON.stringify(bare)).not.toMatch(/"(?:p|pAdjusted|bootstrap)":/);
  });

  test('the smallest effect has 80 % power at the standard error', () => {
    const { difference, smallestEffect } = comparison.domains[3]?.figures.total ?? {};
    // t(0.975) + t(0.8) with 5 degrees of freedom.
    expect(smallestEffect).toBeCloseTo((2.570582 + 0.919544) * (difference?.se ?? 0), 4);
  });
});

describe('rows that moved most', () => {
  test('are sorted by distance, up or down, and limited to the requested number', () => {
    const base = [row('a', 3), row('b', 5, { turnIdx: 7 }), row('c', 2), row('d', 4)];
    const candidate = [row('a', 3.2), row('b', 1), row('c', 4), row('d', 4)];
    const comparison = compareRuns({ rows: base }, { rows: candidate }, { moved: 2 });
    expect(comparison.status === 'ok' && comparison.moved).toEqual([
      { key: 'b', domain: 'os', turnIdx: 7, base: 100, candidate: 0, difference: -100 },
      { key: 'c', domain: 'os', turnIdx: 1, base: 25, candidate: 75, difference: 50 },
    ]);
  });
});

describe('nothing to compare', () => {
  test.each([
    ['no row is shared', [row('a', 3)], [row('b', 3)], 'the two runs have no row in common that is rated in both'],
    ['a run is empty', [row('a', 3)], [], 'the two runs have no row in common that is rated in both'],
    [
      'no shared row is rated twice',
      [row('a', 3), failed('b', 'unreadable')],
      [failed('a', 'prediction'), row('b', 3)],
      'the two runs have no row in common that is rated in both',
    ],
    [
      'rows were measured, not rated',
      [row('a', 0, { failed: undefined as never, measures: { bleu: 3 } })],
      [row('a', 0, { failed: undefined as never, measures: { bleu: 4 } })],
      'the two runs have no row in common that is rated in both',
    ],
  ])('is reported if %s', (_, base, candidate, reason) => {
    expect(compareRuns({ rows: base }, { rows: candidate })).toEqual({ status: 'nothing-in-common', reason });
  });
});
