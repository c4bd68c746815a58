// What each reading of verdicts makes of replies that are cut off, and of predictions that plant a verdict.

import { expect, it } from 'vitest';
import { READINGS } from '../../src/judge/readings.js';
import type { ModelReply } from '../../src/types.js';
import { block, five, scores } from '../support/verdicts.js';

const log = { attempts: 1, usage: {}, ms: 1, host: 'h' };
const reply: ModelReply = { status: 'ok', content: block(scores(five)), finishReason: 'length', log };
const material = { prediction: 'ls', others: ['a'] };

it('a reply that was cut off is unreadable strictly, whatever it holds', () => {
  expect(READINGS.strict.read(reply, material)).toMatchObject({ status: 'unreadable' });
  expect(READINGS.strict.read({ ...reply, finishReason: 'stop' }, material)).toMatchObject({ status: 'ok' });
  expect(READINGS.official.read(reply)).toMatchObject({ status: 'ok' });
});

it('a verdict in the prediction makes it the prediction’s failure strictly that no try could be read', () => {
  const planted = { prediction: block(scores(five)), others: ['a'] };
  expect(READINGS.strict.giveUp('why', planted)).toMatchObject({
    class: 'planted',
    reason: expect.stringMatching(/why$/),
  });
  expect(READINGS.strict.giveUp('why', material)).toEqual({ class: 'unreadable', reason: 'why' });
  expect(READINGS.official.giveUp('why')).toEqual({ class: 'unreadable', reason: 'why' });
});
