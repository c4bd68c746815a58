// What earlier runs measured, and what is estimated by it.

import { describe, expect, test } from 'vitest';
import {
  ALL_DOMAINS,
  cachedShare,
  callsPerMinute,
  type DomainMeasure,
  type Measurement,
  outputMeans,
  tokenRatio,
} from '../../src/billing/measurements.js';

function run(
  name: string,
  like: Measurement['like'],
  domains: Readonly<Record<string, DomainMeasure>>,
  pace?: Measurement['pace'],
): Measurement {
  return { name, model: `model of ${name}`, like, domains: new Map(Object.entries(domains)), pace };
}

const measure = (rows: number, completionTokens: number, chars = 0, promptTokens = 0): DomainMeasure => ({
  rows,
  usage: { completionTokens, promptTokens },
  counted: { rows, chars, promptTokens },
});

describe('characters a token', () => {
  test('are summed over runs of the model, whatever it was asked for with, by domain where one was measured', () => {
    const ratio = tokenRatio([
      run('a', 'settings', { mcp: measure(2, 0, 300, 100) }),
      run('b', 'model', { mcp: measure(1, 0, 500, 100), web: measure(1, 0, 400, 200) }),
      run('c', 'other', { mcp: measure(9, 0, 9_000, 100) }),
    ]);
    expect(ratio.basis).toEqual({
      by: 'measured',
      charactersPerToken: 3,
      calls: 4,
      runs: { like: 'model', names: ['a', 'b'], models: ['model of a', 'model of b'] },
    });
    expect(['mcp', 'web', 'os'].map(ratio.charactersPerToken)).toEqual([4, 2, 3]);
  });

  test('are those of other models where there is no other, and a guess where nobody counted', () => {
    const other = run('c', 'other', { mcp: measure(1, 0, 300, 100) });
    expect(tokenRatio([other]).basis).toMatchObject({ by: 'measured', runs: { like: 'other' } });
    expect(tokenRatio([]).basis).toEqual({ by: 'guess', charactersPerToken: 4 });
  });

  test('that no tokenizer has are not believed', () => {
    const absurd = run('a', 'settings', { mcp: measure(1, 0, 1_000_000, 1), web: measure(1, 0, 10, 1_000) });
    expect(tokenRatio([absurd]).basis.by).toBe('guess');
    const partly = tokenRatio([run('a', 'settings', { mcp: measure(1, 0, 100, 0), web: measure(1, 0, 300, 100) })]);
    expect(partly.charactersPerToken('mcp')).toBe(4);
  });
});

describe('output tokens a row', () => {
  test('are the mean of the runs under the same settings, and of all domains for one that was not measured', () => {
    const means = outputMeans([
      run('a', 'settings', { mcp: measure(10, 1_000), web: measure(10, 3_000) }),
      run('b', 'settings', { mcp: measure(10, 2_000) }),
      run('c', 'model', { os: measure(10, 90_000) }),
    ]);
    expect(['mcp', 'web', 'os'].map((domain) => means?.perRow(domain))).toEqual([150, 300, 200]);
    expect(means?.basis(['mcp', 'os'])).toEqual({
      rows: 30,
      runs: { like: 'settings', names: ['a', 'b'], models: ['model of a', 'model of b'] },
      guessed: ['os'],
    });
  });

  test('of a run that did not count by domain hold for every domain', () => {
    const means = outputMeans([run('old', 'settings', { [ALL_DOMAINS]: measure(4, 400) })]);
    expect(means?.perRow('mcp')).toBe(100);
    expect(means?.basis(['mcp']).guessed).toEqual(['mcp']);
  });

  test('are unknown where no server counted them', () => {
    expect(outputMeans([run('a', 'settings', { mcp: { rows: 3, usage: { promptTokens: 7 } } })])).toBeUndefined();
    expect(outputMeans([])).toBeUndefined();
  });
});

test("the share of caches is that of servers that tell, and the user's choice of runs goes first", () => {
  const told = (cachedTokens: number, promptTokens: number) => ({ rows: 1, usage: { cachedTokens, promptTokens } });
  const runs = [
    run('a', 'settings', { mcp: told(10, 100), web: { rows: 1, usage: { promptTokens: 1_000 } } }),
    run('b', 'settings', { mcp: told(50, 100) }),
  ];
  expect(cachedShare(runs)?.share).toBeCloseTo(0.3);
  expect(cachedShare([...runs, run('n', 'named', { mcp: told(9, 10) })])).toMatchObject({
    share: 0.9,
    runs: { like: 'named', names: ['n'] },
  });
  expect(cachedShare([])).toBeUndefined();
});

test('the pace is that of all calls over all of their time', () => {
  const runs = [
    run('a', 'model', {}, { calls: 100, seconds: 60 }),
    run('b', 'model', {}, { calls: 20, seconds: 180 }),
    run('c', 'model', {}, { calls: 0, seconds: 5 }),
  ];
  expect(callsPerMinute(runs)).toMatchObject({ perMinute: 30, runs: { names: ['a', 'b'] } });
  expect(callsPerMinute([run('c', 'model', {})])).toBeUndefined();
});
