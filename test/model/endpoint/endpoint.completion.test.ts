// Completions: a prompt that is continued as it stands, asked for and read like a chat in all else.

import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, failure, KEY, NEVER, type Overrides, open, reply, serve } from '../../support/endpoint.js';
import type { Answer, Handler } from '../../support/loopback-server.js';

afterEach(closeAll);

const PROMPT = 'The shell prints:';
const REQUEST = { prompt: PROMPT, seedOffset: 2 };
const complete = (script: Handler | readonly Answer[] | undefined, overrides: Overrides = {}) =>
  ask(script, overrides, REQUEST);

describe('a completion', () => {
  it('is asked for at its own address, with the parameters that it knows', async () => {
    const sampling = {
      maxTokens: 9,
      temperature: 0,
      topP: 0.9,
      topK: 20,
      minP: 0.1,
      presencePenalty: 1.5,
      reasoningEffort: 'high',
      seed: 7,
      extraBody: { logit_bias: { 50: 5 } },
    };
    const { body, headers, server } = await complete(undefined, {
      stream: false,
      sampling,
      responseFormat: { type: 'json_object' },
    });
    expect(server.requests[0]?.path).toBe('/v1/completions');
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
    expect(body).toEqual({
      model: 'wm-35b',
      prompt: PROMPT,
      max_tokens: 9,
      temperature: 0,
      top_p: 0.9,
      top_k: 20,
      min_p: 0.1,
      presence_penalty: 1.5,
      seed: 7 + 2 * 1_000_003,
      logit_bias: { 50: 5 },
    });
  });

  it.each([true, false])('is read with its end, counts and served model (streamed: %s)', async (stream) => {
    const { attempt, body } = await complete(
      [
        {
          content: ' total 4\n',
          finishReason: 'length',
          model: 'wm-served',
          usage: { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } },
        },
      ],
      { stream },
    );
    expect(body.stream_options).toEqual(stream ? { include_usage: true } : undefined);
    expect(reply(attempt)).toEqual({
      status: 'ok',
      content: ' total 4\n',
      finishReason: 'length',
      servedModel: 'wm-served',
      usage: { promptTokens: 5, cachedTokens: 4, completionTokens: 3 },
      ...(stream && { firstTokenMs: expect.any(Number) }),
    });
  });

  it.each([true, false])('may be empty (streamed: %s)', async (stream) => {
    const { attempt } = await complete([{ content: '' }], { stream });
    expect(reply(attempt)).toMatchObject({ content: '', finishReason: 'stop' });
  });

  it('that comes the other way than asked for is read all the same', async () => {
    const { attempt } = await complete([{ content: 'late', stream: true }], { stream: false });
    expect(reply(attempt).content).toBe('late');
  });

  it.each<[string, unknown]>([
    ['a chat’s message', { message: { content: 'x' }, delta: { content: 'x' } }],
    ['no text', {}],
    ['a text that is none', { text: 5 }],
  ])('is malformed with %s', async (_name, choice) => {
    const body = { choices: [{ index: 0, finish_reason: 'stop', ...(choice as object) }] };
    const whole = await complete([{ status: 200, body }], { stream: false });
    expect(failure(whole.attempt).class).toBe('malformed');
    const streamed = await complete([{ status: 200, body: `data: ${JSON.stringify(body)}\n\n` }]);
    expect(failure(streamed.attempt).class).toBe('malformed');
  });

  it('that is cut off, filtered or ended by the server fails as a chat does', async () => {
    const classOf = async (answer: Answer) => failure((await complete([answer])).attempt).class;
    expect(await classOf({ content: 'half', ending: 'cut-off' })).toBe('malformed');
    expect(await classOf({ content: '', finishReason: 'content_filter' })).toBe('refused');
    expect(await classOf({ content: 'half', finishReason: 'abort' })).toBe('transient');
    expect(await classOf({ content: 'half', ending: { event: { error: { message: 'x', code: 429 } } } })).toBe(
      'rate-limit',
    );
  });

  describe.each([true, false])('of more than 8 Mi characters (streamed: %s)', (stream) => {
    const content = 'a'.repeat(9 * 2 ** 20);
    const usage = { prompt_tokens: 5, completion_tokens: 3 };

    it('is malformed where its budget is smaller, and its text is not kept', async () => {
      const { attempt } = await complete([{ content, usage }], { stream, sampling: { maxTokens: 100 } });
      expect(failure(attempt)).toMatchObject({
        class: 'malformed',
        reason: 'the reply is longer than its token budget allows (8388608 characters)',
      });
      expect(JSON.stringify(attempt).length).toBeLessThan(500);
    });

    it('is read whole where its budget allows it', async () => {
      const { attempt } = await complete([{ content, usage }], { stream, sampling: { maxTokens: 200_000 } });
      expect(reply(attempt).content).toBe(content);
      expect(reply(attempt).usage).toEqual({ promptTokens: 5, completionTokens: 3 });
    });
  });

  it('does not exist if the server has only chats, which stops the run', async () => {
    const { attempt } = await complete([{ status: 404, body: { detail: 'Not Found' } }]);
    expect(failure(attempt)).toMatchObject({
      class: 'fatal',
      reason: 'no completions at this address (HTTP 404: Not Found)',
    });
    expect(failure(attempt).stop?.message).toContain('check the base URL');
  });

  it('does without a parameter that is rejected, where that is allowed, and never without its prompt', async () => {
    const rejects = (param: string): Handler => {
      const message = `Unsupported parameter: ${param}`;
      return ({ body }) => (param in body ? { status: 400, body: { error: { message, param } } } : { content: 'fine' });
    };
    const server = await serve(rejects('temperature'));
    const { endpoint, dialect } = open(server.url, { allowParamDrop: true });
    expect(reply(await endpoint.call(REQUEST, 0, NEVER)).content).toBe('fine');
    expect(dialect.dropped()).toEqual(['temperature']);
    const { attempt, server: other } = await complete(rejects('prompt'), { allowParamDrop: true });
    expect(failure(attempt).class).toBe('fatal');
    expect(other.count).toBe(1);
  });

  it('is given the budget that the context leaves', async () => {
    const message = "This model's maximum context length is 4096 tokens (your request has 1000 input tokens)";
    const { attempt } = await complete(
      ({ body }) => (body.max_tokens > 3096 ? { status: 400, body: { error: { message } } } : { content: 'fits' }),
      { fitMaxTokens: true },
    );
    expect(reply(attempt)).toMatchObject({ content: 'fits', fittedMaxTokens: 3080 });
  });

  it.each([true, false])('holds no secret that the server echoes (streamed: %s)', async (stream) => {
    const { attempt } = await complete([{ content: `the key is ${KEY}` }], { stream });
    expect(reply(attempt)).toMatchObject({ redacted: true });
    expect(JSON.stringify(attempt)).not.toContain(KEY);
  });
});
