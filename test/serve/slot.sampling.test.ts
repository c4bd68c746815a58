// When a reply's sampler is configured, and how.

import { describe, expect, test } from 'vitest';
import type { InnerCalls, SamplerConfig } from '../../src/serve/inner-calls.js';
import type { GenerateOptions } from '../../src/serve/request.js';
import { openSampler, type Request } from '../../src/serve/slot.js';

const OPTIONS = {
  ...{ temperature: 0.5, topK: 20, topP: 0.9, minP: 0.1, seed: 2 ** 32 - 1 },
  ...{ presencePenalty: 0, frequencyPenalty: 0, repetitionPenalty: 1 },
};

function setUp(changed: Partial<GenerateOptions> = {}, grammar?: object) {
  const configs: SamplerConfig[] = [];
  const spoken: number[] = [];
  const reader = { inThinking: true, spoken };
  const calls = {
    newSampler: () => ({ applyConfig: (config: SamplerConfig) => configs.push(config), dispose: () => undefined }),
    grammarState: () => ({ name: 'state' }),
  };
  const request = { options: { ...OPTIONS, ...changed }, prompt: { tokens: [8, 9] }, reader, grammar };
  // The sampler reads no more of a request, and of the calls, than these.
  const sampler = openSampler(request as unknown as Request, calls as unknown as InnerCalls, 4096);
  const say = (...put: readonly number[]) => {
    sampler.ready();
    spoken.push(...put);
  };
  return { configs, reader, say };
}

describe('a sampler is told', () => {
  test('once, every knob by name, where nothing changes', () => {
    const { configs, say } = setUp();
    for (const token of [1, 2, 3]) say(token);
    expect(configs).toEqual([{ temperature: 0.5, topK: 20, topP: 0.9, minP: 0.1, seed: 0 }]);
  });

  test('of a grammar when thinking has ended', () => {
    const { configs, reader, say } = setUp({}, {});
    say(1);
    reader.inThinking = false;
    for (const token of [2, 3]) say(token);
    expect(configs.map(({ grammarEvaluationState: state }) => state)).toEqual([undefined, { name: 'state' }]);
  });

  test('of penalties with each token, including inserted ones', () => {
    const { configs, say } = setUp({ presencePenalty: 1 });
    say(1);
    say(5, 6);
    say(4);
    expect(configs.map((config) => [...(config.repeatPenaltyTokens ?? [])])).toEqual([[], [1], [1, 5, 6]]);
  });

  test('of biases with each token, and of the prompt where it counts', () => {
    const { configs, say } = setUp({ repetitionPenalty: 2, frequencyPenalty: 0.5 });
    for (const token of [1, 1, 2]) say(token);
    expect(configs.map((config) => [...(config.tokenBiasValues ?? [])])).toEqual([[], [-1], [-2]]);
    expect(configs.map((config) => [...(config.repeatPenaltyTokens ?? [])])).toEqual([
      [8, 9],
      [8, 9, 1],
      [8, 9, 1, 1],
    ]);
  });
});
