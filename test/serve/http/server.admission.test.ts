// How many requests are admitted.

import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { holdText } from '../../support/messages.js';
import { ENDLESS, errorOf, HELLO, post, scripted, serve } from '../../support/scripted-server.js';

describe('the queue', () => {
  test('beyond slots and queue, a request is refused with a time to retry, and health counts the others', async () => {
    const engine = scripted(ENDLESS, { slots: 2 });
    const server = await serve(engine, { queueLimit: 1 });
    const hangUp = new AbortController();
    const body = { model: 'tiny', messages: HELLO, stream: true };
    const held = [1, 2, 3].map(() => post(server, body, { signal: hangUp.signal }).catch(() => undefined));
    while (engine.calls.length < 3) await once(engine.life, 'called');
    const health = await (await fetch(`${server.url}/health`)).json();
    expect(health).toEqual({ status: 'ok', busy: 2, waiting: 1, slots: 2 });
    const refused = await post(server, body);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await errorOf(refused)).toMatchObject({ type: 'rate_limit_error', code: 'queue_full' });
    expect(engine.calls).toHaveLength(3);
    hangUp.abort();
    await Promise.all(held);
  });

  test('the number of places is reported', async () => {
    const engine = scripted(ENDLESS, { slots: 1 });
    const server = await serve(engine, { queueLimit: 1 });
    const hangUp = new AbortController();
    const never = await errorOf(await post(server, { messages: HELLO, n: 5 }));
    const held = post(server, { messages: HELLO, n: 2 }, { signal: hangUp.signal }).catch(() => undefined);
    while (engine.calls.length < 2) await once(engine.life, 'called');
    const full = await errorOf(await post(server, { messages: HELLO }));
    hangUp.abort();
    await held;
    await holdText('serve-one-slot', `${never.message}\n${full.message}\n`);
  });

  test('more than slots and queue together is refused for good, more than is free now only temporarily', async () => {
    const engine = scripted(ENDLESS, { slots: 2 });
    const server = await serve(engine, { queueLimit: 2 });
    const never = await post(server, { messages: HELLO, n: 5 });
    expect([never.status, (await errorOf(never)).param]).toEqual([400, 'n']);
    const hangUp = new AbortController();
    const held = post(server, { messages: HELLO, n: 3 }, { signal: hangUp.signal }).catch(() => undefined);
    while (engine.calls.length < 3) await once(engine.life, 'called');
    expect((await post(server, { messages: HELLO, n: 2 })).status).toBe(429);
    hangUp.abort();
    await held;
  });
});
