// The counts of a run, computed from its rows.

import { describe, expect, test } from 'vitest';
import { present } from '../../src/core/errors.js';
import type { ModelOutcome, Usage } from '../../src/core/types.js';
import { temporaryFolder } from '../support/cli.js';
import { fine, runMadeUp } from '../support/made-up-stage.js';

const log = { attempts: 1, usage: { promptTokens: 5 }, ms: 1, host: 'here' };

test('rows are counted by outcome; rows that cannot be asked count as chosen', async () => {
  const answer = ({ id }: { id: string }) =>
    id === 'row-1' ? ({ status: 'failed', class: 'timeout', reason: 'too slow', log } as const) : fine();
  const { result } = await runMadeUp({ dir: await temporaryFolder(), rows: 3, answer, stage: { absent: { web: 2 } } });
  const { manifest, reasons } = await result;
  expect(manifest.chosen).toEqual({ mcp: 2, terminal: 1, web: 2 });
  expect(manifest.counts).toEqual({
    ...{ chosen: 5, ok: 2, failed: 1, notDone: 0, absent: 2 },
    failures: { timeout: 1 },
    flags: {},
  });
  expect(manifest.tokens).toEqual({ promptTokens: 5, completionTokens: 20 });
  expect(reasons).toEqual({ timeout: 'too slow' });
});

test('a row that is judged again is chosen once, and each of its judgements is counted', async () => {
  const jobs = ['a#0', 'a#0#1', 'b#0', 'b#0#1'].map((id) => ({
    ...{ id, group: 'one', domain: 'mcp' },
    ...(id.endsWith('#1') ? { isFurther: true as const } : {}),
  }));
  const { result } = await runMadeUp({ dir: await temporaryFolder(), stage: { rows: jobs, order: jobs } });
  expect((await result).manifest).toMatchObject({ chosen: { mcp: 2 }, counts: { chosen: 4, ok: 4 } });
});

describe('what the records consumed', () => {
  const price = { model: 'm', source: 'x', input: 1, output: 10 };
  const reply = (usage: Usage, chars?: number) =>
    ({ status: 'ok', content: 'fine', log: { ...log, usage, ...(chars === undefined ? {} : { chars }) } }) as const;
  const manifestOf = async (replies: readonly ModelOutcome[]) => {
    const { result } = await runMadeUp({
      dir: await temporaryFolder(),
      rows: replies.length,
      answer: ({ id }) => present(replies[Number(id.slice(4))]),
      stage: { manifest: { meta: {}, settings: {}, data: {}, endpoints: [], price } },
    });
    return (await result).manifest;
  };

  test('tokens and money are summed by domain, and records without a price are counted', async () => {
    const { costs, price: kept } = await manifestOf([
      reply({ promptTokens: 1_000_000, completionTokens: 100_000 }, 4_000_000),
      reply({ promptTokens: 500_000, completionTokens: 0, reasoningTokens: 0 }),
      reply({ promptTokens: 7 }, 28),
    ]);
    expect(kept).toEqual(price);
    expect(costs).toEqual({
      mcp: {
        rows: 2,
        usage: { promptTokens: 1_000_007, completionTokens: 100_000 },
        usd: 2,
        unpriced: 1,
        counted: { rows: 2, chars: 4_000_028, promptTokens: 1_000_007 },
      },
      terminal: { rows: 1, usage: { promptTokens: 500_000, completionTokens: 0, reasoningTokens: 0 }, usd: 0.5 },
    });
  });

  test('a row that failed and was asked again consumed both records, each priced by its own calls; its characters are those of the latest', async () => {
    const dir = await temporaryFolder();
    const tiers = { base: 1, tiers: [{ start: 500_000, price: 100 }] };
    const stage = {
      manifest: { meta: {}, settings: {}, data: {}, endpoints: [], price: { ...price, input: tiers, call: 0.25 } },
    };
    const usage = { promptTokens: 800_000, completionTokens: 0 };
    const failed = (more: object) =>
      ({ status: 'failed', class: 'timeout', reason: 'slow', log: { ...log, usage, ...more } }) as const;
    // Two calls of half the prompt each, then one without a count, then one that is kept.
    await runMadeUp({ dir, rows: 1, stage, answer: () => failed({ tries: 2 }) });
    await runMadeUp({ dir, rows: 1, stage, answer: () => failed({ usage: {} }) });
    const { result } = await runMadeUp({
      ...{ dir, rows: 1, stage },
      answer: () => reply({ promptTokens: 200_000, completionTokens: 0 }, 400_000),
    });
    const { costs, tokens } = (await result).manifest;
    expect(costs).toEqual({
      mcp: {
        rows: 1,
        usage: { promptTokens: 1_000_000, completionTokens: 0 },
        usd: expect.closeTo(0.8 + 0.5 + 0.2 + 0.25, 12),
        counted: { rows: 1, chars: 400_000, promptTokens: 200_000 },
      },
    });
    expect(tokens).toEqual({ promptTokens: 200_000, completionTokens: 0 });
  });

  test('a row that needed no call consumed nothing', async () => {
    const { result } = await runMadeUp({ dir: await temporaryFolder(), rows: 2, stage: { asks: () => false } });
    const { manifest } = await result;
    const nothing = { rows: 0, usage: {}, usd: 0 };
    expect([manifest.costs, manifest.pace]).toEqual([{ mcp: nothing, terminal: nothing }, undefined]);
  });

  test('calls and asking time add up across sessions', async () => {
    const dir = await temporaryFolder();
    const failing = () => ({ status: 'failed', class: 'timeout', reason: 'slow', log }) as const;
    const first = (await (await runMadeUp({ dir, rows: 2, answer: failing })).result).manifest.pace;
    const second = (await (await runMadeUp({ dir, rows: 2 })).result).manifest.pace;
    expect([first?.calls, second?.calls]).toEqual([2, 4]);
    expect(second?.seconds).toBeGreaterThan(first?.seconds ?? 0);
  });
});
