// Which settings fit, with the numbers of the published model.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  costsOf,
  type FreeMemory,
  type PlanSettings,
  type PlanWishes,
  planMemory,
  refusalText,
  tradesText,
} from '../../src/serve/memory.js';
import { fitting, GIB, gpu, MIB, MODEL, memoryOf, OPEN, WISHES } from '../support/published-model.js';

describe('the published model', () => {
  const all = { ...WISHES, contextSize: 8_192, gpuLayers: 41 };

  test('weighs what its tensors weigh, in either memory', () => {
    const whole = costsOf(MODEL, all);
    expect(whole.weights.gpu + whole.weights.host).toBeGreaterThan(20.5e9);
    expect(whole.weights.gpu + whole.weights.host).toBeLessThan(22.5e9);
    // Of the weights only the embeddings stay behind: 2048 x 248320 in Q6_K.
    expect(whole.weights.host).toBe((2_048 * 248_320 * 210) / 256);
    for (const gpuLayers of [0, 1, 20, 40]) {
      const some = costsOf(MODEL, { ...all, gpuLayers });
      for (const kind of ['weights', 'cache', 'state', 'checkpoints'] as const) {
        expect(some[kind].gpu + some[kind].host).toBeCloseTo(whole[kind].gpu + whole[kind].host);
      }
    }
  });

  test('has 40 layers, a cache of 20 KiB per token, and a state of 62.8 MiB per slot', () => {
    expect(MODEL).toMatchObject({
      layers: 41,
      trainedContext: 262_144,
      vocabulary: 248_320,
      embedding: 2_048,
      heads: 16,
    });
    expect(costsOf(MODEL, all).cache.gpu).toBe(20 * 1_024 * 8_192);
    expect(costsOf(MODEL, { ...all, kvCache: 'q8_0', slots: 2 }).cache.gpu).toBe(2 * 20 * 1_024 * (34 / 64) * 8_192);
    expect(costsOf(MODEL, { ...all, slots: 3 }).state.gpu).toBe(3 * 30 * (2 * MIB + 96 * 1_024));
  });

  test.each([
    [8_192, 1, 0.74],
    [32_768, 1, 1.21],
    [131_072, 1, 3.08],
    [262_144, 1, 5.58],
    [32_768, 8, 6.0],
    [131_072, 8, 21.0],
  ])(
    "a context of %i in %i slots costs what node-llama-cpp's own estimate says, and the attention mask",
    (contextSize, slots, gib) => {
      const { total, weights } = costsOf(MODEL, { ...all, contextSize, slots });
      const mask = 6 * 512 * contextSize;
      expect((total.gpu - weights.gpu - mask) / GIB).toBeCloseTo(gib, 1);
    },
  );
});

test('a dense transformer caches in every layer, holds tied embeddings twice on a GPU, and has no state', async () => {
  const llama = { block_count: 2, embedding_length: 64, attention: { head_count: 4 }, context_length: 512 };
  const tensors = [
    { name: 'token_embd.weight', dimensions: [64, 100], ggmlType: 1 },
    { name: 'blk.0.attn_q.weight', dimensions: [64, 64], ggmlType: 8 },
    { name: 'blk.1.attn_q.weight', dimensions: [64, 64], ggmlType: 0 },
    { name: 'output_norm.weight', dimensions: [64], ggmlType: 0 },
  ];
  const memory = await memoryOf({ general: { architecture: 'llama' }, llama }, tensors);
  const { weights, cache, state } = costsOf(memory, { ...WISHES, contextSize: 512, gpuLayers: 3 });
  expect(weights).toEqual({ gpu: (64 * 64 * 34) / 32 + 64 * 64 * 4 + 64 * 100 * 2 + 64 * 4, host: 64 * 100 * 2 });
  expect([cache.gpu, state.gpu]).toEqual([2 * 2 * 128 * 512, 0]);
  expect(fitting(planMemory(memory, { ...WISHES, checkpointBytes: 0 }, gpu(0, GIB))).contextSize).toBe(512);
});

