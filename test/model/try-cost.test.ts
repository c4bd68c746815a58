// What a try is said to have cost: what the server counted, and the size of what it did not.

import { expect, test } from 'vitest';
import { type Attempt, costOfTry } from '../../src/model/attempt.js';
import { failed } from '../support/scheduling.js';

const sent = () => 8;
const COUNTED = { promptTokens: 3, completionTokens: 2 };
const reply = (usage: object): Attempt => ({ status: 'ok', content: 'abc', reasoning: 'de', usage });

test.each<[string, Attempt, { sent: number; received: number } | undefined]>([
  ['a reply that was counted', reply(COUNTED), undefined],
  ['a reply without any count', reply({}), { sent: 8, received: 5 }],
  ['a reply of which only the prompt was counted', reply({ promptTokens: 3 }), { sent: 0, received: 5 }],
  ['a reply of which only the output was counted', reply({ completionTokens: 2 }), { sent: 8, received: 0 }],
  ['a try that was broken off', { status: 'interrupted' }, { sent: 8, received: 0 }],
  ['a call that timed out', failed('timeout'), { sent: 8, received: 0 }],
  ['a call that timed out after a part of the reply', failed('timeout', { received: 7 }), { sent: 8, received: 7 }],
  ['a reply that broke off', failed('malformed', { received: 7 }), { sent: 8, received: 7 }],
  ['a broken reply that was counted', failed('malformed', { received: 7, usage: COUNTED }), undefined],
  ['a rate limit', failed('rate-limit'), undefined],
  ['a server that could not be reached', failed('transient', { unreachable: true }), undefined],
  ['a context overflow', failed('context-overflow'), undefined],
])('%s', (_name, attempt, uncounted) => {
  expect(costOfTry(sent, attempt).uncounted).toEqual(uncounted);
});

test('a count of the server is unchanged', () => {
  expect(costOfTry(sent, reply(COUNTED))).toEqual({ usage: COUNTED });
});
