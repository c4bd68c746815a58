// Connections, straight and through proxies, and those that cannot be made or opened.

import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { openEndpoint } from '../../../src/model/endpoint/endpoint.js';
import { proxyFor } from '../../../src/model/http/address.js';
import {
  ask,
  closeAll,
  closers,
  failure,
  MESSAGES,
  NEVER,
  open,
  optionsOf,
  REQUEST,
  reply,
  serve,
} from '../../support/endpoint.js';
import { deterministicAnswer, startLoopbackServer } from '../../support/loopback-server.js';
import { startProxy } from '../../support/proxy.js';

afterEach(closeAll);

async function tunnel(options: Parameters<typeof startProxy>[0]) {
  const proxy = await startProxy(options);
  closers.push(() => proxy.close());
  return proxy;
}

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

  it('that is refused says that nobody is there', async () => {
    const server = await startLoopbackServer();
    await server.close();
    const attempt = await open(server.url).endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt)).toMatchObject({
      class: 'transient',
      unreachable: true,
      reason: 'connection refused (ECONNREFUSED)',
    });
  });

  it('to no host says so', async () => {
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
      `model.test: the proxy ${password.proxy.host} (http_proxy) requires other credentials (HTTP 407); ` +
        `set it to http://user:password@${password.proxy.host}, or exclude the host with NO_PROXY=model.test`,
    );
    const forbidden = await refused(403);
    expect(forbidden.attempt).toMatchObject({
      class: 'transient',
      unreachable: true,
      reason: `the proxy ${forbidden.proxy.host} (http_proxy) refuses the connection (HTTP 403)`,
    });
  });

  it('to a proxy that is not there names the proxy', async () => {
    const proxy = await tunnel({ refuse: 500 });
    proxy.close();
    const url = 'http://model.test/v1';
    const { endpoint } = open(url, { proxy: proxyFor(url, { HTTP_PROXY: proxy.url }) });
    expect(failure(await endpoint.call(REQUEST, 0, NEVER))).toMatchObject({
      unreachable: true,
      reason: `connection refused (ECONNREFUSED) at the proxy ${proxy.host} (HTTP_PROXY)`,
    });
  });
});

it('a transport that cannot be opened fails its calls, and closing it does not fail', async () => {
  const proxy = { variable: 'HTTP_PROXY', host: 'nowhere', url: 'no address', authorization: undefined, secrets: [] };
  const endpoint = openEndpoint({ ...optionsOf('http://127.0.0.1:9/v1'), proxy });
  expect(failure(await endpoint.call(REQUEST, 0, NEVER)).class).toBe('transient');
  await expect(endpoint.close()).resolves.toBeUndefined();
  await expect(endpoint.close()).resolves.toBeUndefined();
});

it('an endpoint that was never asked is closed without a transport', async () => {
  await expect(openEndpoint(optionsOf('http://127.0.0.1:9/v1')).close()).resolves.toBeUndefined();
});
