// The shape of models, the published one among them.

import { describe, expect, test } from 'vitest';
import type { GgufTensor } from '../../../src/serve/gguf-contents.js';
import { cacheBytesPerToken, checkpointSize } from '../../../src/serve/memory/memory-costs.js';
import { planMemory } from '../../../src/serve/memory/memory-plan.js';
import { shapeOf } from '../../../src/serve/memory/model-shape.js';
import { fitting, GIB, gpu, MIB, MODEL, WISHES } from '../../support/published-model.js';

describe('the published model', () => {
  test('has 40 layers, 10 of them with a cache of 20 KiB a token, 30 with a state of 62.8 MiB', () => {
    expect(MODEL.layers).toHaveLength(40);
    expect(
      MODEL.layers.map(({ cachedValues }, layer) => (cachedValues > 0 ? layer : -1)).filter((layer) => layer >= 0),
    ).toEqual([3, 7, 11, 15, 19, 23, 27, 31, 35, 39]);
    expect(cacheBytesPerToken(MODEL, 'f16')).toBe(20 * 1_024);
    expect(cacheBytesPerToken(MODEL, 'q8_0')).toBe(20 * 1_024 * (34 / 64));
    expect(checkpointSize(MODEL)).toBe(30 * (2 * MIB + 96 * 1_024));
    expect(MODEL).toMatchObject({ trainedContext: 262_144, vocabulary: 248_320, embedding: 2_048, heads: 16 });
  });
});

describe('other models', () => {
  test('a dense transformer caches in every layer, and holds tied embeddings twice', () => {
    const tensors: GgufTensor[] = [
      { name: 'token_embd.weight', dimensions: [64, 100n], ggmlType: 1 },
      { name: 'blk.0.attn_q.weight', dimensions: [64, 64], ggmlType: 8 },
      { name: 'blk.1.attn_q.weight', dimensions: [64, 64], ggmlType: 0 },
      { name: 'output_norm.weight', dimensions: [64], ggmlType: 0 },
    ];
    const metadata = {
      'general.architecture': 'llama',
      'llama.block_count': 2,
      'llama.embedding_length': 64,
      'llama.attention.head_count': 4,
      'llama.context_length': 512,
    };
    const shape = shapeOf(metadata, tensors);
    expect(shape.layers).toEqual([
      { weightBytes: (64 * 64 * 34) / 32, cachedValues: 128, stateBytes: 0 },
      { weightBytes: 64 * 64 * 4, cachedValues: 128, stateBytes: 0 },
    ]);
    expect(shape.inputBytes).toBe(64 * 100 * 2);
    expect(shape.outputBytes).toBe(64 * 100 * 2 + 64 * 4);
    expect(fitting(planMemory(shape, { ...WISHES, checkpointBytes: 0 }, gpu(0, GIB))).contextSize).toBe(512);
  });

  test('blocks that predict further tokens are not counted, and layers may be listed one by one', () => {
    const shape = shapeOf(
      {
        general: { architecture: 'x' },
        x: {
          block_count: 4,
          nextn_predict_layers: 1,
          embedding_length: 8,
          attention: { head_count: 2, head_count_kv: [0, 2, 0], key_length: 4, value_length: 4 },
          ssm: { state_size: 2, inner_size: 4, group_count: 1, conv_kernel: 4 },
        },
      },
      [],
    );
    expect(shape.layers.map(({ cachedValues }) => cachedValues)).toEqual([0, 16, 0]);
    expect(shape.layers.map(({ stateBytes }) => stateBytes)).toEqual([128, 0, 128]);
  });
});
