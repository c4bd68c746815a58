// Sizes of rows, and the bins that they are counted in.

import { describe, expect, test } from 'vitest';
import { statsOf } from '../../src/benchmark/survey.js';
import { surveyOf } from '../support/surveys.js';

describe('sizes', () => {
  const {
    domains,
    all,
    bin_edges: edges,
  } = statsOf(
    surveyOf([
      { domain: 'web', contextTokens: 100, truthTokens: 0, trajectory: 1 },
      { domain: 'mcp', contextTokens: 1_000, truthTokens: 1, trajectory: 2 },
      { domain: 'mcp', contextTokens: 4_096, truthTokens: 64, trajectory: 2 },
    ]),
  );

  test('stand by domain in the order of tables, and for all together', () => {
    expect(Object.entries(domains).map(([domain, { rows, trajectories }]) => [domain, rows, trajectories])).toEqual([
      ['mcp', 2, 1],
      ['web', 1, 1],
    ]);
    expect(all).toMatchObject({ rows: 3, trajectories: 2, context_tokens: { median: 1_000, max: 4_096 } });
    expect(all.context_tokens.p90).toBeCloseTo(3_476.8, 9);
  });

  test('lie between powers of two on a scale that all domains share', () => {
    const { context_tokens: context } = edges;
    expect([context[0], context.at(-1), context.length]).toEqual([64, 4_096, 25]);
    for (const [at, edge] of context.slice(1).entries())
      expect(edge / (context[at] as number)).toBeCloseTo(2 ** (6 / 24), 9);
  });

  test('are counted once each: the largest in the last bin, an empty observation in the first', () => {
    for (const { context_tokens: context, truth_tokens: truth } of [all, ...Object.values(domains)]) {
      expect(context.bins.reduce((sum, count) => sum + count, 0)).toBe(
        truth.bins.reduce((sum, count) => sum + count, 0),
      );
    }
    expect(all.context_tokens.bins.reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(all.context_tokens.bins.at(-1)).toBe(1);
    expect(all.truth_tokens.bins[0]).toBe(2);
    const bin = all.context_tokens.bins.findIndex((count, at) => count > 0 && at > 5);
    expect(edges.context_tokens[bin]).toBeLessThanOrEqual(1_000);
    expect(edges.context_tokens[bin + 1]).toBeGreaterThan(1_000);
  });

  test('of one value only have a scale all the same', () => {
    const one = statsOf(surveyOf([{ contextTokens: 64, truthTokens: 0 }]));
    expect(one.bin_edges.context_tokens[0]).toBe(64);
    expect(one.all.truth_tokens.bins[0]).toBe(1);
  });
});
