// One try at a real endpoint over loopback: what is sent, what is read, and how each way of going wrong ends.

import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EXIT, UserError } from '../../src/errors.js';
import { OpenAiEndpoint } from '../../src/model/endpoint.js';
import { proxyFor } from '../../src/model/proxy.js';
import { seedOf } from '../../src/model/request.js';
import {
  ask,
  closeAll,
  closers,
  failure,
  KEY,
  listen,
  MESSAGES,
  NEVER,
  open,
  optionsOf,
  REQUEST,
  reply,
  serve,
  until,
} from '../support/endpoint.js';
import { type Answer, deterministicAnswer, type Handler, startLoopbackServer } from '../support/loopback-server.js';
import { startProxy } from '../support/proxy.js';

afterEach(closeAll);

async function tunnel(options: Parameters<typeof startProxy>[0]) {
  const proxy = await startProxy(options);
  closers.push(() => proxy.close());
  return proxy;
}

describe('a request', () => {
  it('holds what is set, and nothing that is not', async () => {
    const { body, headers, server } = await ask(undefined, { stream: false });
    expect(body).toEqual({ model: 'wm-35b', messages: MESSAGES, max_tokens: 32768, temperature: 0.6 });
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
  });

  it('asks for token counts where it streams', async () => {
    const { body } = await ask(undefined);
    expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it('carries every sampling parameter under its name, the extra body last', async () => {
    const sampling = {
      maxTokens: 9,
      topP: 0.95,
      topK: 20,
      minP: 0.1,
      presencePenalty: 1.5,
      reasoningEffort: 'high',
      seed: 7,
      extraBody: { top_k: 40, chat_template_kwargs: { enable_thinking: false } },
    };
    const { body } = await ask(undefined, { stream: false, sampling, responseFormat: { type: 'json_object' } });
    expect(body).toEqual({
      model: 'wm-35b',
      messages: MESSAGES,
      max_tokens: 9,
      top_p: 0.95,
      top_k: 40,
      min_p: 0.1,
      presence_penalty: 1.5,
      reasoning_effort: 'high',
      seed: 7,
      chat_template_kwargs: { enable_thinking: false },
      response_format: { type: 'json_object' },
    });
  });

  it('without a key says EMPTY', async () => {
    const { headers } = await ask(undefined, { apiKey: '' });
    expect(headers?.authorization).toBe('Bearer EMPTY');
  });

  it('keeps the query of the base URL, and its user as basic authentication', async () => {
    const server = await serve();
    const url = server.url.replace('http://', 'http://me:hunter2hunter2@');
    const { endpoint } = open(`${url}/?api-version=2024-10-21`, { apiKey: '' });
    reply(await endpoint.call(REQUEST, 0, NEVER));
    expect(server.requests[0]?.path).toBe('/v1/chat/completions?api-version=2024-10-21');
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${btoa('me:hunter2hunter2')}`);
    expect(endpoint.host).toBe(`127.0.0.1:${server.port}`);
  });

  it('does not send what OPENAI_… variables hold for OpenAI to other hosts', async () => {
    vi.stubEnv('OPENAI_ORG_ID', 'org-secret');
    closers.push(() => vi.unstubAllEnvs());
    const { headers } = await ask(undefined);
    expect(JSON.stringify(headers)).not.toContain('org-secret');
  });

  it.each(['localhost:8000', 'ftp://host/v1', ''])('is refused for the base URL %j', (baseUrl) => {
    expect(() => open(baseUrl)).toThrow(UserError);
  });

  it('is refused for a key with a line end', () => {
    expect(() => open('http://localhost/v1', { apiKey: 'sk-abcdef\n' })).toThrow(/API key/);
  });
});

describe('the seed sent', () => {
  it('is the run’s own on the first try of the first repeat', () => {
    expect(seedOf(42, 0, 0)).toBe(42);
  });

  it('differs between all repeats and tries that a run makes, and fits in 31 bits', () => {
    const seeds = new Set<number>();
    for (let offset = 0; offset < 100; offset++) {
      for (let attempt = 0; attempt < 100; attempt++) seeds.add(seedOf(2 ** 40 - 5, offset, attempt));
    }
    expect(seeds.size).toBe(10_000);
    for (const seed of [...seeds, seedOf(-7, 3, 1)]) {
      expect(Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 31).toBe(true);
    }
  });

  it('follows the try', async () => {
    const server = await serve();
    const { endpoint } = open(server.url, { sampling: { seed: 42 } });
    await endpoint.call(REQUEST, 2, NEVER);
    await endpoint.call({ ...REQUEST, seedOffset: 1 }, 2, NEVER);
    expect(server.requests.map(({ body }) => body.seed)).toEqual([seedOf(42, 0, 2), seedOf(42, 1, 2)]);
  });
});

describe.each([true, false])('a reply, streamed: %s,', (stream) => {
  it('is read with reasoning, counts and the served model', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 64 },
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
      usage: { promptTokens: 100, cachedTokens: 64, completionTokens: 20, reasoningTokens: 12 },
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
      'the reply is a web page, not JSON: does the base URL lack /v1?',
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
  it('of tool calls alone is whole, and empty', async () => {
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

describe('a clock names itself:', () => {
  // All but the one that a test is about outlast any load on the machine.
  const clocks = { firstTokenTimeoutMs: 30_000, gapTimeoutMs: 30_000, callTimeoutMs: 30_000 };

  it.each<[string, Answer]>([
    ['a server that never answers', 'hang'],
    ['heartbeats alone', 'heartbeats'],
    ['a role without text', { deltas: [], ending: 'heartbeats' }],
    ['empty pieces', { deltas: Array(20).fill({ content: '', waitMs: 20 }), ending: 'stall' }],
  ])('the first token’s, for %s', async (_name, answer) => {
    const { attempt } = await ask([answer], { clocks: { ...clocks, firstTokenTimeoutMs: 80 } });
    const reason = 'no first token within 0.08 s (--first-token-timeout)';
    expect(failure(attempt)).toMatchObject({ class: 'timeout', reason });
  });

  it.each<[string, Answer]>([
    ['a stall', { deltas: [{ content: 'a' }], ending: 'stall' }],
    ['heartbeats after text', { deltas: [{ content: 'a' }], ending: 'heartbeats' }],
  ])('the gap’s, for %s', async (_name, answer) => {
    const { attempt } = await ask([answer], { clocks: { ...clocks, gapTimeoutMs: 80 } });
    const reason = 'no further token within 0.08 s (--gap-timeout)';
    expect(failure(attempt)).toMatchObject({ class: 'timeout', reason });
  });

  it('the call’s, for a reply that never ends', async () => {
    const drip: Answer = { deltas: Array(100).fill({ content: 'a', waitMs: 20 }) };
    const { attempt } = await ask([drip], { clocks: { ...clocks, callTimeoutMs: 300 } });
    expect(failure(attempt).reason).toBe('no whole reply within 0.3 s (--call-timeout)');
  });

  it('text and reasoning in time keep them quiet', async () => {
    const deltas = [...Array(12)].map((_, index) => ({
      [index % 2 ? 'content' : 'reasoning_content']: 'a',
      waitMs: 100,
    }));
    const { attempt } = await ask([{ deltas }], { clocks: { ...clocks, gapTimeoutMs: 1_000 } });
    expect(reply(attempt)).toMatchObject({ content: 'aaaaaa', reasoning: 'aaaaaa' });
  });

  it('only the call’s runs where nothing is streamed', async () => {
    const quick = { ...clocks, firstTokenTimeoutMs: 80, gapTimeoutMs: 80 };
    const slow = await ask([{ content: 'late', latencyMs: 200 }], { stream: false, clocks: quick });
    expect(reply(slow.attempt).content).toBe('late');
    const never = await ask(['hang'], { stream: false, clocks: { ...clocks, callTimeoutMs: 100 } });
    expect(failure(never.attempt).reason).toBe('no whole reply within 0.1 s (--call-timeout)');
  });
});

describe('an abort', () => {
  it.each<[string, Answer]>([
    ['before the answer', 'hang'],
    ['in mid-stream', { deltas: [{ content: 'a' }], ending: 'stall' }],
  ])('%s interrupts', async (_name, answer) => {
    const server = await serve([answer]);
    const controller = new AbortController();
    const { endpoint } = open(server.url);
    const pending = endpoint.call(REQUEST, 0, controller.signal);
    await until(() => server.inFlight === 1);
    controller.abort('SIGINT');
    expect(await pending).toEqual({ status: 'interrupted' });
    await until(() => server.inFlight === 0);
  });

  it('beforehand sends nothing', async () => {
    const server = await serve();
    const attempt = await open(server.url).endpoint.call(REQUEST, 0, AbortSignal.abort());
    expect(attempt).toEqual({ status: 'interrupted' });
    expect(server.count).toBe(0);
  });

  it('shared by many calls raises no warning', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    closers.push(() => process.off('warning', onWarning));
    // Nobody is answered before all have asked.
    let arrived = 0;
    let letGo = () => {};
    const all = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const server = await serve(async () => {
      if (++arrived === 64) letGo();
      await all;
      return { content: 'x' };
    });
    const { endpoint } = open(server.url);
    const signal = new AbortController().signal;
    await Promise.all([...Array(64)].map(() => endpoint.call(REQUEST, 0, signal)));
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
    expect(server.maxInFlight).toBe(64);
  });
});

describe('a connection', () => {
  it('is kept for the next call', async () => {
    const server = await serve();
    for (const stream of [true, false, true]) {
      const { endpoint } = open(server.url, { stream });
      const before = server.connections;
      for (let call = 0; call < 5; call++) {
        reply(await endpoint.call(REQUEST, call, NEVER));
        // A connection is free again in the next turn of the event loop.
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect(server.connections - before).toBe(1);
    }
  });

  it('that is refused tells that nobody is there', async () => {
    const server = await startLoopbackServer();
    await server.close();
    const attempt = await open(server.url).endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt)).toMatchObject({
      class: 'transient',
      unreachable: true,
      reason: 'connection refused (ECONNREFUSED)',
    });
  });

  it('to no host tells so', async () => {
    const attempt = await open('http://no-such-host.invalid/v1').endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt)).toMatchObject({ class: 'transient', unreachable: true });
  });

  it('that is reset before the answer is worth another try', async () => {
    expect(failure((await ask(['reset'])).attempt)).toMatchObject({ class: 'transient' });
  });

  it('to a server without TLS says so', async () => {
    const server = await serve();
    const attempt = await open(server.url.replace('http:', 'https:')).endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt)).toMatchObject({ class: 'fatal', stop: { exitCode: EXIT.unavailable } });
    expect(failure(attempt).stop?.message).toContain('http://');
  });

  it('to a server that speaks no HTTP is malformed', async () => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    expect(failure(await open(url).endpoint.call(REQUEST, 0, NEVER)).class).toBe('malformed');
  });

  it('goes through a proxy, with its credentials', async () => {
    const server = await serve();
    const proxy = await tunnel({ to: server.port });
    const url = `http://model.test:8000/v1`;
    const env = { HTTP_PROXY: proxy.url.replace('//', '//me:p%40ss-word@') };
    const { endpoint } = open(url, { proxy: proxyFor(url, env) });
    expect(reply(await endpoint.call(REQUEST, 0, NEVER)).content).toBe(deterministicAnswer(MESSAGES));
    expect(proxy.tunnels).toEqual(['model.test:8000']);
    expect(proxy.credentials).toEqual([`Basic ${btoa('me:p@ss-word')}`]);
  });

  it('that a proxy does not let through names the proxy', async () => {
    const url = 'http://model.test/v1';
    const refused = async (status: number) => {
      const proxy = await tunnel({ refuse: status });
      const { endpoint } = open(url, { proxy: proxyFor(url, { http_proxy: proxy.url }) });
      return { proxy, attempt: failure(await endpoint.call(REQUEST, 0, NEVER)) };
    };
    const password = await refused(407);
    expect(password.attempt).toMatchObject({ class: 'fatal', stop: { exitCode: EXIT.unavailable } });
    expect(password.attempt.stop?.message).toBe(
      `model.test: the proxy ${password.proxy.host} that http_proxy names wants other credentials (HTTP 407); ` +
        `give it http://user:password@${password.proxy.host}, or exclude the host with NO_PROXY=model.test`,
    );
    const forbidden = await refused(403);
    expect(forbidden.attempt).toMatchObject({
      class: 'transient',
      unreachable: true,
      reason: `the proxy ${forbidden.proxy.host} that http_proxy names lets nothing through (HTTP 403)`,
    });
  });

  it('to a proxy that is not there names the proxy', async () => {
    const proxy = await tunnel({ refuse: 500 });
    proxy.close();
    const url = 'http://model.test/v1';
    const { endpoint } = open(url, { proxy: proxyFor(url, { HTTP_PROXY: proxy.url }) });
    expect(failure(await endpoint.call(REQUEST, 0, NEVER))).toMatchObject({
      unreachable: true,
      reason: `connection refused (ECONNREFUSED) at the proxy ${proxy.host} that HTTP_PROXY names`,
    });
  });
});

describe('what the server rejects', () => {
  const rejects =
    (parameter: string, message: string): Handler =>
    ({ body }) =>
      parameter in body
        ? { status: 400, body: { error: { message, type: 'invalid_request_error', param: parameter } } }
        : { content: 'fine' };
  const rejectsMaxTokens = rejects(
    'max_tokens',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  );
  const rejectsTemperature = rejects(
    'temperature',
    "Unsupported value: 'temperature' does not support 0.6 with this model. Only the default (1) value is supported.",
  );

  it('max_tokens is renamed once for the whole run, and no row is lost to it', async () => {
    const server = await serve(rejectsMaxTokens);
    const { endpoint, dialect, notices } = open(server.url);
    const other = new OpenAiEndpoint({ ...optionsOf(server.url), dialect });
    closers.push(() => other.close());
    const attempts = await Promise.all([...Array(8)].map((_, index) => endpoint.call(REQUEST, index, NEVER)));
    expect(attempts.map(({ status }) => status)).toEqual(Array(8).fill('ok'));
    const before = server.count;
    reply(await other.call(REQUEST, 0, NEVER));
    expect(server.count).toBe(before + 1);
    expect(server.requests.at(-1)?.body).toMatchObject({ max_completion_tokens: 32768 });
    expect(notices).toEqual([expect.stringContaining('max_completion_tokens')]);
    expect(dialect.state()).toMatchObject({ maxTokensRenamed: true, dropped: [] });
  });

  it('is known from the start to a continued run', async () => {
    const { server, notices } = await ask(rejectsMaxTokens, { initial: { maxTokensRenamed: true } });
    expect(server.count).toBe(1);
    expect(notices).toEqual([]);
  });

  it('a sampling parameter stops the run and names the flag that leaves it out', async () => {
    const { attempt, server, dialect } = await ask(rejectsTemperature);
    expect(failure(attempt)).toMatchObject({ class: 'fatal', stop: { exitCode: EXIT.usage } });
    expect(failure(attempt).stop?.message).toContain('--temperature default');
    expect(server.count).toBe(1);
    expect(dialect.state().dropped).toEqual([]);
  });

  it('a sampling parameter is dropped for the whole run where that is allowed', async () => {
    const server = await serve(rejectsTemperature);
    const { endpoint, dialect, notices } = open(server.url, { allowParamDrop: true });
    reply(await endpoint.call(REQUEST, 0, NEVER));
    reply(await endpoint.call(REQUEST, 0, NEVER));
    expect(server.requests.map(({ body }) => 'temperature' in body)).toEqual([true, false, false]);
    expect(notices).toHaveLength(1);
    expect(dialect.state().dropped).toEqual(['temperature']);
  });

  it('stream_options is left out without asking, as it changes no answer', async () => {
    const script = rejects('stream_options', 'Unrecognized request argument supplied: stream_options');
    const { attempt, dialect, notices } = await ask(script);
    expect(reply(attempt).content).toBe('fine');
    expect(dialect.state()).toEqual({ maxTokensRenamed: false, streamOptionsLeftOut: true, dropped: [] });
    expect(notices).toHaveLength(1);
  });

  it('again and again ends after one try of each form', async () => {
    const message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.";
    const { attempt, server } = await ask([{ status: 400, body: { error: { message, param: 'max_tokens' } } }]);
    expect(failure(attempt).class).toBe('fatal');
    expect(server.count).toBeLessThanOrEqual(2);
  });

  it('an unknown model comes with the models that are there', async () => {
    const server = await serve(
      [{ status: 404, body: { error: { message: 'The model `wm-35b` does not exist.', code: 404 } } }],
      { models: ['wm-35b-instruct', 'wm-36b'] },
    );
    const { endpoint } = open(server.url);
    const attempt = failure(await endpoint.call(REQUEST, 0, NEVER));
    expect(attempt).toMatchObject({ class: 'fatal', stop: { exitCode: EXIT.unavailable } });
    expect(attempt.stop?.message).toMatch(/--model-name.*did you mean "wm-36b".*wm-35b-instruct, wm-36b/s);
  });
});

describe('--fit-max-tokens', () => {
  const context = 40_000;
  const promptTokens = 8_000;
  /** A server with a context window; tells the prompt's length exactly, or as a bound only. */
  const window =
    (exact: boolean): Handler =>
    ({ body }) => {
      if (promptTokens + body.max_tokens <= context) {
        return { content: 'fits', usage: { prompt_tokens: promptTokens, completion_tokens: 1 } };
      }
      const message = exact
        ? `This model's maximum context length is ${context} tokens. However, you requested ${promptTokens + body.max_tokens} tokens (${promptTokens} in the messages, ${body.max_tokens} in the completion).`
        : `This model's maximum context length is ${context} tokens. However, you requested ${body.max_tokens} output tokens and your prompt contains at least ${context - body.max_tokens + 1} input tokens`;
      return { status: 400, body: { error: { message, type: 'BadRequestError', code: 400 } } };
    };

  it('asks once more with what the context leaves', async () => {
    const { attempt, server } = await ask(window(true), { fitMaxTokens: true });
    expect(reply(attempt)).toMatchObject({ content: 'fits', fittedMaxTokens: context - promptTokens - 16 });
    expect(server.count).toBe(2);
  });

  it('has the prompt counted where the server tells only a bound', async () => {
    const { attempt, server } = await ask(window(false), { fitMaxTokens: true });
    expect(reply(attempt)).toMatchObject({
      content: 'fits',
      fittedMaxTokens: context - promptTokens - 16,
      usage: { promptTokens: 2 * promptTokens, completionTokens: 2 },
    });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([32768, 1, context - promptTokens - 16]);
  });

  it('leaves an overflow a failure of the row where nothing fits', async () => {
    const message = 'The input (61709 tokens) is longer than the model’s context length (40960 tokens).'.replace(
      '’',
      "'",
    );
    const { attempt, server } = await ask([{ status: 400, body: { message } }], { fitMaxTokens: true });
    expect(failure(attempt)).toMatchObject({ class: 'context-overflow' });
    expect(failure(attempt).stop).toBeUndefined();
    expect(server.count).toBe(1);
  });

  it('is off unless asked for: the row fails, and why is said once, with what to change', async () => {
    const { attempt, server, notices, endpoint } = await ask(window(true));
    expect(failure(attempt)).toMatchObject({
      class: 'context-overflow',
      reason: expect.stringMatching(/^the prompt fits into the context, but not with --max-tokens 32768: /),
    });
    expect(failure(attempt).stop).toBeUndefined();
    expect(server.count).toBe(1);
    await endpoint.call(REQUEST, 0, NEVER);
    expect(notices).toEqual([
      expect.stringMatching(
        /^127.*context of 40,000 tokens, but not with --max-tokens 32768.*--fit-max-tokens.*--max-tokens 16384/,
      ),
    ]);
  });

  it('being off, the run ends once a twentieth of the calls overflow by their budget, and not for a few rows', async () => {
    const { endpoint } = await ask(window(true));
    for (let call = 2; call < 5; call++) expect(failure(await endpoint.call(REQUEST, 0, NEVER)).stop).toBeUndefined();
    const { stop } = failure(await endpoint.call(REQUEST, 0, NEVER));
    expect(stop).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringMatching(/\(5 of 5 calls\): add --fit-max-tokens/),
    });

    let served = 0;
    const seldom = await ask((request) => (++served % 21 === 0 ? window(true)(request) : { content: 'x' }));
    for (let call = 1; call < 150; call++) {
      const attempt = await seldom.endpoint.call(REQUEST, 0, NEVER);
      if (attempt.status === 'failed') expect(attempt.stop).toBeUndefined();
    }
    expect(served).toBe(150);
  });

  it('being off, a prompt that is not counted is asked for by one token, so that it is known what overflows', async () => {
    const { attempt, server } = await ask(window(false));
    expect(failure(attempt).reason).toContain('the prompt fits into the context');
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([32768, 1]);
  });

  it('cannot help a prompt that leaves no room: said once, as the server’s context and no failure of the model', async () => {
    const message = "The input (61709 tokens) is longer than the model's context length (40960 tokens).";
    const { notices, endpoint, attempt } = await ask([{ status: 400, body: { message } }]);
    await endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt).reason).not.toContain('the prompt fits');
    expect(notices).toEqual([
      expect.stringMatching(
        /a prompt of 61,709 tokens leaves no room .* context of 40,960 tokens: such rows are missing/,
      ),
    ]);
  });

  it('takes a passing failure of the count for one of the call', async () => {
    const overflow = window(false);
    const { attempt } = await ask((request) => (request.body.max_tokens === 1 ? { status: 503 } : overflow(request)), {
      fitMaxTokens: true,
    });
    expect(failure(attempt).class).toBe('transient');
  });
});

