// Parts of a judgement, asked one after the other.

import { describe, expect, it } from 'vitest';
import { jobsOf, seedOffsetOf } from '../../../src/asking/judge/jobs.js';
import { openParts } from '../../../src/asking/judge/parts.js';
import type { Method, Part, Reading } from '../../../src/judge/mode.js';
import { measured, unmeasured } from '../../../src/judgement.js';
import { present } from '../../../src/present.js';
import type { ModelFailure, ModelReply } from '../../../src/types.js';
import { SAMPLE } from '../../support/sample.js';

interface Said extends Reading {
  readonly text: string;
}

/** A part that reads any reply but `?`. */
function part(name: string): Part<Said> {
  return {
    request: () => ({ prompt: name }),
    read: ({ content }) =>
      content === '?' ? { status: 'unreadable', reason: `${name} is unclear` } : { status: 'ok', text: content },
  };
}

/** Asks two parts, and makes a measure of how long both replies are. */
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
const ref = { key: 'k', trajectory: 't', repeat: 0, index: 0, domain: 'web', turnIdx: 1, ...place };
const job = present(jobsOf([ref], 1)[0]);
const log = { attempts: 2, usage: { completionTokens: 5 }, ms: 10, host: 'h' };
const reply = (content: string): ModelReply => ({ status: 'ok', content, log });
const failure: ModelFailure = { status: 'failed', class: 'timeout', reason: 'no token', log };

/** What is asked for one outcome after the other, and what the last one makes. */
function play(outcomes: readonly (ModelReply | ModelFailure)[], marks: readonly string[] = [], maxRetries = 3) {
  const parts = openParts(method, maxRetries, seedOffsetOf);
  const asked: string[] = [];
  let made: ReturnType<typeof parts.settle> = 'again';
  for (const [at, outcome] of outcomes.entries()) {
    expect(made).toBe('again');
    const request = parts.request(job, subject);
    asked.push(`${'prompt' in request ? request.prompt : ''} ${request.seedOffset}`);
    made = parts.settle(job, subject, outcome, marks[at] ?? '');
  }
  return { asked, made };
}

describe('the parts of a judgement', () => {
  it('that nobody could read may stand for something, and the next part is asked', () => {
    const parts = [{ ...part('first'), unread: { status: 'ok', text: 'none' } as const }, part('second')] as const;
    const opened = openParts({ ...method, parts: () => parts }, 2, seedOffsetOf);
    expect(opened.settle(job, subject, reply('?'), '')).toBe('again');
    expect(opened.settle(job, subject, reply('?'), '')).toBe('again');
    expect(opened.request(job, subject)).toMatchObject({ prompt: 'second' });
    expect(opened.settle(job, subject, reply('ab'), '')).toMatchObject({ record: { measures: { length: 6 } } });
  });

  it('are asked in their order, and joined when the last one is read', () => {
    const { asked, made } = play([reply('ab'), reply('cde')]);
    expect(asked).toEqual(['first 0', 'second 3000']);
    expect(made).toMatchObject({ record: { judge: { status: 'ok' }, measures: { length: 5 } } });
  });

  it('are asked again each for itself, under another seed, and cost what all tries cost', () => {
    const { asked, made } = play([reply('?'), reply('?'), reply('a'), reply('?'), reply('b')]);
    expect(asked).toEqual(['first 0', 'first 1', 'first 2', 'second 3000', 'second 3001']);
    expect(made).toMatchObject({
      record: { measures: { length: 2 } },
      log: { attempts: 10, usage: { completionTokens: 25 }, ms: 50, tries: 5, host: 'h' },
    });
  });

  it('make no judgement where one is unreadable in all tries', () => {
    const cutOff = { ...reply('?'), finishReason: 'length' };
    const { made } = play([reply('a'), reply('?'), cutOff], [], 2);
    const reason = 'second is unclear (cut off at max_tokens)';
    expect(made).toMatchObject({
      record: { judge: { status: 'failed', class: 'unreadable', reason, raw_output: '?', finish_reason: 'length' } },
    });
  });

  it('make no judgement where a call fails', () => {
    const { made } = play([reply('a'), failure]);
    expect(made).toMatchObject({ record: { judge: { status: 'failed', class: 'judge-timeout', reason: 'no token' } } });
  });

  it('count of their calls those that the server counted, of which one reply may stand for several', () => {
    const uncounted = { ...reply('?'), log: { ...log, usage: {} } };
    const twice = { ...reply('a'), log: { ...log, tries: 2 } };
    expect(play([uncounted, twice, reply('b')]).made).toMatchObject({ log: { attempts: 6, tries: 3 } });
  });

  it('begin anew where the second is asked with something else than the first was', () => {
    const { asked, made } = play([reply('ab'), reply('c'), reply('d'), reply('e')], ['', 'top_k', 'top_k', 'top_k']);
    expect(asked).toEqual(['first 0', 'second 3000', 'first 0', 'second 3000']);
    expect(made).toMatchObject({ record: { measures: { length: 2 } }, log: { tries: 4 } });
  });

  it('of several judgements do not mix', async () => {
    const parts = openParts(method, 3, seedOffsetOf);
    const further = present(jobsOf([ref], 2)[1]);
    parts.settle(job, subject, reply('a'), '');
    expect(parts.request(further, subject)).toEqual({ prompt: 'first', seedOffset: 48_000 });
    expect(parts.request(job, subject)).toEqual({ prompt: 'second', seedOffset: 3000 });
  });
});
