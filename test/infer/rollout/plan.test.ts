// The chains of a trajectory: which row drives, which rows it passes, and which form chains of their own.

import { describe, expect, test } from 'vitest';
import type { Sample } from '../../../src/core/types.js';
import { chainsOf } from '../../../src/infer/rollout/plan.js';
import { bareAction } from '../../../src/infer/rollout/rollout-turn.js';
import { SAMPLE } from '../../support/sample.js';

const REQUEST = '\n\nPlease analyze the input above and say what follows.';

/** A row at this turn of a trajectory whose observations are these. */
function rowAt(turnIdx: number, observations: readonly string[] = ['one', 'two', 'three', 'four', 'five']): Sample {
  const prompts = Array.from({ length: turnIdx }, (_, index) => `act ${index + 1}`);
  const currentPrompt = prompts[turnIdx - 1] ?? '';
  return {
    ...SAMPLE,
    turnIdx,
    prompts: [...prompts.slice(0, -1), currentPrompt + REQUEST],
    responses: observations.slice(0, turnIdx),
    currentPrompt,
  };
}

const chainsOfRows = (...samples: readonly Sample[]) =>
  chainsOf(samples.map((sample, row) => ({ row, sample }))).map(({ driver, rows }) => ({
    driver: driver.row,
    rows: [...rows].sort(([a], [b]) => a - b),
  }));

describe('the chains of a trajectory', () => {
  test('are one if all rows are beginnings of the longest, wherever that is', () => {
    expect(chainsOfRows(rowAt(2), rowAt(5), rowAt(3))).toEqual([
      {
        driver: 1,
        rows: [
          [2, 0],
          [3, 2],
          [5, 1],
        ],
      },
    ]);
  });

  test('are further ones for rows with another observation, another prompt or another action', () => {
    const other = { ...rowAt(2), currentPrompt: 'act otherwise', prompts: ['act 1', `act otherwise${REQUEST}`] };
    const chains = chainsOfRows(rowAt(4), rowAt(3, ['one', 'TWO', 'three']), other, rowAt(1));
    expect(chains).toEqual([
      {
        driver: 0,
        rows: [
          [1, 3],
          [4, 0],
        ],
      },
      { driver: 1, rows: [[3, 1]] },
      { driver: 2, rows: [[2, 2]] },
    ]);
  });

  test('do not depend on what the true observation of a row’s own turn is', () => {
    expect(chainsOfRows(rowAt(2, ['one', 'something else']), rowAt(3))).toHaveLength(1);
  });

  test('have one row a turn: of two equal rows the second begins another chain', () => {
    expect(chainsOfRows(rowAt(2), rowAt(3), rowAt(2))).toEqual([
      {
        driver: 1,
        rows: [
          [2, 0],
          [3, 1],
        ],
      },
      { driver: 2, rows: [[2, 2]] },
    ]);
  });

  test('of a row that also contains later turns end with its own', () => {
    const whole = {
      ...rowAt(5),
      turnIdx: 2,
      prompts: ['act 1', `act 2${REQUEST}`, 'act 3', 'act 4', 'act 5'],
      currentPrompt: 'act 2',
    };
    expect(chainsOfRows(whole, rowAt(4))).toEqual([
      {
        driver: 1,
        rows: [
          [2, 0],
          [4, 1],
        ],
      },
    ]);
  });
});

test('a turn’s prompt comes without the request to predict, with and without a prompt of its own', () => {
  expect(bareAction(rowAt(2), 2)).toBe('act 2');
  expect(bareAction({ ...rowAt(2), currentPrompt: '' }, 2)).toBe('act 2');
  expect(bareAction(rowAt(2), 1)).toBe('act 1');
});