describe('a secret that the server echoes', () => {
  it.each([true, false])('is taken out of a reply (streamed: %s), which is marked', async (stream) => {
    const echo: Handler = ({ headers }) => ({
      content: `you sent ${headers.authorization}`,
      reasoning: `${headers.authorization}`,
      model: `m-${KEY}`,
    });
    const { attempt } = await ask(echo, { stream });
    expect(reply(attempt)).toMatchObject({
      content: 'you sent Bearer [redacted]',
      reasoning: 'Bearer [redacted]',
      servedModel: 'm-[redacted]',
      redacted: true,
    });
  });

  it('is taken out of errors, of stops and of what the URL held', async () => {
    const server = await serve(({ headers, path }) => ({
      status: 401,
      body: { error: { message: `bad ${headers.authorization} for ${path}` } },
    }));
    const { endpoint } = open(`${server.url}?api_key=url-secret-1`);
    const attempt = failure(await endpoint.call(REQUEST, 0, NEVER));
    expect(attempt).toMatchObject({ class: 'auth', stop: { exitCode: EXIT.authRefused } });
    const all = attempt.reason + attempt.stop?.message;
    for (const secret of [KEY, 'url-secret-1']) expect(all).not.toContain(secret);
    expect(attempt.reason).toContain('Bearer [redacted]');
  });

  it('is found in base64 and torn between the pieces of a stream', async () => {
    const echo: Handler = ({ headers }) => {
      const text = `debug: ${Buffer.from(String(headers.authorization)).toString('base64')}.`;
      return { deltas: [...text].map((content) => ({ content })) };
    };
    const { attempt } = await ask(echo);
    expect(reply(attempt)).toMatchObject({ redacted: true, content: expect.stringContaining('[redacted]') });
    expect(reply(attempt).content.length).toBeLessThan('debug: QmVhcmVyIHNr[redacted]ODk=.'.length + 1);
  });

  it('is not looked for where it is the placeholder', async () => {
    const { attempt } = await ask([{ content: 'the list is EMPTY' }], { apiKey: '' });
    expect(reply(attempt)).toMatchObject({ content: 'the list is EMPTY' });
    expect(reply(attempt).redacted).toBeUndefined();
  });
});

