// Access control.

import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/core/errors.js';
import type { RunningServer } from '../../../src/serve/http/server.js';
import { clientOf, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

describe('who may ask', () => {
  test('with a key, only those who have it; health needs none', async () => {
    const server = await serve(scripted(REPLY), { apiKey: 'sesame' });
    const reply = await clientOf(server, 'sesame').chat.completions.create({ model: 'tiny', messages: HELLO });
    expect(reply.choices[0]?.message.content).toBe('Hi there');
    await expect(clientOf(server, 'sesam').models.list()).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
    expect((await post(server, { model: 'tiny', messages: HELLO })).status).toBe(401);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const head = await fetch(`${server.url}/health`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  /** `fetch` sets its own Host. */
  async function statusWithHost(server: RunningServer, host: string): Promise<number | undefined> {
    const asked = httpRequest(`${server.url}/health`, { headers: { host } }).end();
    const [response] = await once(asked, 'response');
    response.resume();
    return response.statusCode;
  }

  test.each([
    ['localhost', 200],
    ['localhost:8080', 200],
    ['127.0.0.1:1', 200],
    ['127.9.9.9', 200],
    ['[::1]:8080', 200],
    ['my.localhost', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost.evil.example:8080', 403],
    ['10.0.0.1', 403],
  ])('without a key, a request to the host %s gets %i', async (host, status) => {
    expect(await statusWithHost(await serve(scripted(REPLY)), host)).toBe(status);
  });

  test('with a key, any host is served', async () => {
    expect(await statusWithHost(await serve(scripted(REPLY), { apiKey: 'k' }), 'model.example')).toBe(200);
  });

  test.each(['0.0.0.0', '::', '', '192.0.2.1', 'example.com'])(
    '"%s" without a key is refused before listening',
    async (host) => {
      await expect(serve(scripted(REPLY), { host })).rejects.toThrow(/--api-key/);
      await expect(serve(scripted(REPLY), { host, apiKey: '' })).rejects.toBeInstanceOf(UserError);
    },
  );

  test('a key that no header can carry is refused without being shown', async () => {
    const started = serve(scripted(REPLY), { apiKey: 'geheim\n' });
    await expect(started).rejects.toThrow(/--api-key/);
    await expect(started).rejects.not.toThrow(/geheim/);
  });

  test('no origin is let in from a browser', async () => {
    const server = await serve(scripted(REPLY));
    const asked = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example' },
    });
    expect(asked.status).toBe(405);
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  });
});
