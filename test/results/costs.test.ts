// What a judged run cost, from the journals and manifests on the disk.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Price } from '../../src/core/costs.js';
import type { JudgedRow } from '../../src/core/types.js';
import { countCosts, manifestCosts } from '../../src/results/costs.js';
import type { Manifest } from '../../src/run/manifest.js';
import { temporaryFolder } from '../support/cli.js';

/** A dollar per prompt token, two per output token. */
const PRICE: Price = { model: 'm', source: 's', input: 1e6, output: 2e6 };
const PRICES = { world_model: PRICE, judge: { ...PRICE, input: 10e6 } };

let dir: string;
beforeEach(async () => {
  dir = join(await temporaryFolder(), 'judged');
  await mkdir(join(dir, '../predicted'), { recursive: true });
  await mkdir(dir);
});

function rowOf(key: string, repeat = 0, index = 0, domain = 'mcp'): JudgedRow {
  return { key, trajectory: 't', repeat, index, domain, turnIdx: 1, total: 3, ratings: {}, flags: [] };
}

const call = (promptTokens: number, completionTokens: number) => ({
  attempts: 1,
  usage: { promptTokens, completionTokens },
  ms: 1,
  host: 'h',
});
const writeJournal = (path: string, logs: readonly (readonly [id: string, log: object])[]) =>
  writeFile(join(dir, path), logs.map(([id, log]) => `${JSON.stringify({ id, row: {}, log })}\n`).join(''));

const predictions = { startedAt: '2026-01-01T00:00:00.000Z', identity: { model: 'wm' } };
const manifestOf = (more: object = {}) =>
  // The fields of a manifest that this calculation reads.
  ({
    identity: { judge: 'j', predictions: { file: '../predicted/predictions.jsonl' } },
    predictions: { ...predictions, ...more },
  }) as unknown as Manifest;
const writePredictionsManifest = (startedAt = predictions.startedAt) =>
  writeFile(
    join(dir, '../predicted/predictions.manifest.json'),
    JSON.stringify({ schema: 'awb.manifest/1', identity: {}, startedAt }),
  );

const count = (rows: readonly JudgedRow[], manifest: Manifest | undefined = manifestOf(), prices = PRICES) =>
  countCosts({ source: join(dir, 'judged.jsonl'), manifest, rows, costs: manifestCosts(manifest) }, prices);

describe('with both journals', () => {
  it('repeats and judgements are summed, a prediction counts once, and all calls of a row that was asked again count', async () => {
    await writePredictionsManifest();
    await writeJournal('../predicted/predictions.journal.jsonl', [
      ['a#0', call(1, 1)],
      ['a#1', { attempts: 4, usage: {}, ms: 1, host: 'h' }],
      ['a#1', call(2, 2)],
      ['b#0', { attempts: 5, usage: {}, ms: 1, host: 'h' }],
      ['other#0', call(1000, 1000)],
    ]);
    await writeJournal('judged.journal.jsonl', [
      ['a#0', call(1, 0)],
      ['a#0', call(1, 0)],
      ['a#0#1', call(1, 1)],
      ['a#1', call(1, 0)],
      ['b#0', { at: '2026-01-01' }],
    ]);
    const rows = [rowOf('a'), rowOf('a', 0, 1), rowOf('a', 1), rowOf('b', 0, 0, 'web')];
    const { judgements, costs } = await count(rows);
    expect(Array.from(judgements, ({ usd, prediction }) => [usd, prediction?.usd])).toEqual([
      [20, 3],
      [12, 3],
      [10, 6],
      [0, undefined],
    ]);
    expect(costs.world_model?.total).toEqual({
      rows: 2,
      unpriced: 1,
      usd: 9,
      usage: { promptTokens: 3, completionTokens: 3 },
    });
    expect(Object.fromEntries(costs.judge?.domains ?? [])).toEqual({
      mcp: { rows: 3, unpriced: 0, usd: 42, usage: { promptTokens: 4, completionTokens: 1 } },
      web: { rows: 0, unpriced: 0, usd: 0, usage: {} },
    });
    expect(costs.judge?.price).toEqual(PRICES.judge);
  });

  it('a row that no journal has is unknown, and without a price all are', async () => {
    await writeJournal('judged.journal.jsonl', [['a#0', call(1, 1)]]);
    const { costs } = await count([rowOf('a'), rowOf('b')], manifestOf());
    expect(costs.judge?.total).toMatchObject({ rows: 1, unpriced: 1, usd: 12 });
    const unpriced = await count([rowOf('a'), rowOf('b')], manifestOf(), {} as typeof PRICES);
    expect(unpriced.costs.judge?.total).toEqual({
      rows: 1,
      unpriced: 2,
      usage: { promptTokens: 1, completionTokens: 1 },
    });
  });
});

describe("without the predictions' journal", () => {
  const costs = { mcp: { rows: 2, usage: { promptTokens: 7 }, usd: 0.5, unpriced: 1 }, web: { rows: 1, usage: {} } };

  it("domains and run come from the predictions' manifest, and rows are unknown", async () => {
    const counted = await count([rowOf('a')], manifestOf({ costs, price: PRICE }));
    expect(counted.judgements.at(0)?.prediction).toBeUndefined();
    expect(counted.costs.world_model).toEqual({
      price: PRICE,
      total: { rows: 3, unpriced: 1, usd: 0.5, usage: { promptTokens: 7 } },
      domains: new Map([
        ['mcp', { rows: 2, unpriced: 1, usd: 0.5, usage: { promptTokens: 7 } }],
        ['web', { rows: 1, unpriced: 0, usage: {} }],
      ]),
    });
  });

  it('another run that is now in its place is not mistaken for it', async () => {
    await writePredictionsManifest('2026-02-02T00:00:00.000Z');
    await writeJournal('../predicted/predictions.journal.jsonl', [['a#0', call(1000, 1000)]]);
    const counted = await count([rowOf('a')], manifestOf({ costs }));
    expect(counted.costs.world_model?.total.usd).toBe(0.5);
  });

  it('a manifest without domains gives its tokens, and no dollars', async () => {
    const { costs: _, ...whole } = manifestOf({ tokens: { promptTokens: 9 }, counts: { ok: 3, failed: 1 } });
    expect((await count([rowOf('a')], whole)).costs.world_model).toEqual({
      total: { rows: 4, unpriced: 4, usage: { promptTokens: 9 } },
      domains: new Map(),
    });
  });

  it('a baseline and a measuring made no call, and a file of the official script gives nothing', async () => {
    const baseline = { identity: {}, predictions: { identity: { baseline: 'oracle' } } } as unknown as Manifest;
    const none = { total: { rows: 0, unpriced: 0, usage: {}, usd: 0 }, domains: new Map() };
    expect((await count([rowOf('a')], baseline)).costs).toEqual({ world_model: none, judge: none });
    expect(
      (await countCosts({ source: join(dir, 'judged.jsonl'), manifest: undefined, rows: [], costs: {} }, {})).costs,
    ).toEqual({});
  });
});
