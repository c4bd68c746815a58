// What a server rejects is renamed or left out, or stops the run.

import { afterEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { openEndpoint } from '../../../src/model/endpoint/endpoint.js';
import {
  ask,
  closeAll,
  closers,
  failure,
  NEVER,
  open,
  optionsOf,
  REQUEST,
  reply,
  serve,
} from '../../support/endpoint.js';
import type { Handler } from '../../support/loopback-server.js';

afterEach(closeAll);

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
    const other = openEndpoint({ ...optionsOf(server.url), dialect });
    closers.push(() => other.close());
    const attempts = await Promise.all([...Array(8)].map((_, index) => endpoint.call(REQUEST, index, NEVER)));
    expect(attempts.map(({ status }) => status)).toEqual(Array(8).fill('ok'));
    const before = server.count;
    reply(await other.call(REQUEST, 0, NEVER));
    expect(server.count).toBe(before + 1);
    expect(server.requests.at(-1)?.body).toMatchObject({ max_completion_tokens: 32768 });
    expect(notices).toEqual([expect.stringContaining('max_completion_tokens')]);
    expect(server.requests.at(-1)?.body).not.toHaveProperty('max_tokens');
    expect(dialect.dropped()).toEqual([]);
  });

  it('is known from the start to a continued run', async () => {
    const { server, notices } = await ask(rejectsTemperature, { allowParamDrop: true, dropped: ['temperature'] });
    expect(server.count).toBe(1);
    expect(notices).toEqual([]);
  });

  it('a sampling parameter stops the run and names the flag that leaves it out', async () => {
    const { attempt, server, dialect } = await ask(rejectsTemperature);
    expect(failure(attempt)).toMatchObject({ class: 'fatal', stop: { exitCode: EXIT.usage } });
    expect(failure(attempt).stop?.message).toContain('--temperature default');
    expect(server.count).toBe(1);
    expect(dialect.dropped()).toEqual([]);
  });

  it('a sampling parameter is dropped for the whole run where that is allowed', async () => {
    const server = await serve(rejectsTemperature);
    const { endpoint, dialect, notices } = open(server.url, { allowParamDrop: true });
    reply(await endpoint.call(REQUEST, 0, NEVER));
    reply(await endpoint.call(REQUEST, 0, NEVER));
    expect(server.requests.map(({ body }) => 'temperature' in body)).toEqual([true, false, false]);
    expect(notices).toHaveLength(1);
    expect(dialect.dropped()).toEqual(['temperature']);
  });

  it('stream_options is left out without asking, as it changes no answer', async () => {
    const script = rejects('stream_options', 'Unrecognized request argument supplied: stream_options');
    const { attempt, server, dialect, notices } = await ask(script);
    expect(reply(attempt).content).toBe('fine');
    const { max_tokens, stream_options } = server.requests.at(-1)?.body ?? {};
    expect({ max_tokens, stream_options }).toEqual({ max_tokens: 32768, stream_options: undefined });
    expect(dialect.dropped()).toEqual([]);
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
    expect(attempt.stop?.message).toMatch(/--model-name.*It has .*wm-35b-instruct, wm-36b/s);
  });
});
