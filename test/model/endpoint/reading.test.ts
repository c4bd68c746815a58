// Replies read from a server on loopback, whole and streamed.

import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, failure, listen, NEVER, open, REQUEST, reply } from '../../support/endpoint.js';
import type { Answer } from '../../support/loopback-server.js';

afterEach(closeAll);

describe.each([true, false])('a reply, streamed: %s,', (stream) => {
  it('is read with reasoning, counts and the served model', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 64, cache_write_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 12 },
    };
    const content = ' line\r\n\n\u2028é😀 data: x\n\n';
    const { attempt } = await ask([{ content, reasoning: 'let me see', usage, model: 'wm-35b-0725' }], { stream });
    const { firstTokenMs, ...rest } = reply(attempt);
    expect(rest).toEqual({
      status: 'ok',
      content,
      reasoning: 'let me see',
      finishReason: 'stop',
      servedModel: 'wm-35b-0725',
      usage: { promptTokens: 100, cachedTokens: 64, writtenTokens: 30, completionTokens: 20, reasoningTokens: 12 },
    });
    expect(typeof firstTokenMs).toBe(stream ? 'number' : 'undefined');
  });

  it('may be whole without content', async () => {
    const { attempt } = await ask([{ reasoning: 'hm', finishReason: 'length' }], { stream });
    expect(reply(attempt)).toMatchObject({ content: '', finishReason: 'length', reasoning: 'hm' });
  });

  it('of parts is joined', async () => {
    const parts = [{ type: 'thinking' }, { type: 'text', text: 'a' }, { type: 'text', text: 'b' }];
    const { attempt } = await ask([{ content: parts }], { stream });
    expect(reply(attempt).content).toBe('ab');
  });

  it('counts DeepSeek’s cache', async () => {
    const { attempt } = await ask([{ content: 'x', usage: { prompt_tokens: 9, prompt_cache_hit_tokens: 8 } }], {
      stream,
    });
    expect(reply(attempt).usage).toEqual({ promptTokens: 9, cachedTokens: 8 });
  });

  it('without counts has none', async () => {
    const { attempt } = await ask([{ content: 'x', usage: null }], { stream });
    expect(reply(attempt).usage).toEqual({});
  });

  it('that comes the other way than asked for is read all the same', async () => {
    const { attempt } = await ask([{ content: 'hello', stream: !stream }], { stream });
    expect(reply(attempt).content).toBe('hello');
  });

  it('ended by a content filter is refused', async () => {
    const { attempt } = await ask([{ content: 'partial', finishReason: 'content_filter' }], { stream });
    expect(failure(attempt)).toMatchObject({ class: 'refused' });
    expect(failure(attempt).stop).toBeUndefined();
  });

  it('ended by the server is worth another try', async () => {
    const { attempt } = await ask([{ content: 'partial', finishReason: 'abort' }], { stream });
    expect(failure(attempt).class).toBe('transient');
  });

  it('that holds an error is classified by it', async () => {
    const error = { message: 'Overloaded', type: 'overloaded_error', code: 529 };
    const script: Answer[] = stream
      ? [{ deltas: [{ content: 'half' }], ending: { event: { error } } }]
      : [{ status: 200, body: { error } }];
    const { attempt } = await ask(script, { stream });
    expect(failure(attempt)).toMatchObject({ class: 'transient', reason: 'the server failed (HTTP 529: Overloaded)' });
  });

  it.each<[string, string]>([
    ['', 'the reply has no body'],
    [
      '<!doctype html><html><title>Welcome</title></html>',
      'the reply is a web page, not JSON: is /v1 missing from the base URL?',
    ],
    ['{"choices": [{"mess', 'the reply is not JSON'],
    ['Hello there', 'the reply is neither JSON nor a stream of events'],
    ['{"ok": true}', 'the reply has no choices'],
    ['data: {"choices": [{"delta"\n\n', 'an event of the reply is not a JSON object'],
  ])('of %j is malformed', async (body, reason) => {
    const { attempt } = await ask([{ status: 200, body }], { stream });
    expect(failure(attempt)).toMatchObject({ class: 'malformed', reason });
  });

  it('that the model refuses in words is refused', async () => {
    const answer: Answer = stream
      ? { deltas: [{ refusal: 'I cannot' }] }
      : { message: { role: 'assistant', content: null, refusal: 'I cannot' } };
    expect(failure((await ask([answer], { stream })).attempt).class).toBe('refused');
  });
});

describe('a streamed reply', () => {
  it('of only tool calls is complete, and empty', async () => {
    const { attempt } = await ask([{ deltas: [{ tool_calls: [{ index: 0 }] }], finishReason: 'tool_calls' }]);
    expect(reply(attempt)).toMatchObject({ content: '', finishReason: 'tool_calls' });
  });

  it('takes reasoning under its other name', async () => {
    const { attempt } = await ask([{ deltas: [{ reasoning: 'a' }, { reasoning: 'b' }, { content: 'c' }] }]);
    expect(reply(attempt)).toMatchObject({ content: 'c', reasoning: 'ab' });
  });

  it('that ends without finish_reason is cut off', async () => {
    const { attempt } = await ask([{ deltas: [{ content: 'half' }], ending: 'cut-off' }]);
    expect(failure(attempt)).toMatchObject({ class: 'malformed' });
    expect(failure(attempt).reason).toContain('cut off');
  });

  it('that is reset half-way is worth another try', async () => {
    const { attempt } = await ask([{ deltas: [{ content: 'half' }], ending: 'reset' }]);
    expect(failure(attempt).class).toBe('transient');
    expect(failure(attempt).unreachable).toBeUndefined();
  });

  it('whose end was read is whole, whatever becomes of its token counts', async () => {
    const clocks = { firstTokenTimeoutMs: 5_000, gapTimeoutMs: 50, callTimeoutMs: 5_000 };
    const { attempt } = await ask([{ content: 'done', stallAfterFinish: true }], { clocks });
    expect(reply(attempt)).toMatchObject({ content: 'done', finishReason: 'stop', usage: {} });
  });

  it('may be torn anywhere between bytes', async () => {
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'é😀' }, finish_reason: 'stop' }] })}`;
    const bytes = Buffer.from(`: hi\r\n\r\n${event}\r\n\r\ndata: [DONE]\r\n\r\n`);
    const server = createServer(async (_request, response) => {
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const url = await listen(server);
    expect(reply(await open(url).endpoint.call(REQUEST, 0, NEVER)).content).toBe('é😀');
  });

  it('without a blank line at its end is read to its end', async () => {
    const chunk = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] };
    const { attempt } = await ask([{ status: 200, body: `data: ${JSON.stringify(chunk)}` }]);
    expect(reply(attempt).content).toBe('x');
  });
});
