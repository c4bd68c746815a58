// Access control, for plain requests and the WebSocket's upgrade.

import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/core/errors.js';
import { json, post, refusedUpgrade, SocketAgent, startTestEnvironment } from '../../support/environment.js';
import { scriptedSimulator } from '../../support/scripted-simulator.js';

/** `fetch` sets its own Host. */
async function statusWith(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const [response] = await once(httpRequest(url, { headers }).end(), 'response');
  response.resume();
  return response.statusCode;
}

function basic(userinfo: string): string {
  return `Basic ${Buffer.from(userinfo).toString('base64')}`;
}

const REFUSED = [
  ['a foreign host (DNS rebinding)', { host: 'evil.example' }, 403],
  ['a page of another origin', { origin: 'https://evil.example' }, 403],
  ['a page without an origin of its own', { origin: 'null' }, 403],
] as const;

describe('without a key', () => {
  test.each(REFUSED)('%s is refused, for requests and for upgrades', async (_, headers, status) => {
    const environment = await startTestEnvironment(scriptedSimulator());
    expect(await statusWith(`${environment.url}/health`, headers)).toBe(status);
    expect(await refusedUpgrade(environment, { headers })).toBe(status);
    expect(environment.sessions.opened.size).toBe(0);
  });

  test('a page of the server’s own origin is let in', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    const agent = await SocketAgent.connect(environment, { headers: { origin: environment.url } });
    expect(await agent.reset()).toMatchObject({ type: 'observation' });
  });

  test('a form of another page cannot post', async () => {
    const environment = await startTestEnvironment(scriptedSimulator());
    const sent = await post(environment, '/reset', '{}', { headers: { 'content-type': 'text/plain' } });
    expect(sent.status).toBe(415);
  });

  test.each(['0.0.0.0', '::', '192.0.2.1'])('%s is refused before listening', async (host) => {
    const started = startTestEnvironment(scriptedSimulator(), { host });
    await expect(started).rejects.toThrow(/--listen-key/);
    await expect(started).rejects.toBeInstanceOf(UserError);
  });
});

describe('with a key', () => {
  test('only those who have it act; health needs none', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { apiKey: 'sesame' });
    expect((await fetch(`${environment.url}/health`)).status).toBe(200);
    for (const path of ['/metadata', '/schema', '/state', '/openapi.json']) {
      expect((await fetch(`${environment.url}${path}`)).status).toBe(401);
    }
    const refused = await json(post(environment, '/reset', {}));
    expect(refused).toMatchObject({ status: 401, body: { code: 'INVALID_API_KEY' } });
    const headers = { authorization: 'Bearer sesame' };
    expect((await post(environment, '/reset', {}, { headers })).status).toBe(200);
    expect((await post(environment, '/mcp', {}, {})).status).toBe(401);
  });

  test('the upgrade asks for it, as bearer token or as the password of the URL', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { apiKey: 'se:same' });
    expect(await refusedUpgrade(environment, {})).toBe(401);
    expect(await refusedUpgrade(environment, { headers: { authorization: 'Bearer no' } })).toBe(401);
    expect(await refusedUpgrade(environment, { headers: { authorization: basic('awb:no') } })).toBe(401);
    for (const authorization of ['Bearer se:same', basic('awb:se:same')]) {
      const agent = await SocketAgent.connect(environment, { headers: { authorization } });
      expect(await agent.reset()).toMatchObject({ type: 'observation' });
    }
  });

  test('a page of another origin is still refused', async () => {
    const environment = await startTestEnvironment(scriptedSimulator(), { apiKey: 'sesame' });
    const headers = { authorization: 'Bearer sesame', origin: 'https://evil.example' };
    expect(await refusedUpgrade(environment, { headers })).toBe(403);
  });
});

test('WebSockets are only at /ws', async () => {
  const environment = await startTestEnvironment(scriptedSimulator());
  expect(await refusedUpgrade(environment, {}, '/')).toBe(404);
});
