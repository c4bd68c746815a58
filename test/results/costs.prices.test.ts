// Which prices a judged run is charged.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Price } from '../../src/core/costs.js';
import { pricesOf } from '../../src/results/costs.js';
import { temporaryFolder } from '../support/cli.js';

const OWN: Price = { model: 'own', source: 'as it was asked', input: 1, output: 2 };
const began = { startedAt: '2026-01-01T00:00:00.000Z', servedModels: [] };
const at = (host: string, model: string) => ({ ...began, endpoints: [host], identity: { model } });

let cwd: string;
beforeAll(async () => {
  cwd = await temporaryFolder();
  await writeFile(join(cwd, 'p.yaml'), 'unit: million-tokens\nmodels:\n  local-*: { input: 3, output: 4 }\n');
});

describe('without a price file', () => {
  it('a run keeps the prices under which it was asked', async () => {
    const manifest = { identity: { judge: 'gpt-5.2' }, price: OWN, predictions: { identity: {}, price: OWN } };
    expect(await pricesOf(manifest as never, undefined, { cwd })).toEqual({ judge: OWN, world_model: OWN });
  });

  it("a run of an earlier version gets the catalogue's prices, but only at the provider's own host", async () => {
    const judge = { ...began, endpoints: ['api.openai.com'], identity: { judge: 'gpt-5.2' } };
    const found = await pricesOf({ ...judge, predictions: at('127.0.0.1:8000', 'gpt-5.2') } as never, undefined, {
      cwd,
    });
    expect(found.world_model).toBeUndefined();
    expect(found.judge).toMatchObject({ model: 'openai/gpt-5.2', source: expect.stringContaining('genai-prices') });
  });

  it('a baseline, a run without a manifest and one without a valid date have none', async () => {
    expect(await pricesOf(undefined, undefined, { cwd })).toEqual({});
    const manifest = { identity: {}, predictions: { identity: { baseline: 'oracle' } } };
    expect(await pricesOf(manifest as never, undefined, { cwd })).toEqual({});
    const undated = { endpoints: ['api.openai.com'], identity: { judge: 'gpt-5.2' }, startedAt: 'yesterday' };
    expect(await pricesOf(undated as never, undefined, { cwd })).toEqual({});
  });
});

describe('with one', () => {
  it('the file overrides the price under which a run was asked, which still applies where the file has none', async () => {
    const manifest = {
      ...began,
      endpoints: ['127.0.0.1:9'],
      identity: { judge: 'other' },
      price: OWN,
      predictions: { ...at('127.0.0.1:8', 'local-1'), price: OWN },
    };
    const found = await pricesOf(manifest as never, 'p.yaml', { cwd });
    expect(found.judge).toEqual(OWN);
    expect(found.world_model).toMatchObject({ input: 3, output: 4, source: 'p.yaml' });
  });

  it('a locally served model has the price of the name under which it was served', async () => {
    const predictions = {
      ...began,
      endpoints: ['127.0.0.1:8'],
      identity: { model: { sha256: 'ab' } },
      servedModels: ['local-2'],
    };
    expect(await pricesOf({ identity: {}, predictions } as never, 'p.yaml', { cwd })).toMatchObject({
      world_model: { input: 3 },
    });
  });
});
