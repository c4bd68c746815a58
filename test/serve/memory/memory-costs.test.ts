// What serving costs, with the numbers of the published model.

import { describe, expect, test } from 'vitest';
import { costsOf } from '../../../src/serve/memory/memory-costs.js';
import { GIB, MODEL, WISHES } from '../../support/published-model.js';

describe('the published model', () => {
  test('weighs what its tensors weigh, in whichever memory they lie', () => {
    const all = costsOf(MODEL, { ...WISHES, contextSize: 8_192, gpuLayers: 41 });
    expect(all.gpu.weights + all.host.weights).toBeGreaterThan(20.5e9);
    expect(all.gpu.weights + all.host.weights).toBeLessThan(22.5e9);
    // Of the weights only the embeddings stay behind: 2048 x 248320 in Q6_K.
    expect(all.host.weights).toBe((2_048 * 248_320 * 210) / 256);
    for (const gpuLayers of [0, 1, 20, 40]) {
      const some = costsOf(MODEL, { ...WISHES, contextSize: 8_192, gpuLayers });
      for (const kind of ['weights', 'cache', 'state', 'checkpoints'] as const) {
        expect(some.gpu[kind] + some.host[kind]).toBeCloseTo(all.gpu[kind] + all.host[kind]);
      }
    }
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
      const settings = { ...WISHES, contextSize, slots, gpuLayers: 41 };
      const { gpu: use } = costsOf(MODEL, settings);
      const mask = 6 * 512 * contextSize;
      expect((use.total - use.weights - mask) / GIB).toBeCloseTo(gib, 1);
    },
  );
});
