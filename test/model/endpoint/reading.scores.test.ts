// Probabilities of a prompt's tokens, as servers tell them: read as they are, or refused.

import { describe, expect, test } from 'vitest';
import { promptScoresIn } from '../../../src/model/endpoint/reading.js';

const told = (logprob: unknown, decoded_token: unknown = 'ok') => ({ '42': { logprob, rank: 3, decoded_token } });

describe('prompt_logprobs', () => {
  test('are read in their order, from the first token that has a probability', () => {
    expect(promptScoresIn([null, told(-1.5, 'a'), told(-0.25, 'b')])).toEqual([
      { text: 'a', nats: 1.5 },
      { text: 'b', nats: 0.25 },
    ]);
    expect(promptScoresIn([null, told(-9, 'x'), null, told(-1, 'y')])).toEqual([{ text: 'y', nats: 1 }]);
    expect(promptScoresIn([])).toEqual([]);
  });

  test('may exceed certainty by rounding, and may name no text', () => {
    expect(promptScoresIn([told(1e-6, null)])).toEqual([{ text: '', nats: 0 }]);
  });

  test.each([
    ['no list', {}],
    ['a probability above 1', [told(0.5)]],
    ['a probability that is none', [told('-1')]],
    ['no probability', [{ '42': { rank: 1 } }]],
    ['several tokens, of which nobody knows which one it was', [{ '1': told(-1)['42'], '2': told(-2)['42'] }]],
    ['an empty object', [{}]],
    ['a text that is none', [told(-1, 7)]],
  ])('are refused where there is %s', (_what, prompt_logprobs) => {
    expect(promptScoresIn(prompt_logprobs)).toBeUndefined();
  });
});
