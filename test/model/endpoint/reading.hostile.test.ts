// What a server may send that is no answer: none of it becomes the model's, fills the memory or keeps a call alive.

import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, failure, listen, NEVER, open, pour, REQUEST, reply } from '../../support/endpoint.js';

afterEach(closeAll);

const event = (value: unknown) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const choice = (delta: unknown, finish_reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
const HALF_AN_HOUR = { firstTokenTimeoutMs: 1_800_000, gapTimeoutMs: 1_800_000, callTimeoutMs: 1_800_000 };

/** A call at a server that writes the same piece for as long as it is read, behind a start. */
async function askEndless(piece: string, options: { start?: string; status?: number; stream?: boolean } = {}) {
  const { start = '', status = 200, stream = true } = options;
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.write(start);
    pour(response, piece);
  });
  const { endpoint } = open(await listen(server), { stream, clocks: HALF_AN_HOUR, sampling: { maxTokens: 100 } });
  return endpoint.call(REQUEST, 0, NEVER);
}

describe('after finish_reason', () => {
  const whole = event(choice({ content: 'done' }, 'stop'));

  it('nothing is added to the answer, and no other end is heeded', async () => {
    const behind =
      event(choice({ content: ' and more', reasoning_content: 'hm' })) +
      event(choice({ refusal: 'no' }, 'content_filter')) +
      event({ error: { message: 'too late', code: 500 } }) +
      event('{"cut');
    const { attempt } = await ask([{ status: 200, body: whole + behind }]);
    expect(reply(attempt)).toMatchObject({ content: 'done', finishReason: 'stop' });
    expect(reply(attempt).reasoning).toBeUndefined();
  });

  it('token counts are still read', async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 };
    const { attempt } = await ask([{ status: 200, body: whole + event({ choices: [], usage }) + event('[DONE]') }]);
    expect(reply(attempt)).toMatchObject({ content: 'done', usage: { promptTokens: 3, completionTokens: 2 } });
  });

  it('further text does not keep the call alive', async () => {
    const server = createServer(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(whole);
      while (!response.destroyed) {
        response.write(event(choice({ content: '.' }, 'stop')));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    const clocks = { ...HALF_AN_HOUR, gapTimeoutMs: 60 };
    const attempt = await open(await listen(server), { clocks }).endpoint.call(REQUEST, 0, NEVER);
    expect(reply(attempt).content).toBe('done');
  });
});

describe('a reply without an end', () => {
  const delta = event(choice({ content: 'a'.repeat(50_000) }));
  const tooLong = 'the reply is longer than its token budget allows (8388608 characters)';

  it.each<[string, string, { start?: string; stream?: boolean }]>([
    ['of text', delta, {}],
    ['of reasoning', event(choice({ reasoning_content: 'a'.repeat(50_000) })), {}],
    ['in one line', 'a'.repeat(50_000), { start: 'data: ' }],
    ['in a line of no event', 'a'.repeat(50_000), { start: ': ' }],
    ['in one event of many lines', `data: ${'a'.repeat(500)}\n`, {}],
    ['in a document', 'a'.repeat(50_000), { start: '{"choices": "', stream: false }],
    ['of token after token', event(choice({ content: 'a'.repeat(16) })).repeat(1_000), {}],
  ])('%s is cut off at its bound', async (_name, piece, options) => {
    expect(failure(await askEndless(piece, options))).toMatchObject({ class: 'malformed', reason: tooLong });
  });

  it('that is an error is read no further than needed', async () => {
    const attempt = failure(await askEndless('no slot '.repeat(1_000), { status: 503, stream: false }));
    expect(attempt).toMatchObject({ class: 'transient' });
    expect(attempt.reason).toMatch(/^the server failed \(HTTP 503: no slot no slot/);
  });

  it('that is an error, sent byte by byte, is not waited for', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(503).write('no slot');
    });
    const clocks = { ...HALF_AN_HOUR, gapTimeoutMs: 30 };
    const attempt = await open(await listen(server), { clocks }).endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt)).toMatchObject({ class: 'transient', reason: 'the server failed (HTTP 503: no slot)' });
  });

  it('may be as long as its budget allows', async () => {
    const content = 'a'.repeat(9 * 2 ** 20);
    const body = { choices: [{ message: { content }, finish_reason: 'stop' }] };
    const { attempt } = await ask([{ status: 200, body }], { sampling: { maxTokens: 200_000 }, stream: false });
    expect(reply(attempt).content.length).toBe(content.length);
  });
});

