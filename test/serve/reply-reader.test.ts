// Replies read token by token, with a vocabulary of bytes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReplyReader, type ReplySettings, type ReplyTokens } from '../../src/serve/reply-reader.js';

const END = 256;
const OPEN = 257;
const CLOSE = 258;
const model: ReplyTokens = {
  isEnd: (token) => token === END,
  textOf: (tokens) => Buffer.from(tokens.filter((token) => token < 256)).toString('utf8'),
  openThinking: OPEN,
  closeThinking: CLOSE,
  blankLine: [10, 10],
};
const settings: ReplySettings = {
  thinking: false,
  thinkingBudget: Number.POSITIVE_INFINITY,
  maxTokens: Number.POSITIVE_INFINITY,
  stop: [],
  blankLineAfterThinking: false,
};
const bytes = (text: string): number[] => [...Buffer.from(text)];

/** What comes out for the tokens in, token by token, up to the finish. */
function read(tokens: readonly number[], changed: Partial<ReplySettings> = {}) {
  const reader = new ReplyReader(model, { ...settings, ...changed });
  const out = { reasoning: '', content: '' };
  const pieces: string[] = [];
  const put: (readonly number[])[] = [];
  for (const token of tokens) {
    const step = reader.take(token);
    for (const { channel, text } of step.finish === undefined ? reader.texts() : reader.rest()) {
      out[channel] += text;
      pieces.push(text);
    }
    if (step.insteadOf !== undefined) put.push(step.insteadOf);
    if (step.finish !== undefined) return { ...out, pieces, put, finish: step.finish, reader };
  }
  return { ...out, pieces, put, finish: undefined, reader };
}

describe('characters', () => {
  test('text arrives whole, no piece with half a character, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const reply = read([...bytes(text), END]);
        expect(reply.content).toBe(text);
        expect(reply.pieces.filter((piece) => piece.includes('\uFFFD') && !text.includes('\uFFFD'))).toEqual([]);
      }),
    );
  });

  test('bytes that are not text are shown as a decoder shows them, and block nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 255 })), (raw) => {
        expect(read([...raw, END]).content).toBe(Buffer.from(raw).toString('utf8'));
      }),
    );
  });
});

describe('thinking', () => {
  test('is recognised by its token, without the newlines around it', () => {
    const reply = read([...bytes('\nhm\n\nmm\n'), CLOSE, ...bytes('\n\n  1\tx\n'), END], { thinking: true });
    expect(reply).toMatchObject({ reasoning: 'hm\n\nmm', content: '  1\tx\n', finish: 'stop', put: [] });
    expect([reply.reader.reasoningTokens, reply.reader.spoken.length]).toEqual([9, 18]);
  });

  test('may be opened by the model itself, only at the start', () => {
    expect(read([OPEN, ...bytes('hm'), CLOSE, ...bytes('x'), END])).toMatchObject({ reasoning: 'hm', content: 'x' });
    expect(read([...bytes('x'), OPEN, ...bytes('y'), END])).toMatchObject({ reasoning: '', content: 'xy' });
  });

  test.each([
    [0, ''],
    [2, 'ab'],
    [4, 'abcd'],
  ])('a budget of %d tokens ends it there with the token put in', (thinkingBudget, reasoning) => {
    const reply = read([...bytes('abcd'), thinkingBudget < 4 ? 0 : CLOSE].slice(0, thinkingBudget + 1), {
      thinking: true,
      thinkingBudget,
    });
    expect(reply.reasoning).toBe(reasoning);
    expect(reply.reader.reasoningTokens).toBe(thinkingBudget + 1);
    expect(reply.put).toEqual(thinkingBudget < 4 ? [[CLOSE]] : []);
    expect(reply.reader.inThinking).toBe(false);
  });

  test('is followed by a blank line before constrained text', () => {
    expect(read([CLOSE], { thinking: true, blankLineAfterThinking: true }).put).toEqual([[CLOSE, 10, 10]]);
  });

  test('content without thinking keeps its newlines', () => {
    expect(read([...bytes('\n\nx\n'), END]).content).toBe('\n\nx\n');
  });
});

describe('the end', () => {
  test.each([
    ['before the first stop string', 'one STOP two', ['STOP', 'two'], 'one '],
    ['before the earlier of two that overlap', 'xabcabcd', ['abcd', 'bca'], 'xa'],
    ['with nothing lost to a stop string that only begins', 'one STO', ['STOP'], 'one STO'],
    ['before a stop string over several characters', 'α→β', ['→'], 'α'],
  ])('comes %s', (_, text, stop, content) => {
    const reply = read([...bytes(text), END], { stop });
    expect(reply).toMatchObject({ content, finish: 'stop' });
  });

  test('no part of a stop string ever leaves', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b') }),
        fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }),
        (text, stop) => {
          const at = text.indexOf(stop);
          expect(read([...bytes(text), END], { stop: [stop] }).content).toBe(at < 0 ? text : text.slice(0, at));
        },
      ),
    );
  });

  test('a stop string in the thinking stops nothing', () => {
    expect(read([...bytes('STOP'), CLOSE, ...bytes('x'), END], { thinking: true, stop: ['STOP'] })).toMatchObject({
      reasoning: 'STOP',
      content: 'x',
    });
  });

  test('the token limit includes the thinking, and held text is still emitted', () => {
    const reply = read([...bytes('hm'), CLOSE, ...bytes('STxxx')], { thinking: true, maxTokens: 5, stop: ['STOP'] });
    expect(reply).toMatchObject({ reasoning: 'hm', content: 'ST', finish: 'length' });
  });

  test('the last token allowed may be the end', () => {
    expect(read([...bytes('ab'), END], { maxTokens: 3 })).toMatchObject({ content: 'ab', finish: 'stop' });
  });
});
