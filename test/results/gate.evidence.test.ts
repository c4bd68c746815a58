// The evidence on which a gate decides.

import { expect, test } from 'vitest';
import { readRun } from '../../src/results/find.js';
import { domainNotes, evidenceOf, isPublished, publishedBase } from '../../src/results/gate.js';
import { defaultPolicy } from '../../src/stats/policy.js';
import { temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { around, type JudgedRun, judgedRun } from '../support/judged-runs.js';

async function runOf(run: Partial<JudgedRun>) {
  const dir = await temporaryFolder();
  await judgedRun(dir, { rating: around(3), ...run });
  return readRun('.', { db: [], quiet: true }, ioIn(dir));
}

test('tokens per row, and the cost that the user gave, are those of the world model', async () => {
  const { evidence, notes } = evidenceOf({ candidate: await runOf({ meta: { cost: '12.5 USD' } }) }, defaultPolicy());
  expect(evidence.usage).toEqual({ tokensPerRow: 500, cost: { usd: 12.5, unpriced: 0 } });
  expect(evidence.comparison).toBeUndefined();
  expect(notes).toEqual([]);
});

test('a recorded cost overrides the one that the user gave, unless a part of it is unknown', async () => {
  const given = await runOf({ meta: { cost: '$12.5' } });
  const usage = { completionTokens: 30 };
  const recorded = (unpriced: number) => ({ total: { rows: 3, usd: 7, unpriced, usage }, domains: new Map() });
  const usageOf = (unpriced: number) => {
    const costs = { world_model: recorded(unpriced), judge: recorded(unpriced) };
    return evidenceOf({ candidate: { ...given, costs } }, defaultPolicy()).evidence.usage;
  };
  expect(usageOf(0)).toEqual({
    tokensPerRow: 10,
    cost: { usd: 7, unpriced: 0 },
    judgeCost: { usd: 7, unpriced: 0 },
  });
  expect(usageOf(2)).toMatchObject({ cost: { usd: 12.5, unpriced: 0 }, judgeCost: { usd: 7, unpriced: 2 } });
});

test('a cost that is not a number is ignored', async () => {
  const { evidence } = evidenceOf({ candidate: await runOf({ meta: { cost: 'much' } }) }, defaultPolicy());
  expect(evidence.usage).toEqual({ tokensPerRow: 500 });
});

test('a published row is found in upper or lower case, and the nearest name is suggested if there is none', () => {
  expect(isPublished('published:x')).toBe(true);
  expect(isPublished('x')).toBe(false);
  expect(publishedBase('published:gpt-5.4').shown).toMatchObject({ name: 'published GPT-5.4', rubricPack: 'official' });
  expect(() => publishedBase('published:GPT-5')).toThrow('did you mean "GPT-5.4"?');
});

test('an Overall without one of the seven says which; one without published domains needs no such note', async () => {
  expect(domainNotes(await runOf({ domains: ['mcp', 'web'] }))[0]).toContain('the mean of only 2 domains');
  expect(domainNotes(await runOf({}))).toEqual([]);
  expect(domainNotes(await runOf({ domains: ['kitchen'] }))).toEqual([]);
});
