// Single calls at servers on loopback: what is heard of a reply, how it is ended, and what is tried again.

import { afterEach, describe, expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.js';
import type { BackendOptions, NamedEndpoints } from '../../src/model/backend.js';
import { type LiveHooks, openLive } from '../../src/model/live.js';
import { type Clock, systemClock } from '../../src/model/schedule/pace.js';
import { closeAll, closers, KEY, MESSAGES, NEVER, REQUEST, serve, until } from '../support/endpoint.js';

afterEach(closeAll);

/** Goes a thousand times as fast as others. */
const quickClock: Clock = {
  now: () => performance.now() * 1_000,
  sleep: (ms, signal) => systemClock.sleep(ms / 1_000, signal),
};

async function open(
  baseUrls: readonly string[],
  options: Partial<BackendOptions> = {},
  more: Partial<NamedEndpoints> = {},
) {
  const live = await openLive(
    { baseUrls, proxies: [], model: 'wm', apiKey: KEY, prefix: 'model', ...more },
    {
      sampling: { maxTokens: 100, seed: 5 },
      stream: true,
      clocks: { firstTokenTimeoutMs: 5_000, gapTimeoutMs: 5_000, callTimeoutMs: 10_000 },
      fitMaxTokens: true,
      allowParamDrop: false,
      dropped: [],
      concurrency: 'adaptive',
      maxAttempts: 3,
      retryMs: 600_000,
      clock: quickClock,
      random: () => 1,
      ...options,
    },
  );
  closers.push(() => live.close());
  const heard: string[] = [];
  const again: string[] = [];
  const waits: number[] = [];
  const hooks: LiveHooks = {
    signal: NEVER,
    onText: (piece, kind) => heard.push(`${kind}: ${piece}`),
    onAgain(reason, waitMs) {
      again.push(reason);
      waits.push(waitMs);
    },
  };
  return {
    live,
    heard,
    again,
    hooks,
    waits,
    ask: (own: Partial<LiveHooks> = {}) => live.ask(REQUEST, { ...hooks, ...own }),
  };
}

describe('a live call', () => {
  test('is heard piece by piece, thinking apart, and comes to the whole reply', async () => {
    const deltas = [{ reasoning_content: 'hm' }, { content: 'to' }, { content: 'day' }];
    const server = await serve([{ deltas }]);
    const { ask, heard } = await open([server.url]);
    const outcome = await ask();
    expect(heard).toEqual(['reasoning: hm', 'content: to', 'content: day']);
    expect(outcome).toMatchObject({ status: 'ok', content: 'today', reasoning: 'hm', log: { attempts: 1 } });
    expect(server.requests[0]?.body).toMatchObject({ model: 'wm', stream: true, seed: 5, messages: MESSAGES });
  });

  test('that its user ends charges for what had come', async () => {
    const server = await serve([{ deltas: [{ reasoning: 'mm' }, { content: 'half a' }], ending: 'stall' }]);
    const { ask, heard } = await open([server.url]);
    const end = new AbortController();
    const asked = ask({ signal: end.signal });
    await until(() => heard.length === 2);
    end.abort();
    expect(await asked).toMatchObject({
      status: 'interrupted',
      log: { attempts: 1, uncounted: { sent: 'what happens?'.length, received: 8 } },
    });
    await until(() => server.inFlight === 0);
  });

  test('runs next to others, as many as are allowed, and one that waits for its place can be ended', async () => {
    const server = await serve(() => 'hang');
    const { ask } = await open([server.url], { concurrency: 2 });
    const end = new AbortController();
    const running = [ask({ signal: end.signal }), ask({ signal: end.signal })];
    await until(() => server.inFlight === 2);
    const alone = new AbortController();
    const waiting = ask({ signal: alone.signal });
    alone.abort();
    expect(await waiting).toMatchObject({ status: 'interrupted', log: { attempts: 0 } });
    expect(server.count).toBe(2);
    end.abort();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
  });

  test('waits for a rate limit as long as the server asks, without using up a try or changing the seed', async () => {
    const limited = { status: 429, headers: { 'retry-after': '7' } };
    const server = await serve([limited, limited, limited, limited, { content: 'at last' }]);
    const { ask, waits, again } = await open([server.url]);
    expect(await ask()).toMatchObject({ status: 'ok', content: 'at last', log: { attempts: 5 } });
    expect(again).toHaveLength(4);
    for (const ms of waits) expect(ms).toBeGreaterThanOrEqual(7_000);
    expect(server.requests.map(({ body }) => body.seed)).toEqual([5, 5, 5, 5, 5]);
  });

  test('that fails for a passing reason is tried again under another seed, and what was heard is void', async () => {
    const cut = { deltas: [{ content: 'bro' }], ending: 'cut-off' } as const;
    const server = await serve([cut, { deltas: [{ content: 'whole' }] }]);
    const { ask, heard, again } = await open([server.url]);
    expect(await ask()).toMatchObject({ status: 'ok', content: 'whole' });
    expect(heard).toEqual(['content: bro', 'content: whole']);
    expect(again).toEqual([expect.stringContaining('cut off')]);
    expect(new Set(server.requests.map(({ body }) => body.seed)).size).toBe(2);
  });

  test('fails after its tries with the class and reason of the last', async () => {
    const server = await serve([{ status: 503, body: 'busy' }]);
    const { ask } = await open([server.url]);
    expect(await ask()).toMatchObject({ status: 'failed', class: 'transient', log: { attempts: 3 } });
  });

  test('is tried once where no other call would fare better, and says what to do', async () => {
    const server = await serve([{ status: 401, body: { error: { message: 'bad key' } } }]);
    const outcome = await (await open([server.url])).ask();
    expect(outcome).toMatchObject({ status: 'failed', class: 'auth', log: { attempts: 1 } });
    expect(outcome.status === 'failed' && outcome.stop).toBeInstanceOf(UserError);
  });

  test('shows nobody the key that a server echoes in pieces', async () => {
    const [start, end] = [KEY.slice(0, 9), KEY.slice(9)];
    const server = await serve([
      { deltas: [{ content: `key ${start}` }, { content: `${end} and sk-te` }, { content: 'st' }] },
    ]);
    const { ask, heard } = await open([server.url]);
    const outcome = await ask();
    const text = heard.map((piece) => piece.replace('content: ', '')).join('');
    expect(text).toBe('key [redacted] and sk-test');
    expect(outcome).toMatchObject({ content: text, redacted: true });
  });

  test('goes to another endpoint where one cannot be reached, and stays with its group where it can', async () => {
    const gone = await serve();
    await gone.close();
    const server = await serve([{ content: 'here' }]);
    const { live, hooks } = await open([gone.url, server.url]);
    for (const group of ['a', 'b', 'c', 'd']) {
      expect(await live.ask(REQUEST, { ...hooks, group })).toMatchObject({ status: 'ok', content: 'here' });
    }
    const [one, two] = [await serve(), await serve()];
    const both = await open([one.url, two.url]);
    for (let turn = 0; turn < 6; turn++) await both.live.ask(REQUEST, { ...both.hooks, group: 'session' });
    expect([one.count, two.count].sort()).toEqual([0, 6]);
  });

  test('fails with how it ended if its own server is lost', async () => {
    const server = await serve(() => 'hang');
    const lost = new AbortController();
    const { ask } = await open([server.url], {}, { own: { slots: 1, lost: lost.signal } });
    const asked = ask();
    await until(() => server.inFlight === 1);
    lost.abort(new UserError('the local server was killed'));
    expect(await asked).toMatchObject({ status: 'failed', reason: 'the local server was killed' });
  });
});

test('the least context that the servers tell is known', async () => {
  const [one, two] = [
    await serve([], { models: [{ id: 'wm', max_model_len: 4_096 }] }),
    await serve([], { models: [{ id: 'wm', max_model_len: 2_048 }] }),
  ];
  expect((await open([one.url, two.url])).live.roomFor(REQUEST)?.contextTokens).toBe(2_048);
  expect((await open([(await serve()).url])).live.roomFor(REQUEST)).toBeUndefined();
});
