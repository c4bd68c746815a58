// Figures in words: the same figure reads alike wherever it stands.

import { describe, expect, it, test } from 'vitest';
import { besideLimit, counted, signed, twoDecimals } from '../../src/core/printable.js';
import { DOMAINS } from '../../src/core/types.js';
import { decide } from '../../src/stats/gate.js';
import { defaultPolicy, parsePolicy } from '../../src/stats/policy.js';

describe('a value next to the limit that decides', () => {
  const tenth = (value: number) => value.toFixed(1);
  it.each([
    [2.96, 3, '2.96'],
    [2.9996, 3, '2.9996'],
    [3.04, 3, '3.04'],
    [3, 3, '3.0'],
    [2.4, 3, '2.4'],
  ])('%d next to %d is %s, never on its other side', (value, limit, text) => {
    expect(besideLimit(value, limit, tenth)).toBe(text);
  });
});

describe('two decimals', () => {
  it.each([
    [62.125, '62.12'],
    [62.375, '62.38'],
    [-0.125, '-0.12'],
    [62.1251, '62.13'],
    [-0.001, '0.00'],
  ])('%d is %s, ties to the even digit', (value, text) => {
    expect(twoDecimals(value)).toBe(text);
  });

  it('a difference is rounded as a score is', () => {
    expect([signed(0.125), signed(-0.125), signed(0.001)]).toEqual(['+0.12', '-0.12', '0.00']);
  });

  it('the sentence of a gate rounds as its table does', () => {
    const difference = { value: 0.125, rows: 400, clusters: 100, se: 0.5, df: 99, low: -0.875, high: 1.125 };
    const total = { difference, base: 60, candidate: 60.125, wins: 2, ties: 0, losses: 1 };
    const domains = DOMAINS.map((domain) => {
      return { domain, rows: 400, compared: 400, coverage: 1, missing: { base: 0, candidate: 0 }, figures: { total } };
    });
    const whole = { status: 'ok' as const, overall: { total }, macroOf: 7, rows: 2800, compared: 2800, coverage: 1 };
    const sentenceOf = (first: string) =>
      decide(
        {
          comparison: {
            ...whole,
            moved: [],
            domains: domains.map((each, i) => (i === 0 ? { ...each, domain: first } : each)),
          },
        },
        defaultPolicy(),
      ).summary;
    expect(sentenceOf('mcp')).toContain('Overall changed by +0.12 points');
    expect(sentenceOf('kitchen')).toContain('Overall (macro of 7) changed by +0.12 points');
  });
});

test('a limit of tokens reads alike in a sentence and in a table, and shows by how little it is exceeded', () => {
  const usage = { tokensPerRow: 12000.4, cost: { usd: 12.5, unpriced: 0 } };
  const { rules } = decide({ usage }, parsePolicy({ limits: { tokens_per_row: 12000, cost: 12.5 } }));
  expect(rules.map(({ sentence }) => sentence)).toEqual([
    "The candidate's completion tokens per row: 12000.4, more than the limit of 12000.",
    "The candidate's cost: $12.50, within the limit of $12.50.",
  ]);
});

test('one is one, and none is many', () => {
  expect([counted(0, 'row'), counted(1, 'row'), counted(2, 'trajectory', 'trajectories')]).toEqual([
    '0 rows',
    '1 row',
    '2 trajectories',
  ]);
});
