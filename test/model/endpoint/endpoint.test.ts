// One try at a real endpoint over loopback: how it is ended, and what of its failure reaches the caller.

import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, closers, failure, open, REQUEST, serve, until } from '../../support/endpoint.js';
import type { Answer } from '../../support/loopback-server.js';

afterEach(closeAll);

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

it('Retry-After reaches the caller', async () => {
  const { attempt } = await ask([{ status: 429, body: {}, headers: { 'retry-after': '3' } }]);
  expect(failure(attempt)).toMatchObject({ class: 'rate-limit', retryAfterMs: 3000 });
});

it('the same failure reads the same on another endpoint', async () => {
  const script: Answer[] = [{ status: 503, body: { error: { message: 'no slot' } } }];
  const [one, other] = [await ask(script), await ask(script)];
  expect(failure(one.attempt).reason).toBe(failure(other.attempt).reason);
});
