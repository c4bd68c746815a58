// A turn of a rollout: what stands in front of it, and what a reply adds to the history.

import { describe, expect, test } from 'vitest';
import type { Sample } from '../../../src/core/types.js';
import { observationOf, simulatedTurn, trueTurn } from '../../../src/infer/rollout/rollout-turn.js';
import { SAMPLE } from '../../support/sample.js';

const MARKER = '**Environment Observation:**\n';
const REQUEST = '\n\nPlease analyze the input above.';
const DRIVER: Sample = {
  ...SAMPLE,
  turnIdx: 4,
  prompts: ['act 1', '**Current State:**\nfirst\n\n**Action:**\nact 2', 'act 3', `act 4${REQUEST}`],
  responses: [`${MARKER}first`, `${MARKER}second`, `${MARKER}third`, `${MARKER}fourth`],
  currentPrompt: 'act 4',
};

describe('what a reply adds to the history', () => {
  test.each([
    ['<think>thought</think><predicted_observation>\nseen\n</predicted_observation>', 'seen'],
    [`<predicted_observation>\n${MARKER}seen\n</predicted_observation>`, 'seen'],
    ['seen without a tag', 'seen without a tag'],
    [
      '<predicted_observation>one</predicted_observation>, no: <predicted_observation>two</predicted_observation>',
      'two',
    ],
    ['<predicted_observation></predicted_observation>', ''],
    ['<think>thought and no more</think>', ''],
    ['', ''],
  ])('is the marker and the prediction of %j', (reply, observation) => {
    expect(observationOf(reply)).toBe(MARKER + observation);
  });
});

describe('a turn of a rollout', () => {
  test('is the driver’s action with its request, after what was predicted', () => {
    const turn = simulatedTurn(DRIVER, { from: 0, observations: [`${MARKER}A`, `${MARKER}B`] });
    expect(turn).toMatchObject({
      turnIdx: 3,
      prompts: ['act 1', '**Current State:**\nA\n\n**Action:**\nact 2', `act 3${REQUEST}`],
      responses: [`${MARKER}A`, `${MARKER}B`],
      currentPrompt: 'act 3',
    });
  });

  test('keeps the true observations that it is given, and the state that shows the last of them', () => {
    const turn = simulatedTurn(DRIVER, { from: 1, observations: [`${MARKER}B`] });
    expect(turn.responses).toEqual([`${MARKER}first`, `${MARKER}B`]);
    expect(turn.prompts[1]).toBe(DRIVER.prompts[1]);
  });

  test('contains no true observation after those', () => {
    const turn = JSON.stringify(simulatedTurn(DRIVER, { from: 0, observations: [MARKER, MARKER, MARKER] }));
    for (const word of ['first', 'second', 'third', 'fourth']) expect(turn).not.toContain(word);
  });

  test('after only true observations is the turn as it was', () => {
    expect(trueTurn(DRIVER, 4)).toEqual({ ...DRIVER, responses: DRIVER.responses.slice(0, 3) });
  });
});
