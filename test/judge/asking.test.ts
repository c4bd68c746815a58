// The parts of a judgement, asked one after the other.

import { describe, expect, it } from 'vitest';
import { present } from '../../src/core/errors.js';
import { measured, unmeasured } from '../../src/core/judgement.js';
import type { ModelFailure, ModelReply } from '../../src/core/types.js';
import { judgementOf } from '../../src/judge/asking.js';
import { jobsOf, seedOffsetOf } from '../../src/judge/judging.js';
import type { Method, Part, Reading } from '../../src/judge/mode.js';
import { SAMPLE } from '../support/sample.js';

interface Said extends Reading {
  readonly text: string;
}

/** A part that can read any reply except `?`. */
function part(name: string): Part<Said> {
  return {
    request: () => ({ prompt: name }),
    read: ({ content }) =>
      content === '?' ? { status: 'unreadable', reason: `${name} is unclear` } : { status: 'ok', text: content },
  };
}

/** Asks two parts, and measures how long both replies are together. */
const method: Method<readonly [Said, Said]> = {
  name: 'two',
  identity: {},
  refusal: () => undefined,
  parts: () => [part('first'), part('second')],
  join: ([a, b]) => measured({ length: a.reading.text.length + b.reading.text.length }),
  fail: (failure, _subject, reply) => unmeasured(failure, { reply }),
};

const subject = { sample: SAMPLE, gen: 'g' };
const place = { line: 1, offset: 0, length: 1, checksum: 0, stamp: 's' };
const ref = { key: 'k', id: '1', trajectory: 't', repeat: 0, index: 0, domain: 'web', turnIdx: 1, ...place };
const log = { attempts: 2, usage: { completionTokens: 5 }, ms: 10, host: 'h' };
const reply = (content: string): ModelReply => ({ status: 'ok', content, log });
const failure: ModelFailure = { status: 'failed', class: 'timeout', reason: 'no token', log };

/** The questions asked as each outcome arrives, and the record made at the end. */
async function play(
  outcomes: readonly (ModelReply | ModelFailure)[],
  { maxRetries = 3, of = method, index = 0 }: { maxRetries?: number; of?: typeof method; index?: number } = {},
) {
  const asked: string[] = [];
  const unread: string[] = [];
  const left = [...outcomes];
  const judged = present(jobsOf([ref], index + 1)[index]);
  const record = await judgementOf(
    {
      method: of,
      read: async () => subject,
      maxRetries,
      seedOf: (part, tried) => seedOffsetOf(judged, part, tried, maxRetries),
      onUnread: (reply) => unread.push(reply),
    },
    async (question) => {
      const request = await question();
      asked.push(`${'prompt' in request ? request.prompt : ''} ${request.seedOffset}`);
      return present(left.shift());
    },
  );
  expect(left).toEqual([]);
  return { asked, unread, record };
}

describe('the parts of a judgement', () => {
  it('that are unreadable may be given a fallback value, and the next part is asked', async () => {
    const parts = [{ ...part('first'), unread: { status: 'ok', text: 'none' } as const }, part('second')] as const;
    const of = { ...method, parts: () => parts };
    const { asked, record } = await play([reply('?'), reply('?'), reply('ab')], { maxRetries: 2, of });
    expect(asked).toEqual(['first 0', 'first 1', 'second 2000']);
    expect(record).toMatchObject({ measures: { length: 6 } });
  });

  it('are asked in order, and joined when the last one is read', async () => {
    const { asked, record } = await play([reply('ab'), reply('cde')]);
    expect(asked).toEqual(['first 0', 'second 3000']);
    expect(record).toMatchObject({ judge: { status: 'ok' }, measures: { length: 5 } });
  });

  it('are each retried on their own, under another seed', async () => {
    const { asked, unread, record } = await play([reply('?'), reply('?'), reply('a'), reply('?'), reply('b')]);
    expect(asked).toEqual(['first 0', 'first 1', 'first 2', 'second 3000', 'second 3001']);
    expect(unread).toEqual(['?', '?', '?']);
    expect(record).toMatchObject({ measures: { length: 2 } });
  });

  it('give no judgement if one stays unreadable in all tries', async () => {
    const cutOff = { ...reply('?'), finishReason: 'length' };
    const { record } = await play([reply('a'), reply('?'), cutOff], { maxRetries: 2 });
    const reason = 'second is unclear (cut off at max_tokens)';
    expect(record).toMatchObject({
      judge: { status: 'failed', class: 'unreadable', reason, raw_output: '?', finish_reason: 'length' },
    });
  });

  it('give no judgement if a call fails', async () => {
    const { record } = await play([reply('a'), failure]);
    expect(record).toMatchObject({ judge: { status: 'failed', class: 'judge-timeout', reason: 'no token' } });
  });

  it('of a further judgement have their own seeds', async () => {
    expect((await play([reply('a'), reply('b')], { index: 1 })).asked).toEqual(['first 48000', 'second 51000']);
  });
});
