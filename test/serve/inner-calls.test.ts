// The known releases, and slots that share evaluations, with a context that only records calls.

import { readFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import {
  type InnerContext,
  type InnerSampler,
  importRuntime,
  requireKnownRelease,
  SharedBatch,
} from '../../src/serve/inner-calls.js';

describe('a release of node-llama-cpp', () => {
  const { peerDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const known: string = peerDependencies['node-llama-cpp'];

  test('is known where package.json asks for it, which names it exactly', () => {
    expect(known).toMatch(/^\d+\.\d+\.\d+$/);
    expect(() => requireKnownRelease(known)).not.toThrow();
  });

  test.each(['3.20.0', '3.22.1', '4.0.0'])('is refused where it is %s, with the one to install', async (version) => {
    vi.doMock('node-llama-cpp', () => ({ getModuleVersion: async () => version }));
    const refusal = `node-llama-cpp ${version} is installed, but awb serve needs ${known}; \`npm install node-llama-cpp@${known}\` replaces it`;
    await expect(importRuntime()).rejects.toThrow(new UserError(refusal, EXIT.unavailable));
    vi.doUnmock('node-llama-cpp');
  });
});

const SAMPLER: InnerSampler = { applyConfig: () => undefined, dispose: () => undefined };

/** Each sampled token is the place that it was sampled from; evaluations and samples end when they are let go on. */
function setUp(changed: Partial<InnerContext> = {}) {
  const notes: string[] = [];
  let filled = 0;
  const context: InnerContext = {
    initBatch(tokens) {
      filled = 0;
      notes.push(`batch of ${tokens}`);
    },
    addToBatch(sequence, position, tokens, outputs) {
      notes.push(`slot ${sequence} at ${position}: ${[...tokens].join(' ')}`);
      const places = outputs.map((at) => filled + at);
      filled += tokens.length;
      return places;
    },
    async decodeBatch() {
      notes.push('started');
      await turn();
      notes.push('ended');
    },
    // The test asks for no probabilities.
    sampleToken: (async (output: number) => {
      notes.push(`sample ${output}`);
      await turn();
      notes.push(`sampled ${output}`);
      return output;
    }) as unknown as InnerContext['sampleToken'],
    ...changed,
  };
  return { batch: new SharedBatch(context), notes };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('an evaluation', () => {
  test("takes the slots' parts at once, in ascending order, and gives each its token", async () => {
    const { batch, notes } = setUp();
    const parts = [
      batch.evaluate({ sequence: 2, position: 9, tokens: [7], sampler: SAMPLER }),
      batch.evaluate({ sequence: 0, position: 4, tokens: [5, 6] }),
      batch.evaluate({ sequence: 1, position: 0, tokens: [1, 2, 3], sampler: SAMPLER }),
    ];
    expect(await Promise.all(parts)).toEqual([5, undefined, 4]);
    expect(notes.slice(0, 5)).toEqual([
      'batch of 6',
      'slot 0 at 4: 5 6',
      'slot 1 at 0: 1 2 3',
      'slot 2 at 9: 7',
      'started',
    ]);
  });

  test('with one token per slot is sampled in parallel; in an uneven one, the first sample comes alone', async () => {
    const even = setUp();
    await Promise.all(
      [0, 1, 2].map((sequence) => even.batch.evaluate({ sequence, position: 0, tokens: [1], sampler: SAMPLER })),
    );
    expect(even.notes.filter((note) => note.startsWith('sample')).slice(0, 3)).toEqual([
      'sample 0',
      'sample 1',
      'sample 2',
    ]);
    const uneven = setUp();
    await Promise.all(
      [[1, 2], [3], [4]].map((tokens, sequence) =>
        uneven.batch.evaluate({ sequence, position: 0, tokens, sampler: SAMPLER }),
      ),
    );
    expect(uneven.notes.filter((note) => note.startsWith('sample')).slice(0, 4)).toEqual([
      'sample 1',
      'sampled 1',
      'sample 2',
      'sample 3',
    ]);
  });

  test('that fails rejects for all its slots, a failed sample only for its own', async () => {
    let evaluations = 0;
    const { batch } = setUp({
      async decodeBatch() {
        if (++evaluations === 1) throw new Error('out of memory');
      },
      // As above.
      sampleToken: (async (output: number) => {
        if (output === 0) throw new Error('no logits');
        return output;
      }) as unknown as InnerContext['sampleToken'],
    });
    const two = () =>
      Promise.allSettled(
        [0, 1].map((sequence) => batch.evaluate({ sequence, position: 0, tokens: [1], sampler: SAMPLER })),
      );
    expect((await two()).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect((await two()).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
