// A request from its arrival to its record: loading, clients that leave, clients that do not read.

import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { RequestRecord } from '../../../src/serve/http/wire.js';
import type { Engine } from '../../../src/serve/request.js';
import {
  content,
  ENDLESS,
  errorOf,
  HELLO,
  post,
  REPLY,
  type Script,
  scripted,
  serve,
  USAGE,
} from '../../support/scripted-server.js';

describe('while the model is loaded', () => {
  test('while the model loads, health says so and requests get a 503', async () => {
    let finish: (engine: Engine) => void = () => {};
    const server = await serve(
      new Promise<Engine>((resolve) => {
        finish = resolve;
      }),
    );
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([503, { status: 'loading', busy: 0, waiting: 0, slots: 0 }]);
    const refused = await post(server, { model: 'tiny', messages: HELLO });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, 'model_loading']);
    finish(scripted(REPLY));
    expect((await post(server, { model: 'tiny', messages: HELLO })).status).toBe(200);
  });

  test('a model that cannot be loaded leaves a server that can be closed', async () => {
    const failed = Promise.reject(new Error('no such file'));
    const server = await serve(failed);
    expect((await fetch(`${server.url}/health`)).status).toBe(503);
    await server.close(0);
  });
});

describe('clients that leave', () => {
  test.each([false, true])('a client that hangs up frees its slot (stream: %s)', async (stream) => {
    const engine = scripted(ENDLESS, { slots: 1 });
    const server = await serve(engine);
    const hangUp = new AbortController();
    const started = once(engine.life, 'started');
    const asked = post(server, { model: 'tiny', messages: HELLO, stream }, { signal: hangUp.signal }).catch(
      () => undefined,
    );
    await started;
    const ended = once(engine.life, 'ended');
    hangUp.abort();
    await ended;
    await asked;
    expect(engine.busy).toBe(0);
  });

  test('a client that hangs up while it waits leaves the queue', async () => {
    const engine = scripted(ENDLESS, { slots: 1 });
    const server = await serve(engine, { queueLimit: 1 });
    const first = new AbortController();
    const second = new AbortController();
    const body = { model: 'tiny', messages: HELLO };
    const started = once(engine.life, 'started');
    const held = [post(server, body, { signal: first.signal }).catch(() => undefined)];
    await started;
    held.push(post(server, body, { signal: second.signal }).catch(() => undefined));
    let health = { waiting: 0 };
    while (health.waiting === 0) health = (await (await fetch(`${server.url}/health`)).json()) as typeof health;
    const left = once(engine.life, 'left');
    second.abort();
    await left;
    while (health.waiting === 1) health = (await (await fetch(`${server.url}/health`)).json()) as typeof health;
    expect(health).toMatchObject({ busy: 1, waiting: 0 });
    first.abort();
    await Promise.all(held);
  });

  test('a client that does not read its reply is dropped', async () => {
    const flood: Script = async function* ({ signal }) {
      while (!signal.aborted) {
        yield content('x'.repeat(2 ** 20));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const engine = scripted(flood);
    const server = await serve(engine);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).pause();
    socket.on('error', () => {});
    const body = JSON.stringify({ model: 'tiny', messages: HELLO, stream: true });
    const ended = once(engine.life, 'ended');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await ended;
    expect(engine.busy).toBe(0);
    socket.destroy();
  });
});

test('each request is reported once it has ended, without its contents', async () => {
  const records: RequestRecord[] = [];
  const server = await serve(scripted(REPLY), { onRequest: (record) => records.push(record) });
  await (await post(server, { messages: HELLO })).text();
  await (await fetch(`${server.url}/v1/models?key=geheim`)).text();
  while (records.length < 2) await new Promise(setImmediate);
  expect(records).toEqual([
    {
      method: 'POST',
      path: '/v1/chat/completions',
      status: 200,
      durationMs: expect.any(Number),
      usage: USAGE,
    },
    { method: 'GET', path: '/v1/models', status: 200, durationMs: expect.any(Number), usage: undefined },
  ]);
});