describe('the context that is chosen', () => {
  test.each<[string, Partial<PlanWishes>, FreeMemory, Partial<PlanSettings>]>([
    ['80 GB: all there is', {}, gpu(79), { contextSize: 262_144, gpuLayers: 41 }],
    ['80 GB, 8 slots: the most in every slot, all layers on the GPU', { slots: 8 }, gpu(79), { gpuLayers: 41 }],
    ['no GPU: in host memory', {}, gpu(0, 40 * GIB), { contextSize: 262_144, gpuLayers: 0 }],
    ['12 GB, layers fixed: less context', { gpuLayers: 10 }, gpu(7.2), { gpuLayers: 10 }],
    ['a fixed context is kept', { contextSize: 40_000 }, gpu(24), { contextSize: 40_000, gpuLayers: 41 }],
  ])('%s', (_, wishes, free, expected) => {
    const settings = fitting(planMemory(MODEL, { ...WISHES, ...wishes }, free));
    expect(settings).toMatchObject(expected);
    expect(settings.contextSize).toBeGreaterThanOrEqual(wishes.contextSize === undefined ? 4_096 : 40_000);
  });

  test('between 131,072 and the trained one it is the largest that leaves all layers on the GPU', () => {
    const free = gpu(25);
    const settings = fitting(planMemory(MODEL, WISHES, free));
    expect(settings.gpuLayers).toBe(41);
    expect(settings.contextSize).toBeGreaterThan(131_072);
    expect(settings.contextSize).toBeLessThan(262_144);
    const more = planMemory(MODEL, { ...WISHES, contextSize: settings.contextSize + 256, gpuLayers: 41 }, free);
    expect(more).toBeUndefined();
  });

  test('with 16 GB the GPU holds as many layers as fit', () => {
    const free = gpu(15.5);
    const settings = fitting(planMemory(MODEL, WISHES, free));
    expect(settings.gpuLayers).toBeGreaterThan(10);
    expect(planMemory(MODEL, { ...settings, gpuLayers: settings.gpuLayers + 1 }, free)).toBeUndefined();
  });
});

describe('what is given up if not everything fits', () => {
  const mac = (hostGib: number, gpuGib: number): FreeMemory => ({
    gpuBytes: gpuGib * GIB,
    hostBytes: hostGib * GIB,
    shared: true,
  });
  const planned = (wishes: Partial<PlanWishes>, free: FreeMemory): PlanSettings & { readonly said: string } => {
    const all = { ...OPEN, ...wishes };
    const settings = fitting(planMemory(MODEL, all, free));
    return { ...settings, said: tradesText(MODEL, all, settings, free) ?? '' };
  };

  test.each<[string, Partial<PlanWishes>, FreeMemory, PlanSettings['kvCache'], least: number]>([
    ['a Mac with 27 GiB', {}, mac(27, 27), 'f16', 131_072],
    ['a Mac with 25 GiB, of which the GPU may have 22', {}, mac(25, 22), 'f16', 40_000],
    ['24 GB', {}, gpu(23.5), 'f16', 100_000],
    ['24 GB and 4 slots', { slots: 4 }, gpu(23.5), 'q8_0', 32_768],
    ['80 GB and 32 slots', { slots: 32 }, gpu(79), 'f16', 65_536],
  ])('%s: all layers are on the GPU, with as long a context as that leaves', (_, wishes, free, kvCache, least) => {
    const { said, ...settings } = planned(wishes, free);
    expect(settings).toMatchObject({ gpuLayers: 41, slots: wishes.slots ?? 1, kvCache });
    expect(settings.contextSize).toBeGreaterThanOrEqual(least);
    expect(said).toMatch(/the context has [\d,]+ of 262,144 tokens/);
    expect(said.includes('the cache is q8_0')).toBe(kvCache === 'q8_0');
    const more = { ...settings, contextSize: settings.contextSize + 256 };
    expect(planMemory(MODEL, more, free)).toBeUndefined();
  });

  test('if the weights are too large for the GPU, as few layers as possible stay on the host, with a note', () => {
    const { said, ...settings } = planned({}, gpu(15.5));
    expect(settings.contextSize).toBeGreaterThanOrEqual(32_768);
    expect(settings.gpuLayers).toBeGreaterThan(25);
    expect(said).toContain(`${41 - settings.gpuLayers} layers stay on the host`);
    expect(
      planMemory(MODEL, { ...settings, contextSize: 32_768, gpuLayers: settings.gpuLayers + 1 }, gpu(15.5)),
    ).toBeUndefined();
  });

  test.each<[string, Partial<PlanWishes>]>([
    ['slots', { slots: 4 }],
    ['a cache', { slots: 4, kvCache: 'f16' }],
    ['a context', { contextSize: 100_000, slots: 2 }],
    ['layers', { gpuLayers: 12 }],
    ['all of them', { contextSize: 65_536, slots: 2, kvCache: 'q8_0', gpuLayers: 20 }],
  ])('%s that a flag names stay as given', (_, wishes) => {
    const { said, ...settings } = planned(wishes, gpu(23.5));
    expect(settings).toMatchObject(wishes);
    if (wishes.contextSize !== undefined) expect(said).not.toContain('the context has');
    if (wishes.kvCache !== undefined) expect(said).not.toContain('the cache is');
    if (wishes.gpuLayers !== undefined) expect(said).not.toContain('on the host');
  });

  test('without flash attention the cache stays f16', () => {
    expect(planned({ slots: 4, flashAttention: false }, gpu(23.5)).kvCache).toBe('f16');
  });
});

