// What a run cost, as read by people and programs.

import { describe, expect, it } from 'vitest';
import type { Cost, RunCosts } from '../../src/core/costs.js';
import { documentOf } from '../../src/core/document.js';
import type { Table } from '../../src/core/table.js';
import { terminal } from '../../src/core/terminal.js';
import { askedNames, COSTS, costsSource, costTable } from '../../src/report/costs.js';

const price = { model: 'gpt-5.2', source: 'prices.yaml', input: 1, output: 2 };
const cost = (rows: number, usd: number | undefined, unpriced = 0): Cost => ({
  rows,
  unpriced,
  usage: { promptTokens: rows * 1_000_000, completionTokens: rows * 1000 },
  ...(usd === undefined ? {} : { usd }),
});
const domains = new Map([
  ['web', cost(1, 2.5)],
  ['mcp', cost(2, 10, 12)],
]);
const costs: RunCosts = {
  world_model: { price, total: cost(3, 12.5, 12), domains },
  judge: { total: cost(3, undefined, 3), domains: new Map() },
};
const NAMES = askedNames(undefined);
const lines = (table: Table | undefined) =>
  table === undefined ? [] : terminal(table, { columns: 80, color: false }).split('\n');

it('a price with undocumented keys is left out of the document', () => {
  const document = documentOf(COSTS, costsSource(costs));
  expect(COSTS.safeParse(document).success).toBe(true);
  const changed = { ...document, world_model: { ...document.world_model, price: { ...price, more: 1 } } };
  expect(COSTS.safeParse(changed).success).toBe(false);
});

describe('the table of costs', () => {
  it('marks a cost with price tiers, since the length of each call of a row is unknown', () => {
    const tiers = { ...price, input: { base: 1, tiers: [{ start: 200_000, price: 2 }] } };
    const told = lines(
      costTable({ world_model: { price: tiers, total: cost(3, 12.5), domains } }, { byDomain: false, names: NAMES }),
    );
    expect(told.join(' ')).toContain('by prices.yaml; the calls of a row are priced by their mean prompt length.');
  });

  it('has a row for each model that was asked, says what is not counted, and fits 80 columns', () => {
    expect(lines(costTable(costs, { byDomain: false, names: NAMES }))).toEqual([
      'Tokens          Prompt  Cached  Output  Reasoning      Cost',
      'World model  3,000,000       -   3,000          -  ≥ $12.50',
      'Judge        3,000,000       -   3,000          -   unknown',
      'World model: price of gpt-5.2 by prices.yaml; without 12 rows of unknown cost.',
      'Judge: no price is known; give one with awb score --prices FILE.',
      '',
    ]);
  });

  it('lists the domains below each in the published order on request', () => {
    const names = costTable(costs, { byDomain: true, names: NAMES })?.groups.map((rows) => rows.map((row) => row[0]));
    expect(names).toEqual([['World model', '  MCP', '  Web'], ['Judge']]);
  });

  it('is absent if no model was asked, or nothing is known', () => {
    const none = { total: { rows: 0, unpriced: 0, usage: {}, usd: 0 }, domains: new Map() };
    expect(costTable({ world_model: none, judge: none }, { byDomain: false, names: NAMES })).toBeUndefined();
    expect(costTable(undefined, { byDomain: false, names: NAMES })).toBeUndefined();
    expect(lines(costTable({ ...costs, world_model: none }, { byDomain: false, names: NAMES }))[1]).toMatch(/^Judge/);
  });

  it('says "agent" if an agent was asked instead of a judge', () => {
    const overall = { predicted: 0, ceiling: 0, floor: 0, rows: 0, clusters: 0, found: 'few' } as const;
    const names = askedNames({ domains: [], overall, macroOf: 0 });
    const text = lines(costTable(costs, { byDomain: false, names })).join('\n');
    expect(text).toContain('\nAgent        3,000,000');
    expect(text).toContain('Agent: no price is known;');
    expect(text.toLowerCase()).not.toContain('judge');
  });

  it('keeps whatever a manifest contains on its line', () => {
    const hostile = { ...price, model: '\x1b[31mred\nline', source: 'x' };
    const text = lines(
      costTable({ world_model: { price: hostile, total: cost(1, 1), domains } }, { byDomain: false, names: NAMES }),
    ).join('\n');
    expect(text).not.toContain('\x1b');
    expect(text).not.toContain('red\nline');
  });
});

describe('the document of costs', () => {
  it('is unrounded, and null if unknown', () => {
    expect(documentOf(COSTS, costsSource({ world_model: costs.world_model as never }))).toEqual({
      world_model: {
        rows: 3,
        prompt_tokens: 3_000_000,
        cached_tokens: null,
        completion_tokens: 3000,
        reasoning_tokens: null,
        usd: 12.5,
        unpriced: 12,
        price,
        domains: { web: expect.objectContaining({ usd: 2.5, unpriced: 0 }), mcp: expect.objectContaining({ rows: 2 }) },
      },
      judge: null,
    });
  });
});