it('Retry-After reaches the caller', async () => {
  const { attempt } = await ask([{ status: 429, body: {}, headers: { 'retry-after': '3' } }]);
  expect(failure(attempt)).toMatchObject({ class: 'rate-limit', retryAfterMs: 3000 });
});

it('the same failure reads the same on another endpoint', async () => {
  const script: Answer[] = [{ status: 503, body: { error: { message: 'no slot' } } }];
  const [one, other] = [await ask(script), await ask(script)];
  expect(failure(one.attempt).reason).toBe(failure(other.attempt).reason);
});

describe('what a server says of its model', () => {
  async function factsOf(models: string, apiKey = KEY) {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(models);
    });
    return open(await listen(server), { apiKey }).endpoint.facts();
  }

  it('is kept without the key, which may be a number', async () => {
    const facts = { context: 123456, ids: [1234567], note: 'key 123456' };
    expect(await factsOf(JSON.stringify({ data: [{ id: 'm', agentworldbench: facts }] }), '123456')).toEqual({
      context: '[redacted]',
      ids: ['[redacted]'],
      note: 'key [redacted]',
    });
  });

  it.each([
    ['nothing', '{"data": []}'],
    ['no list', '{"data": "x"}'],
    ['null', 'null'],
    ['nonsense', '{"data": [null, 5, {"agentworldbench": 5}, {"agentworldbench": [1]}]}'],
    ['lists in lists', `{"data": [{"agentworldbench": {"a": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}]}`],
  ])('is nothing where it is %s', async (_name, models) => {
    expect(await factsOf(models)).toBeUndefined();
  });

  it('names no model that is not named by a text', async () => {
    const server = createServer((request, response) => {
      const ids = '[{"id": {"toString": 5}}, {"id": null}, {"id": "wm-36b"}]';
      if (request.method === 'GET') response.end(`{"data": ${ids}}`);
      else response.writeHead(404).end(JSON.stringify({ error: { code: 'model_not_found', message: 'no' } }));
    });
    const attempt = await open(await listen(server)).endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt).stop?.message).toContain('did you mean "wm-36b"? It has wm-36b');
  });
});

