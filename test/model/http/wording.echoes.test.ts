// What a server echoes of secrets, and the names that it gives.

import { afterEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { ask, closeAll, failure, KEY, NEVER, open, REQUEST, reply, serve } from '../../support/endpoint.js';
import type { Handler } from '../../support/loopback-server.js';

afterEach(closeAll);

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

  it('is not looked for where there is none, and EMPTY is sent', async () => {
    const { attempt } = await ask([{ content: 'the list is EMPTY' }], { apiKey: '' });
    expect(reply(attempt)).toMatchObject({ content: 'the list is EMPTY' });
    expect(reply(attempt).redacted).toBeUndefined();
  });
});

it('names are short, and stay on their line', async () => {
  const finish = `stop\n\x1b[31m${'!'.repeat(1_000_000)}`;
  const body = { model: `m\u202e\n::error::${'m'.repeat(1_000_000)}`, choices: [{ message: { content: 'x' } }] };
  const answer = { ...body, choices: [{ ...body.choices[0], finish_reason: finish }] };
  const { finishReason, servedModel } = reply((await ask([{ status: 200, body: answer }])).attempt);
  expect(finishReason).toMatch(/^stop !+…$/);
  expect(servedModel).toMatch(/^m ::error::m+…$/);
  expect([finishReason?.length, servedModel?.length]).toEqual([200, 200]);
});

it('names hold no half of a key where they are cut, and none that invisible characters part', async () => {
  const parted = `${KEY.slice(0, 9)}\u200b${KEY.slice(9)}`;
  const body = { model: `${'m'.repeat(185)}${KEY}`, choices: [{ message: { content: 'x' }, finish_reason: parted }] };
  const { finishReason, servedModel, redacted } = reply((await ask([{ status: 200, body }])).attempt);
  expect(servedModel).not.toContain(KEY.slice(0, 9));
  expect({ finishReason, redacted }).toEqual({ finishReason: '[redacted]', redacted: true });
});
