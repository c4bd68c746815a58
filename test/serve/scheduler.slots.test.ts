// Slot choice and batch shares, without a model.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addCheckpoint,
  chooseSlot,
  continuedPrefix,
  type Prompt,
  reusablePrefix,
  type SlotMemory,
  shareBatch,
} from '../../src/serve/scheduler.js';

function prompt(tokens: readonly number[], pauses: readonly number[] = []): Prompt {
  return { tokens, pauses, checkpoints: pauses };
}

function memory(slot: number, given: Prompt | undefined, restorable: readonly number[], lastUsed = 1): SlotMemory {
  return { slot, prompt: given, restorable, lastUsed: given === undefined ? 0 : lastUsed };
}

const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index);

describe('what can be reused', () => {
  test.each([
    ['nothing of a fresh slot', memory(0, undefined, []), prompt(upTo(9), [4]), 0],
    ['nothing without a checkpoint', memory(0, prompt(upTo(9), [4]), []), prompt(upTo(12), [4, 9]), 0],
    ['the furthest checkpoint', memory(0, prompt(upTo(9), [4, 7]), [4, 7]), prompt(upTo(12), [4, 7, 9]), 7],
    ['only what is shared', memory(0, prompt(upTo(9), [4, 7]), [4, 7]), prompt([...upTo(6), 99, 99], [4]), 4],
    ['never the last token', memory(0, prompt(upTo(9), [4, 8]), [4, 8]), prompt(upTo(8), [4]), 4],
    [
      'not a place this prompt would not pause at',
      memory(0, prompt(upTo(9), [4, 7]), [4, 7]),
      prompt(upTo(12), [4, 9]),
      4,
    ],
    ['not what was reached over other pauses', memory(0, prompt(upTo(9), [3, 7]), [7]), prompt(upTo(12), [4, 7]), 0],
  ])('%s', (_, slot, next, reuse) => {
    expect(reusablePrefix(slot, next)).toBe(reuse);
  });
});

describe('what continues in a slot', () => {
  test.each([
    ['the next turn, from where this one is kept', prompt([...upTo(7), 99, 99], [2, 3, 7]), 7],
    ['another trajectory, alike up to the first pause, does not', prompt([...upTo(5), 99, 99], [2]), 0],
    ['nor what loses more than it reuses', prompt([...upTo(4), 99, 99], [2, 3]), 0],
  ])('%s', (_, next, reuse) => {
    expect(continuedPrefix(memory(0, prompt(upTo(9), [2, 3, 7]), [2, 3, 7]), next)).toBe(reuse);
  });
});

describe('which slot', () => {
  const trajectory = prompt(upTo(100), [10, 90]);
  const nextTurn = prompt(upTo(200), [10, 90, 190]);
  const otherTrajectory = prompt([...upTo(10), ...upTo(90).map((token) => token + 500)], [10, 80]);

  test.each([
    ['none when none is free', [], nextTurn, undefined],
    ['the lowest fresh one', [memory(1, undefined, []), memory(0, undefined, [])], nextTurn, { slot: 0, reuse: 0 }],
    [
      'the one with the last turn, although others are fresh',
      [memory(0, undefined, []), memory(3, trajectory, [10, 90])],
      nextTurn,
      { slot: 3, reuse: 90 },
    ],
    [
      'a fresh one rather than overwriting a trajectory for a short shared start',
      [memory(0, trajectory, [10, 90]), memory(1, undefined, [])],
      otherTrajectory,
      { slot: 1, reuse: 0 },
    ],
    [
      'the least recently used one if each would lose more than it gains',
      [memory(0, trajectory, [10, 90], 7), memory(1, trajectory, [10, 90], 5)],
      otherTrajectory,
      { slot: 1, reuse: 10 },
    ],
    [
      'the one that shares most',
      [memory(0, prompt(upTo(100), [10]), [10]), memory(1, trajectory, [10, 90])],
      nextTurn,
      { slot: 1, reuse: 90 },
    ],
  ])('%s', (_, free, next, choice) => {
    const { slot, reuse } = chooseSlot(free, next) ?? {};
    expect(slot && { slot: slot.slot, reuse }).toEqual(choice);
  });
});

test.each([
  [[], 5, 3, [5]],
  [[1, 2, 3], 5, 3, [2, 3, 5]],
  [[1, 5, 9], 5, 4, [1, 5]],
  [[1, 2], 5, 0, []],
])('checkpoints %j with %d added and room for %d are %j', (positions, added, kept, left) => {
  expect(addCheckpoint(positions, added, kept)).toEqual(left);
});

describe('shares of a batch', () => {
  const demand = fc.record({ tokens: fc.integer({ min: 1, max: 5000 }), replying: fc.boolean() });
  const demands = fc
    .array(demand, { minLength: 1, maxLength: 16 })
    .map((all) => all.map(({ tokens, replying }) => ({ tokens: replying ? 1 + (tokens % 3) : tokens, replying })));

  test('never exceed the batch or the demand, leave no room while demand is left, and starve nobody', () => {
    fc.assert(
      fc.property(demands, fc.integer({ min: 64, max: 600 }), (all, batchSize) => {
        const shares = shareBatch(all, batchSize);
        const given = shares.reduce((sum, share) => sum + share, 0);
        const wanted = all.reduce((sum, { tokens }) => sum + tokens, 0);
        expect(given).toBe(Math.min(wanted, batchSize));
        for (const [index, share] of shares.entries()) {
          expect(share).toBeGreaterThan(0);
          expect(share).toBeLessThanOrEqual(all[index]?.tokens as number);
          if (all[index]?.replying) expect(share).toBe(all[index]?.tokens);
        }
      }),
    );
  });

  test('a short prompt is evaluated in full next to a long one', () => {
    const long = { tokens: 60_000, replying: false };
    expect(shareBatch([long, { tokens: 40, replying: false }, { tokens: 1, replying: true }], 512)).toEqual([
      471, 40, 1,
    ]);
  });
});
