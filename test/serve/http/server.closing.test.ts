// The server from start to end: its port, input that is not a request, and closing.

import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import type { RunningServer } from '../../../src/serve/http/server.js';
import { content, END, ENDLESS, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

/** Sends bytes as they are and gives back all that comes until the connection ends. */
async function rawly(server: RunningServer, text: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  let received = '';
  for await (const chunk of socket) received += chunk;
  return received;
}

test('a busy port is reported, with a remedy', async () => {
  const first = await serve(scripted(REPLY));
  const port = Number(new URL(first.url).port);
  const second = serve(scripted(REPLY), { port });
  await expect(second).rejects.toMatchObject({ exitCode: EXIT.unavailable });
  await expect(second).rejects.toThrow(/--port/);
});

test.each([
  [
    'a body that does not come',
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    '408',
  ],
  ['a head that does not come', 'POST /v1/chat', '408'],
  ['what is no HTTP', 'hello?\r\n\r\n', '400'],
  ['an endless head', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
])('%s gets an error and a closed connection', async (_, sent, status) => {
  const server = await serve(scripted(REPLY), { requestTimeoutMs: 50 });
  const received = await rawly(server, sent);
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(received).toContain('"error":{"message":');
});

describe('closing', () => {
  test('closing lets requests in progress end, and accepts nothing new', async () => {
    let go = () => {};
    const engine = scripted(async function* () {
      yield content('a');
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      yield content('b');
      yield END;
    });
    const server = await serve(engine);
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const closed = server.close(60_000);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    go();
    expect(await response.text()).toContain('[DONE]');
    await closed;
  });

  test('closing twice leaves no timer', async () => {
    const server = await serve(scripted(REPLY));
    await server.close(0);
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    await server.close(60_000);
    expect(timers()).toBe(before);
  });

  test('a connection kept open gets no more replies once the server drains', async () => {
    const engine = scripted(ENDLESS);
    const server = await serve(engine);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const received: string[] = [];
    socket.on('data', (chunk) => received.push(String(chunk)));
    const body = JSON.stringify({ model: 'tiny', messages: HELLO });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(`${head}${body.slice(0, 5)}`);
    const holder = post(server, { model: 'tiny', messages: HELLO }).catch(() => undefined);
    await once(engine.life, 'started');
    const closed = server.close(60_000);
    socket.write(body.slice(5));
    while (!received.join('').includes('shutting_down')) await once(socket, 'data');
    expect(received.join('')).toMatch(/^HTTP\/1.1 503/);
    void server.close(0);
    await closed;
    await holder;
  });

  test.each([false, true])(
    'what does not end in time is told; a second, shorter close wins (stream: %s)',
    async (stream) => {
      const engine = scripted(ENDLESS);
      const server = await serve(engine);
      const started = once(engine.life, 'started');
      const asked = post(server, { model: 'tiny', messages: HELLO, stream });
      await started;
      if (stream) await asked;
      const closed = server.close(10 * 60_000);
      void server.close(0);
      const response = await asked;
      expect(await response.text()).toContain('shutting_down');
      await closed;
      expect(engine.busy).toBe(0);
    },
  );

  test('an engine that ignores the abort does not keep the server open', async () => {
    const engine = scripted(async function* () {
      yield content('a');
      await new Promise(() => {});
    });
    const server = await serve(engine);
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const text = response.text().catch(() => 'cut off');
    await server.close(0);
    expect(await text).toBe('cut off');
  });
});
