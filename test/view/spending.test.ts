// What a run took, on its page.

import { describe, expect, it } from 'vitest';
import type { Cost, RunCosts } from '../../src/core/costs.js';
import { spentText } from '../../src/view/report-samples.js';
import { pageOf, reportOf, rowOf } from '../support/reports.js';

const cost = (usd: number | undefined, unpriced = 0): Cost => ({
  rows: 2,
  unpriced,
  usage: { promptTokens: 19_000, completionTokens: 280 },
  ...(usd === undefined ? {} : { usd }),
});
const price = { model: 'gpt-5.2', source: 'prices.yaml', input: 1, output: 2 };
const worldModel = { price, domains: new Map([['mcp', cost(12.35, 3)]]), total: cost(12.35, 3) };
const judge = { domains: new Map(), total: cost(undefined, 2) };
const text = (html: string) =>
  html
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
const shown = (costs: RunCosts) => text(pageOf(reportOf([rowOf(0)], { costs })));

describe('the tokens and the cost of a run', () => {
  it('stand by domain and in all for world model and judge, with the price and what is not known', () => {
    const page = shown({ world_model: worldModel, judge });
    expect(page).toContain('World model 19,000 - 280 - ≥ $12.35 MCP 19,000 - 280 - ≥ $12.35');
    expect(page).toContain('Judge 19,000 - 280 - unknown');
    expect(page).toContain(
      'World model: price of gpt-5.2 by prices.yaml; what 3 rows cost is not known, and not in it.',
    );
    expect(page).toContain('Tokens 38.6 k world model ≥ $12.35, judge unknown');
  });

  it('are left out where nobody was asked', () => {
    expect(shown({})).not.toContain('Tokens and cost');
    expect(shown({ judge })).toContain('Tokens 19.3 k judge ');
  });
});

it.each([
  [
    { promptTokens: 19_000, completionTokens: 280, reasoningTokens: 70 },
    0.034,
    'prediction 19,000 + 280 tokens (70 thinking), $0.034',
  ],
  [{ promptTokens: 1, completionTokens: 2 }, undefined, 'prediction 1 + 2 tokens'],
  [{}, undefined, undefined],
])('a sample that took %o reads as %s dollars: %s', (usage, usd, line) => {
  const log = { attempts: 1, usage, ms: 1, host: 'h' };
  expect(spentText('prediction', { log, ...(usd === undefined ? {} : { usd }) })).toBe(line);
});

it('a sample that nobody was asked for says nothing', () => {
  expect(spentText('prediction', { usd: 0 })).toBeUndefined();
  expect(spentText('prediction', undefined)).toBeUndefined();
});