describe('what is not a model’s reply is malformed, not an empty answer:', () => {
  const bodies: readonly [string, unknown][] = [
    ['choices as text', { choices: 'abc' }],
    ['choices as an object', { choices: { 0: { message: { content: 'x' } } } }],
    ['no choices', { choices: [] }],
    ['choices null', { choices: null }],
    ['a choice null', { choices: [null] }],
    ['a choice as text', { choices: ['x'] }],
    ['a choice without message', { choices: [{ finish_reason: 'stop' }] }],
    ['a completion’s text', { choices: [{ text: 'hello', finish_reason: 'stop' }] }],
    ['the message as text', { choices: [{ message: 'x', delta: 'x', finish_reason: 'stop' }] }],
    ['the message as a list', { choices: [{ message: ['x'], delta: ['x'], finish_reason: 'stop' }] }],
    ['the message empty', { choices: [{ message: {}, delta: {}, finish_reason: 'stop' }] }],
    ...[5, true, { text: 'x' }, ['x'], [5], [null], [{ text: 5 }]].map((content): [string, unknown] => [
      `the content ${JSON.stringify(content)}`,
      { choices: [{ message: { content }, delta: { content }, finish_reason: 'stop' }] },
    ]),
    ['the reasoning 5', { choices: [{ message: { reasoning: 5 }, delta: { reasoning: 5 }, finish_reason: 'stop' }] }],
    ['finish_reason 5', { choices: [{ message: { content: 'x' }, delta: { content: 'x' }, finish_reason: 5 }] }],
    ['a list', []],
    ['null', null],
    ['a number', 5],
  ];

  it.each(bodies)('%s, as a document', async (_name, body) => {
    const { attempt } = await ask([{ status: 200, body: JSON.stringify(body) }], { stream: false });
    expect(failure(attempt).class).toBe('malformed');
  });

  it.each(bodies)('%s, as events', async (_name, body) => {
    const { attempt } = await ask([{ status: 200, body: event(body) + event('[DONE]') }]);
    expect(failure(attempt).class).toBe('malformed');
  });

  it('events without any', async () => {
    const { attempt } = await ask([{ status: 200, body: event('[DONE]') }]);
    expect(failure(attempt)).toMatchObject({ class: 'malformed', reason: expect.stringContaining('cut off') });
  });

  it('an error in a stream ends it, whatever follows', async () => {
    const attempt = await askEndless(event(choice({ content: 'x' })), {
      start: event({ error: { message: 'no more memory', code: 500 } }),
    });
    expect(failure(attempt)).toMatchObject({ class: 'transient', reason: expect.stringContaining('no more memory') });
  });
});

describe('token counts', () => {
  it.each<[string, string]>([
    ['too large to be any', '1e20'],
    ['infinite', '1e999'],
    ['negative', '-5'],
    ['broken', '1.5'],
    ['text', '"7"'],
    ['null', 'null'],
    ['a list', '[7]'],
    ['no count of a call', '9007199254740991'],
  ])('that are %s are none', async (_name, count) => {
    const usage = `{"prompt_tokens": ${count}, "completion_tokens": ${count}, "prompt_tokens_details": {"cached_tokens": ${count}}, "completion_tokens_details": 5}`;
    const body = `{"choices": [{"message": {"content": "x"}}], "usage": ${usage}}`;
    const { attempt } = await ask([{ status: 200, body }], { stream: false });
    expect(reply(attempt)).toMatchObject({ content: 'x', usage: {} });
    expect(reply(attempt).usage).toEqual({});
  });

  it('that are credible are kept next to others that are not', async () => {
    const usage = { prompt_tokens: 12, completion_tokens: -1 };
    const { attempt } = await ask([{ content: 'x', usage }]);
    expect(reply(attempt).usage).toEqual({ promptTokens: 12 });
  });

  it.each([true, false])('of more cached tokens than the prompt has are none (streamed: %s)', async (stream) => {
    const usage = (cached: number) => ({
      ...{ prompt_tokens: 12, completion_tokens: 3, prompt_tokens_details: { cached_tokens: cached } },
    });
    const usageOf = async (cached: number) =>
      reply((await ask([{ content: 'x', usage: usage(cached) }], { stream })).attempt).usage;
    expect(await usageOf(13)).toEqual({ promptTokens: 12, completionTokens: 3 });
    expect(await usageOf(12)).toEqual({ promptTokens: 12, completionTokens: 3, cachedTokens: 12 });
  });

  it('of 0 for a prompt are none, since every prompt has tokens', async () => {
    const zero = { prompt_tokens: 0, completion_tokens: 0 };
    expect(reply((await ask([{ content: 'x', usage: zero }])).attempt).usage).toEqual({});
    const half = { prompt_tokens: 0, completion_tokens: 7 };
    expect(reply((await ask([{ content: 'x', usage: half }])).attempt).usage).toEqual({ completionTokens: 7 });
    const silent = { prompt_tokens: 9, completion_tokens: 0 };
    const { attempt } = await ask([{ content: 'x', usage: silent }]);
    expect(reply(attempt).usage).toEqual({ promptTokens: 9, completionTokens: 0 });
  });

  it('are not undone by nonsense after them', async () => {
    const body =
      event(choice({ content: 'x' }, 'stop')) +
      event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } }) +
      event({ choices: [], usage: { prompt_tokens: 1e20 } });
    const { attempt } = await ask([{ status: 200, body }]);
    expect(reply(attempt).usage).toEqual({ promptTokens: 3, completionTokens: 1 });
  });
});

it('white space that keeps the connection alive is not held, and leads no reply', async () => {
  const server = createServer(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let count = 0; count < 10; count++) response.write(' '.repeat(2 ** 20));
    response.end(JSON.stringify({ choices: [{ message: { content: 'x' } }] }));
  });
  const { endpoint } = open(await listen(server), { stream: false });
  expect(reply(await endpoint.call(REQUEST, 0, NEVER)).content).toBe('x');
});

it('an error without an end of lists is an error', async () => {
  const body = `{"error": ${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`;
  const { attempt } = await ask([{ status: 200, body }]);
  expect(failure(attempt)).toMatchObject({ class: 'transient', reason: 'the server failed (HTTP 500)' });
});
