// What the truth costs, given the scores of a prompt's tokens: which of them count, and where the figures would be wrong.

import { describe, expect, test } from 'vitest';
import type { TokenScore } from '../../src/core/types.js';
import { costOfTruth, measuresOfTruth, trueObservation, trueReply } from '../../src/infer/likelihood.js';
import { SAMPLE } from '../support/sample.js';

/** Tokens of one nat each: the pieces between the bars. */
function scored(text: string): TokenScore[] {
  return text.split('|').map((piece) => ({ text: piece, nats: 1 }));
}

const OPEN = '<predicted|_observation|>\n';
const CLOSE = '\n|</|predicted_observation>|<|im_end|>|\n';

describe('the cost of the truth', () => {
  test('is that of its own tokens, over its bytes in UTF-8', () => {
    const cost = costOfTruth(scored(`${OPEN}|ok| 3| fi|les|${CLOSE}`), 'ok 3 files');
    expect(cost).toEqual({ nats: 4, tokens: 4, bytes: 10 });
    expect(measuresOfTruth({ nats: 4, tokens: 4, bytes: 10 })).toEqual({
      bits_per_byte: 4 / Math.log(2) / 10,
      nats_per_token: 1,
    });
    expect(costOfTruth(scored(`${OPEN}|naïve| €|${CLOSE}`), 'naïve €')).toMatchObject({ tokens: 2, bytes: 10 });
  });

  test('takes a token whole that reaches over either end of the truth, so that no part of it is free', () => {
    const straddling = scored('<predicted_observation|>\no|k.\n|</predicted_observation>|');
    expect(costOfTruth(straddling, 'ok.')).toMatchObject({ nats: 2, tokens: 2 });
  });

  test('counts each token of a character that several tokens share, whether it is reported as U+FFFD or as nothing', () => {
    expect(costOfTruth(scored(`${OPEN}|a|\ufffd|\ufffd|\ufffd|${CLOSE}`), 'a😀')).toMatchObject({
      tokens: 4,
      bytes: 5,
    });
    expect(costOfTruth(scored(`${OPEN}|a|||😀|${CLOSE}`), 'a😀')).toMatchObject({ tokens: 4, bytes: 5 });
  });

  test('is found where the truth holds the tags themselves, and where an earlier message does', () => {
    const truth = 'echo <predicted_observation>x</predicted_observation>';
    const prompt = `put it into <predicted_observation></predicted_observation>|<|end|>|${OPEN}|echo |<predicted_observation>|x|</predicted_observation>|${CLOSE}`;
    expect(costOfTruth(scored(prompt), truth)).toMatchObject({ nats: 4, tokens: 4 });
  });

  test('is unknown where the chat template changed the truth, or no tag is among the tokens', () => {
    expect(costOfTruth(scored(`${OPEN}|after the thought|${CLOSE}`), 'a </think> after the thought')).toEqual({
      flaw: expect.stringContaining('chat template changes'),
    });
    expect(costOfTruth(scored('ok| 3'), 'ok 3')).toEqual({ flaw: expect.stringContaining('the tag') });
    expect(costOfTruth(scored(`${OPEN}|${CLOSE}`), '')).toEqual({ flaw: expect.stringContaining('empty') });
  });
});

test('the truth is put to the model as judges see it, within the tag', () => {
  const sample = { ...SAMPLE, responses: ['**Environment Observation:**\n  1 a\n  2 b\n'] };
  expect(trueReply(trueObservation(sample))).toBe('<predicted_observation>\n1 a\n  2 b\n</predicted_observation>');
});
