// The words of a plan: its table, what it gave up, and why it is refused.

import { describe, expect, test } from 'vitest';
import {
  type FreeMemory,
  type PlanSettings,
  type PlanWishes,
  planMemory,
  planText,
  refusalText,
  tradesText,
} from '../../src/serve/memory.js';
import { fitting, gpu, MODEL, OPEN, WISHES } from '../support/published-model.js';

test('the plan names every part and what is free', () => {
  const settings = { ...WISHES, contextSize: 131_072, slots: 2, gpuLayers: 41 };
  const text = planText(MODEL, settings, gpu(40));
  expect(text.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
    expect.stringMatching(/^weights GPU [\d.]+ GiB host [\d.]+ MiB 41 of 41 layers on the GPU$/),
    'cache GPU 5.0 GiB host - 2 slots of 131,072 tokens, f16, 20.0 KiB per token',
    'recurrent state GPU 125.6 MiB host - 62.8 MiB per slot',
    expect.stringMatching(/^compute GPU [\d.]+ MiB host - batches of 512, estimated$/),
    'checkpoints GPU - host 1.0 GiB of the recurrent state, at most',
    expect.stringMatching(/^total GPU [\d.]+ GiB host [\d.]+ GiB$/),
    'free GPU 40.0 GiB host 64.0 GiB',
  ]);
  expect(planText(MODEL, { ...settings, gpuLayers: 0 }, gpu(0))).not.toContain('GPU');
});

describe('what was given up', () => {
  const planned = (wishes: Partial<PlanWishes>, free: FreeMemory): PlanSettings & { readonly said: string } => {
    const all = { ...OPEN, ...wishes };
    const settings = fitting(planMemory(MODEL, all, free));
    return { ...settings, said: tradesText(MODEL, all, settings, free) ?? '' };
  };

  test('is named with its flags', () => {
    const free = gpu(23.5);
    const { said, ...settings } = planned({ slots: 8 }, free);
    expect(settings).toMatchObject({ gpuLayers: 41, slots: 8, kvCache: 'q8_0' });
    expect(settings.contextSize).toBeLessThan(32_768);
    expect(said).toMatch(
      /^to fit in memory, the context has [\d,]+ of 262,144 tokens \(--context\), the cache is q8_0 \(--kv-cache\);/,
    );
    expect(planned({ slots: 6 }, free).contextSize).toBeGreaterThanOrEqual(32_768);
    expect(planned({ slots: 7 }, free).contextSize).toBeLessThan(32_768);
  });

  test('nothing is said if nothing was given up', () => {
    expect(planned({}, gpu(79)).said).toBe('');
  });
});

test('is refused in one sentence with what it needs and the flags to change', () => {
  const wishes = { ...WISHES, contextSize: 131_072, slots: 4, gpuLayers: 41 };
  expect(refusalText(MODEL, wishes, gpu(29))).toMatch(
    /^the model needs [\d.]+ GiB of GPU memory \(29\.0 GiB free\) and [\d.]+ GiB of host memory \(64\.0 GiB free\); leave out --context/,
  );
  expect(refusalText(MODEL, wishes, gpu(0))).not.toContain('GPU memory');
});