describe('the context length, where the server tells it', () => {
  async function contextRead(
    models: unknown,
    more: { props?: unknown; maxTokens?: number; fitMaxTokens?: boolean } = {},
  ) {
    const { props, maxTokens = 32_768, fitMaxTokens = false } = more;
    const server = createServer((request, response) => {
      const body = request.url === '/props' ? props : { data: models };
      response.end(JSON.stringify(body ?? {}));
    });
    const { endpoint, notices } = open(await listen(server), { sampling: { maxTokens }, fitMaxTokens });
    const error: unknown = await endpoint.readContext().catch((error: unknown) => error);
    return { error, notices };
  }

  it.each(['vllm', 'sglang'])('of %s ends the run before anything is asked where no row can fit', async (owned_by) => {
    const models = [
      { id: 'other', max_model_len: 999_999 },
      { id: 'wm-35b', owned_by, max_model_len: 8_192 },
    ];
    const { error } = await contextRead(models);
    expect(error).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringMatching(
        /^127\.0\.0\.1:\d+ has a context of 8,192 tokens, prompt included, and --max-tokens is 32768: no row can fit; add --fit-max-tokens/,
      ),
    });
    expect(await contextRead(models, { fitMaxTokens: true })).toEqual({ error: undefined, notices: [] });
    expect(await contextRead(models, { maxTokens: 4_096 })).toEqual({ error: undefined, notices: [] });
  });

  it.each<[string, Record<string, unknown>, unknown]>([
    ['awb serve', { owned_by: 'agentworldbench', max_model_len: 8_192 }, undefined],
    [
      'llama.cpp',
      { owned_by: 'llamacpp', meta: { n_ctx_train: 262_144 } },
      { default_generation_settings: { n_ctx: 8_192 } },
    ],
    ['a newer llama.cpp', { owned_by: 'llamacpp', meta: { n_ctx: 8_192 } }, undefined],
  ])('of %s, which ends replies there, is told', async (_name, entry, props) => {
    expect(await contextRead([{ id: 'any', ...entry }], { props })).toEqual({
      error: undefined,
      notices: [
        expect.stringMatching(/a context of 8,192 tokens, prompt included.*: replies end where the context does$/),
      ],
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['nonsense', [{ id: 'wm-35b', owned_by: 'vllm', max_model_len: 'long' }]],
    [
      'another model’s',
      [
        { id: 'a', owned_by: 'vllm', max_model_len: 1 },
        { id: 'b', owned_by: 'vllm', max_model_len: 1 },
      ],
    ],
  ])('is left open where it tells %s', async (_name, models) => {
    expect(await contextRead(models)).toEqual({ error: undefined, notices: [] });
  });
});
