// What earlier runs measured, pooled.

import { describe, expect, test } from 'vitest';
import { measuredIn } from '../../../src/run/bill.js';
import type { DomainCost } from '../../../src/run/manifest.js';

function run(name: string, costs: Readonly<Record<string, DomainCost>>, pace?: { calls: number; seconds: number }) {
  const manifest = { kind: 'infer', identity: { model: `model of ${name}` }, costs, ...(pace && { pace }) } as const;
  return { name, manifest };
}

const cost = (rows: number, completionTokens: number, chars = 0, promptTokens = 0): DomainCost => ({
  rows,
  usage: { completionTokens, promptTokens },
  counted: { rows, chars, promptTokens },
});

describe('characters per token', () => {
  test('are summed over the runs, by domain if one was measured', () => {
    const measured = measuredIn([
      run('a', { mcp: cost(2, 0, 300, 100) }),
      run('b', { mcp: cost(1, 0, 500, 100), web: cost(1, 0, 400, 200) }),
    ]);
    expect(measured.from).toEqual({ runs: ['a', 'b'], models: ['model of a', 'model of b'] });
    expect(measured.charactersPerToken()).toEqual({ ratio: 3, calls: 4 });
    expect(['mcp', 'web', 'os'].map((domain) => measured.charactersPerToken(domain)?.ratio)).toEqual([4, 2, undefined]);
  });

  test('are ignored if no tokenizer could produce them', () => {
    expect(measuredIn([run('a', { mcp: cost(1, 0, 1_000_000, 1) })]).charactersPerToken()).toBeUndefined();
    expect(measuredIn([run('a', { mcp: cost(1, 0, 10, 1_000) })]).charactersPerToken()).toBeUndefined();
    const partly = measuredIn([run('a', { mcp: cost(1, 0, 100, 0), web: cost(1, 0, 300, 100) })]);
    expect([partly.charactersPerToken('mcp'), partly.charactersPerToken()?.ratio]).toEqual([undefined, 4]);
  });
});

describe('output tokens per row', () => {
  test('are the mean of the runs, by domain and overall', () => {
    const measured = measuredIn([
      run('a', { mcp: cost(10, 1_000), web: cost(10, 3_000) }),
      run('b', { mcp: cost(10, 2_000) }),
    ]);
    expect(['mcp', 'web', 'os'].map((domain) => measured.output(domain)?.perRow)).toEqual([150, 300, undefined]);
    expect(measured.output()).toEqual({ rows: 30, perRow: 200 });
  });

  test('are unknown if no server counted them', () => {
    expect(measuredIn([run('a', { mcp: { rows: 3, usage: { promptTokens: 7 } } })]).output()).toBeUndefined();
    expect(measuredIn([]).output()).toBeUndefined();
  });
});

test('the share of cached tokens counts only servers that report it', () => {
  const told = (cachedTokens: number, promptTokens: number) => ({ rows: 1, usage: { cachedTokens, promptTokens } });
  const runs = [
    run('a', { mcp: told(10, 100), web: { rows: 1, usage: { promptTokens: 1_000 } } }),
    run('b', { mcp: told(50, 100) }),
  ];
  expect(measuredIn(runs).cachedShare).toBeCloseTo(0.3);
  expect(measuredIn([]).cachedShare).toBeUndefined();
});

test('the pace is all calls divided by all of their time', () => {
  const runs = [
    run('a', {}, { calls: 100, seconds: 60 }),
    run('b', {}, { calls: 20, seconds: 180 }),
    run('c', {}, { calls: 0, seconds: 0 }),
  ];
  expect(measuredIn(runs).callsPerMinute).toBe(30);
  expect(measuredIn([run('c', {})]).callsPerMinute).toBeUndefined();
});
