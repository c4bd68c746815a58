// What a prefix cache could serve, against a count by character tries over the whole prompts.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PrefixCache } from '../../src/billing/prefix-cache.js';
import { RECORDED } from '../support/cli.js';

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A question as one text, each message behind a mark of its role that no message holds. */
const flat = (messages: readonly Message[]) => messages.map(({ role, content }) => `\0${role}\0${content}`).join('');

/** Characters of messages in the common start of two flat texts, one by one. */
function naive(earlier: readonly Message[][], messages: readonly Message[]): number {
  const text = flat(messages);
  let most = 0;
  for (const other of earlier.map(flat)) {
    let at = 0;
    while (at < text.length && at < other.length && text[at] === other[at]) at++;
    most = Math.max(most, at);
  }
  // Marks are no characters of messages, and a mark that is cut short holds none.
  const shared = text.slice(0, most).replace(/\0[a-z]*$/, '');
  return shared.replace(/\0(?:system|user|assistant)\0/g, '').length;
}

function charactersOf({ messages, characters }: ReturnType<PrefixCache['take']>, question: readonly Message[]): number {
  return question.slice(0, messages).reduce((sum, { content }) => sum + content.length, 0) + characters;
}

function recorded(): Message[][] {
  return readdirSync(RECORDED)
    .filter((name) => name.endsWith('_test.jsonl'))
    .flatMap((name) => readFileSync(join(RECORDED, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .map((row) => [
      { role: 'system' as const, content: row.system_str },
      ...row.prompt
        .slice(0, row.turn_idx)
        .flatMap((prompt: string, turn: number): Message[] => [
          { role: 'user', content: prompt },
          ...(turn + 1 < row.turn_idx ? [{ role: 'assistant' as const, content: row.response[turn] }] : []),
        ]),
    ]);
}

test('what is shared with all prompts before is found to the character, in whatever order they come', () => {
  const questions = recorded();
  for (const order of [questions, questions.toReversed(), questions.toSorted(() => 1)]) {
    const cache = new PrefixCache();
    for (const [place, question] of order.entries()) {
      expect(charactersOf(cache.take({ messages: question }), question)).toBe(naive(order.slice(0, place), question));
    }
  }
});

test('one long message that two prompts begin alike is cut where they part', () => {
  const cache = new PrefixCache();
  const long = 'abc'.repeat(10_000);
  for (const at of [0, 1, 4_095, 4_096, 4_097, 8_192, 29_999]) {
    cache.take({ prompt: long });
    const other = `${long.slice(0, at)}X${long.slice(at + 1)}`;
    expect(cache.take({ prompt: other })).toEqual({ messages: 0, characters: at });
  }
  expect(cache.take({ prompt: long })).toEqual({ messages: 1, characters: 0 });
});

test('messages of another role share nothing, and a shorter dialogue shares all that it has', () => {
  const cache = new PrefixCache();
  const [system, user] = [{ role: 'system', content: 'same' } as const, { role: 'user', content: 'same' } as const];
  cache.take({ messages: [system, user] });
  expect(cache.take({ messages: [user, user] })).toEqual({ messages: 0, characters: 0 });
  expect(cache.take({ messages: [system] })).toEqual({ messages: 1, characters: 0 });
  expect(cache.take({ messages: [system, user, user] })).toEqual({ messages: 2, characters: 0 });
});

test('the oldest prompts make room for the latest, which stays however long it is', () => {
  const cache = new PrefixCache(10);
  cache.take({ prompt: 'aaaaa' });
  cache.take({ prompt: 'bbbbb' });
  expect(cache.take({ prompt: 'aaaaa' }).messages).toBe(1);
  cache.take({ prompt: 'ccccc' });
  expect(cache.take({ prompt: 'bbbbb' }).messages).toBe(0);
  cache.take({ prompt: 'd'.repeat(100) });
  expect(cache.take({ prompt: 'd'.repeat(101) }).characters).toBe(100);
});
