// Decision equivalence, checked against NumPy's bootstrap, and how it treats agents that do not look.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { AGREEMENT } from '../../src/core/equivalence.js';
import { present } from '../../src/core/errors.js';
import type { JudgedRow } from '../../src/core/types.js';
import { equivalenceCard } from '../../src/stats/equivalence.js';

interface Fact {
  readonly domain: string;
  readonly trajectory: string;
  readonly figures: readonly (number | null)[];
}
interface Known {
  readonly means: readonly [number, number, number];
  readonly gap: readonly [number, number];
  readonly value: number | null;
  readonly interval: readonly [number, number] | null;
}
// The file is ours; its make.py computes the contents.
const { sets } = JSON.parse(readFileSync(new URL('../../fixtures/equivalence.json', import.meta.url), 'utf8')) as {
  sets: { title: string; rows: Fact[]; found: Known[] }[];
};

function rowsOf(facts: readonly Fact[]): JudgedRow[] {
  return facts.map(({ domain, trajectory, figures }, at) => ({
    key: `k${at}`,
    trajectory,
    domain,
    repeat: 0,
    index: 0,
    turnIdx: 1,
    total: 0,
    ratings: {},
    flags: [],
    measures: Object.fromEntries(
      Object.values(AGREEMENT).flatMap((name, place) => {
        const value = figures[place];
        return typeof value === 'number' ? [[name, value]] : [];
      }),
    ),
  }));
}

/** `count` rows with the same measures, over the given number of trajectories. */
const alike = (count: number, clusters: number, figures: Fact['figures'], domain = 'web') =>
  rowsOf(Array.from({ length: count }, (_, at) => ({ domain, trajectory: `${domain}${at % clusters}`, figures })));

describe.each(sets)('over $title', ({ rows, found }) => {
  const card = present(equivalenceCard(rowsOf(rows), { draws: 40_000, seed: 3 }));
  const parts = [...card.domains, card.overall].map((own, at) => ({ own, known: present(found[at]) }));

  it('the raw means and the ratio equal those of NumPy', () => {
    expect(parts).toHaveLength(found.length);
    for (const { own, known } of parts) {
      for (const [at, value] of [own.predicted, own.ceiling, own.floor].entries()) {
        expect(value).toBeCloseTo(present(known.means[at]), 10);
      }
      if (known.value === null) expect(own.found).toBe('does not look');
      else expect(own.found).toMatchObject({ value: expect.closeTo(known.value, 10) });
    }
  });

  it('the intervals equal those of resampling in NumPy, up to random error', () => {
    for (const { own, known } of parts) {
      const { interval } = typeof own.found === 'string' ? {} : own.found;
      expect(Math.abs(present(own.gap).low - known.gap[0])).toBeLessThan(1);
      expect(Math.abs(present(own.gap).high - known.gap[1])).toBeLessThan(1);
      if (known.interval === null) expect(interval).toBeUndefined();
      else {
        expect(Math.abs(present(interval).low - known.interval[0])).toBeLessThan(2.5);
        expect(Math.abs(present(interval).high - known.interval[1])).toBeLessThan(2.5);
      }
    }
  });
});

describe('there is no equivalence', () => {
  it('for an agent that always does the same, however large the agreement', () => {
    const { domains, overall } = present(equivalenceCard(alike(60, 30, [100, 100, 100])));
    expect(domains[0]).toMatchObject({ predicted: 100, ceiling: 100, floor: 100, found: 'does not look' });
    expect(overall.found).toBe('does not look');
  });

  it('for an agent that never does the same twice', () => {
    expect(present(equivalenceCard(alike(60, 30, [0, 0, 0]))).overall.found).toBe('does not look');
  });

  it('with fewer than five trajectories, or for a mean that includes a domain with so few', () => {
    const rows = [...alike(40, 4, [50, 100, 0]), ...alike(40, 20, [50, 100, 0], 'os')];
    const { domains, overall } = present(equivalenceCard(rows));
    expect(domains.map(({ domain, found }) => [domain, typeof found === 'string' ? found : found.value])).toEqual([
      ['web', 'few'],
      ['os', 50],
    ]);
    expect(overall).toMatchObject({ predicted: 50, found: 'few' });
    expect(overall.gap).toBeUndefined();
  });

  it('for rows judged in another mode', () => {
    expect(equivalenceCard(rowsOf([{ domain: 'web', trajectory: 't', figures: [50, 100, null] }]))).toBeUndefined();
  });
});

it('rows that all agree have no interval with few trajectories, and one with many', () => {
  const found = (clusters: number) => present(equivalenceCard(alike(100, clusters, [100, 100, 0]))).overall.found;
  expect(found(20)).toEqual({ value: 100 });
  expect(found(50)).toEqual({ value: 100, interval: { low: 100, high: 100 } });
});

it('a prediction missing because its model failed lowers the equivalence', () => {
  const whole = alike(40, 20, [100, 100, 0]);
  const failed = alike(40, 20, [100, 100, 0]).map((row, at) =>
    at % 4 === 0 ? { ...row, measures: { agreement: 0 } } : row,
  );
  const foundIn = (rows: readonly JudgedRow[]) => present(equivalenceCard(rows)).overall.found;
  expect(foundIn(whole)).toMatchObject({ value: 100 });
  expect(foundIn(failed)).toMatchObject({ value: 75 });
});

it('repeats and judgements of a row are averaged first, and only the seven domains count for Overall', () => {
  const twice = alike(20, 20, [0, 100, 0]).flatMap((row) => [
    row,
    { ...row, repeat: 1, measures: { ...row.measures, agreement: 100 } },
  ]);
  expect(present(equivalenceCard(twice)).domains[0]).toMatchObject({ rows: 20, predicted: 50 });
  const seven = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os', 'robot'].flatMap((domain) =>
    alike(10, 10, [domain === 'robot' ? 100 : 0, 100, 0], domain),
  );
  const card = present(equivalenceCard(seven));
  expect(card.macroOf).toBe(7);
  expect(card.overall.predicted).toBe(0);
  expect(card.domains).toHaveLength(8);
});
