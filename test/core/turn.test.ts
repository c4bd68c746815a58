// The turn that a sample puts to the world model.

import { expect, test } from 'vitest';
import { actionOf, earlierTurns, groundTruthOf, promptOf } from '../../src/core/turn.js';
import type { Sample } from '../../src/core/types.js';

const SAMPLE: Sample = {
  key: 'k',
  trajectory: 't',
  domain: 'os',
  turnIdx: 2,
  prompts: ['first', 'second\n\nPlease predict', 'third'],
  responses: ['one', 'two', 'three'],
  currentPrompt: 'second',
  systemPrompt: '',
};

test('nothing that comes after the turn is revealed', () => {
  expect(earlierTurns(SAMPLE)).toEqual([{ prompt: 'first', response: 'one' }]);
  expect(earlierTurns({ ...SAMPLE, turnIdx: 1 })).toEqual([]);
});

test('the turn has its prompt, its action and its truth', () => {
  expect(promptOf(SAMPLE)).toBe('second\n\nPlease predict');
  expect(actionOf(SAMPLE)).toBe('second');
  expect(groundTruthOf(SAMPLE)).toBe('two');
});

test('a row that does not have the action apart has it in its prompt', () => {
  expect(actionOf({ ...SAMPLE, currentPrompt: '' })).toBe('second\n\nPlease predict');
});

test('a turn that is not there is a fault of the program', () => {
  expect(() => groundTruthOf({ ...SAMPLE, turnIdx: 4 })).toThrow('missing');
});
