// Slots that share evaluations, over a context that only takes notes.

import { describe, expect, test } from 'vitest';
import type { InnerContext, InnerSampler } from '../../src/serve/inner-calls.js';
import { type Part, SharedBatch } from '../../src/serve/shared-batch.js';

const SAMPLER: InnerSampler = { applyConfig: () => undefined, dispose: () => undefined };

/** Each sampled token is the place that it was sampled from; evaluations and samples end when they are let go on. */
function setUp(changed: Partial<InnerContext> = {}, isSerial = false) {
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
  const onBatch = (parts: readonly Part[]) => notes.push(`slots ${parts.map((part) => part.sequence).join()}`);
  const batch = new SharedBatch(context, onBatch, isSerial);
  return { batch, notes };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('an evaluation', () => {
  test('takes what slots hand in at once, in ascending order, and gives each its token', async () => {
    const { batch, notes } = setUp();
    const parts = [
      batch.evaluate({ sequence: 2, position: 9, tokens: [7], sampler: SAMPLER }),
      batch.evaluate({ sequence: 0, position: 4, tokens: [5, 6] }),
      batch.evaluate({ sequence: 1, position: 0, tokens: [1, 2, 3], sampler: SAMPLER }),
    ];
    expect(await Promise.all(parts)).toEqual([5, undefined, 4]);
    expect(notes.slice(0, 6)).toEqual([
      'slots 0,1,2',
      'batch of 6',
      'slot 0 at 4: 5 6',
      'slot 1 at 0: 1 2 3',
      'slot 2 at 9: 7',
      'started',
    ]);
  });

  test('of one token for each slot is sampled side by side; of an uneven one the first sample comes alone', async () => {
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

  test('that fails is told to all its slots, a sample that fails to its own alone', async () => {
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

describe('in a pool of one thread', () => {
  /** Calls of the context as that thread works them off: each begins when the one before is done. */
  function setUpSerial(evaluate: () => void) {
    let work = Promise.resolve();
    const queued = <T>(name: string, act: () => T): Promise<T> => {
      serial.notes.push(`asked for ${name}`);
      const done = work.then(turn).then(() => {
        serial.notes.push(name);
        return act();
      });
      work = done.then(
        () => undefined,
        () => undefined,
      );
      return done;
    };
    const serial = setUp(
      {
        decodeBatch: () => queued('evaluation', evaluate),
        // The test asks for no probabilities.
        sampleToken: ((output: number) =>
          queued(`sample ${output}`, () => output)) as unknown as InnerContext['sampleToken'],
      },
      true,
    );
    return serial;
  }

  test('samples are asked for with the evaluation, of uneven batches, too, and what is put off comes behind them', async () => {
    const { batch, notes } = setUpSerial(() => undefined);
    batch.later(() => notes.push('told'));
    const parts = [[1, 2], [3], [4]].map((tokens, sequence) =>
      batch.evaluate({ sequence, position: 0, tokens, ...(sequence === 1 ? {} : { sampler: SAMPLER }) }),
    );
    expect(await Promise.all(parts)).toEqual([1, undefined, 3]);
    expect(notes.slice(5)).toEqual([
      'asked for evaluation',
      'asked for sample 1',
      'asked for sample 3',
      'told',
      'evaluation',
      'sample 1',
      'sample 3',
    ]);
  });

  test('slots of an evaluation that fails are told so when no sampler is at work any more', async () => {
    const { batch, notes } = setUpSerial(() => {
      throw new Error('out of memory');
    });
    const parts = [0, 1].map((sequence) => batch.evaluate({ sequence, position: 0, tokens: [1], sampler: SAMPLER }));
    const told = parts.map((part) => part.catch((error: Error) => notes.push(error.message)));
    await Promise.all(told);
    expect(notes.slice(-4)).toEqual(['sample 0', 'sample 1', 'out of memory', 'out of memory']);
  });
});

describe('what is put off', () => {
  test('is done once, when the next evaluation has started and not ended', async () => {
    const { batch, notes } = setUp();
    batch.later(() => notes.push('told'));
    await batch.evaluate({ sequence: 0, position: 0, tokens: [1], sampler: SAMPLER });
    await batch.evaluate({ sequence: 0, position: 1, tokens: [1], sampler: SAMPLER });
    const told = notes.indexOf('told');
    expect([notes[told - 1], notes[told + 1]]).toEqual(['started', 'ended']);
    expect(notes.filter((note) => note === 'told')).toHaveLength(1);
  });

  test('is done where no evaluation follows, too', async () => {
    const { batch, notes } = setUp();
    batch.later(() => notes.push('told'));
    batch.settle();
    await turn();
    await turn();
    expect(notes).toEqual(['told']);
  });
});
