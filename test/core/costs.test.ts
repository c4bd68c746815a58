// What rows took together.

import { expect, test } from 'vitest';
import { costsByDomain, type Spent, sumOf, wholeCost } from '../../src/core/costs.js';

const asked = (usage: object, usd?: number): Spent => ({
  log: { attempts: 1, usage, ms: 1 },
  ...(usd === undefined ? {} : { usd }),
});

test('rows are summed by domain, and one of unknown cost is counted as such and never as free', () => {
  const domains = costsByDomain([
    ['mcp', asked({ promptTokens: 10, completionTokens: 2 }, 0.5)],
    ['mcp', asked({ promptTokens: 5, completionTokens: 1, reasoningTokens: 1 }, 0.25)],
    ['mcp', asked({})],
    ['web', { usd: 0 }],
    ['web', undefined],
    ['os', asked({ promptTokens: 3, completionTokens: 4 })],
  ]);
  expect(Object.fromEntries(domains)).toEqual({
    mcp: { rows: 2, unpriced: 1, usd: 0.75, usage: { promptTokens: 15, completionTokens: 3, reasoningTokens: 1 } },
    web: { rows: 0, unpriced: 1, usage: {} },
    os: { rows: 1, unpriced: 1, usage: { promptTokens: 3, completionTokens: 4 } },
  });
  const total = sumOf(domains.values());
  expect(total).toEqual({
    rows: 3,
    unpriced: 3,
    usd: 0.75,
    usage: { promptTokens: 18, completionTokens: 7, reasoningTokens: 1 },
  });
  expect(wholeCost(total)).toBeUndefined();
  expect(wholeCost({ ...total, unpriced: 0 })).toBe(0.75);
});

test('where no price is known, rows that needed no call do not make the cost "at least nothing"', () => {
  const domains = costsByDomain([
    ['mcp', asked({ promptTokens: 10, completionTokens: 2 })],
    ['mcp', { usd: 0 }],
    ['web', { usd: 0 }],
  ]);
  expect([domains.get('mcp')?.usd, domains.get('web')?.usd]).toEqual([undefined, 0]);
  expect(sumOf(domains.values())).toEqual({ rows: 1, unpriced: 1, usage: { promptTokens: 10, completionTokens: 2 } });
});