describe('what does not fit', () => {
  test.each<[string, Partial<PlanWishes>, FreeMemory]>([
    ['a context and slots', { contextSize: 262_144, slots: 2, gpuLayers: 41 }, gpu(30, 32 * GIB)],
    ['the weights', {}, gpu(8, 8 * GIB)],
    ['checkpoints', { contextSize: 8_192, checkpointBytes: 8 * GIB }, gpu(0, 26 * GIB)],
  ])('is not planned, and what it needs is told: %s', (_, changed, free) => {
    const wishes: PlanWishes = { ...WISHES, ...changed };
    expect(planMemory(MODEL, wishes, free)).toBeUndefined();
    expect(refusalText(MODEL, wishes, free)).toMatch(/GiB free\); leave out .* or take a smaller quantisation$/);
  });

  test('is never planned, whatever the flags', () => {
    fc.assert(
      fc.property(
        fc.record({
          contextSize: fc.oneof(fc.constant('most' as const), fc.integer({ min: 1_024, max: 262_144 })),
          slots: fc.integer({ min: 1, max: 16 }),
          kvCache: fc.constantFrom('auto' as const, 'f16' as const, 'q8_0' as const),
          gpuLayers: fc.oneof(fc.constant('most' as const), fc.integer({ min: 0, max: 41 })),
          checkpointBytes: fc.integer({ min: 0, max: 8 * GIB }),
          flashAttention: fc.boolean(),
        }),
        fc.integer({ min: 0, max: 48 }),
        fc.integer({ min: 1, max: 64 }),
        fc.boolean(),
        (wishes, gpuGib, hostGib, shared) => {
          const free = { gpuBytes: gpuGib * GIB, hostBytes: hostGib * GIB, shared };
          const settings = planMemory(MODEL, { ...WISHES, ...wishes }, free);
          if (settings === undefined) return;
          const needs = costsOf(MODEL, settings).total;
          expect(needs.gpu).toBeLessThanOrEqual(free.gpuBytes);
          expect(needs.host + (shared ? needs.gpu : 0)).toBeLessThanOrEqual(free.hostBytes);
          expect(planMemory(MODEL, settings, free)).toEqual(settings);
        },
      ),
      { numRuns: 200 },
    );
  });
});

test('with shared memory, GPU and host share one budget', () => {
  const free = { gpuBytes: 22 * GIB, hostBytes: 24 * GIB };
  const wishes = { ...WISHES, checkpointBytes: 4 * GIB, contextSize: 8_192, gpuLayers: 41 };
  expect(planMemory(MODEL, wishes, free)).toBeDefined();
  expect(planMemory(MODEL, wishes, { ...free, shared: true })).toBeUndefined();
});
