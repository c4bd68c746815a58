// The backend over endpoints: what it takes from what they say of themselves, and from a server that runs for it alone.

import { afterEach, describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import type { ModelOutcome } from '../../src/core/types.js';
import { type BackendOptions, type NamedEndpoints, openEndpoints } from '../../src/model/backend.js';
import { closeAll, closers, KEY, MESSAGES, NEVER, serve } from '../support/endpoint.js';

afterEach(closeAll);

async function open(
  baseUrls: readonly string[],
  more: Partial<NamedEndpoints> = {},
  options: Partial<BackendOptions> = {},
) {
  const notices: string[] = [];
  const backend = await openEndpoints(
    { baseUrls, proxies: [], model: 'wm', apiKey: KEY, prefix: 'model', ...more },
    {
      sampling: { maxTokens: 100, temperature: 0.6 },
      stream: false,
      clocks: { firstTokenTimeoutMs: 60_000, gapTimeoutMs: 60_000, callTimeoutMs: 60_000 },
      fitMaxTokens: false,
      allowParamDrop: false,
      dropped: [],
      concurrency: 'adaptive',
      maxAttempts: 3,
      retryMs: 600_000,
      onNotice: (text) => notices.push(text),
      ...options,
    },
  );
  closers.push(() => backend.close());
  const outcomes: ModelOutcome['status'][] = [];
  const ask = (count: number) =>
    backend.work(
      Array.from({ length: count }, (_, id) => ({ group: `g${id}` })),
      async (_job, ask) => {
        const { status } = await ask({ make: async () => ({ messages: MESSAGES, seedOffset: 0 }) });
        outcomes.push(status);
      },
      { stop: NEVER, abort: NEVER },
    );
  return { backend, ask, outcomes, notices };
}

const served = (slots: number) => ({ models: [{ id: 'wm', agentworldbench: { sha256: 'ab', slots } }] });

describe('a server that runs only for the run', () => {
  it('is given as many calls as it has slots', async () => {
    const server = await serve();
    const { backend } = await open([server.url], { own: { slots: 3, lost: NEVER } });
    expect(backend.status().limit).toBe(3);
  });

  it('once lost ends the run with how it was, and interrupts what is in flight', async () => {
    const lost = new AbortController();
    const gone = new UserError('the server ended', EXIT.unavailable);
    const server = await serve(() => {
      lost.abort(gone);
      return 'hang';
    });
    const { ask, outcomes } = await open([server.url], { own: { slots: 2, lost: lost.signal } });
    await expect(ask(9)).rejects.toBe(gone);
    expect(new Set(outcomes)).toEqual(new Set(['interrupted']));
  });
});

describe('what the servers say of themselves', () => {
  it('bounds the calls at each by the fewest slots, and is kept', async () => {
    const servers = [await serve(undefined, served(2)), await serve(undefined, served(4))];
    const { backend } = await open(servers.map(({ url }) => url));
    expect(backend.status().limit).toBe(4);
    expect(backend.models).toEqual([
      { sha256: 'ab', slots: 2 },
      { sha256: 'ab', slots: 4 },
    ]);
  });

  it('bounds nothing where one of them says nothing', async () => {
    const servers = [await serve(undefined, served(2)), await serve()];
    const { backend } = await open(servers.map(({ url }) => url));
    expect(backend.status().limit).toBeGreaterThan(4);
    expect(backend.models).toEqual([{ sha256: 'ab', slots: 2 }]);
  });

  it('ends the run before a row is asked, where none can fit', async () => {
    const server = await serve(undefined, { models: [{ id: 'wm', owned_by: 'vllm', max_model_len: 64 }] });
    const { ask } = await open([server.url]);
    await expect(ask(3)).rejects.toMatchObject({ exitCode: EXIT.usage });
    expect(server.count).toBe(0);
  });
});

describe('parameters that are left out', () => {
  it('are known from the start, and those learnt on the way come to them', async () => {
    const message = 'Unsupported parameter: seed';
    const server = await serve(({ body }) =>
      'seed' in body ? { status: 400, body: { error: { message, param: 'seed' } } } : { content: 'fine' },
    );
    const sampling = { maxTokens: 100, temperature: 0.6, seed: 7 };
    const { backend, ask, notices } = await open(
      [server.url],
      {},
      {
        sampling,
        allowParamDrop: true,
        dropped: ['temperature'],
      },
    );
    expect(backend.dropped()).toEqual(['temperature']);
    await ask(2);
    expect(server.requests.every(({ body }) => !('temperature' in body))).toBe(true);
    expect(backend.dropped()).toEqual(['seed', 'temperature']);
    expect(notices.length).toBe(1);
  });
});

it('a further request of a call waits for its turn under the pace, as any call does', async () => {
  const waits: number[] = [];
  let now = 0;
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      waits.push(ms);
      now += ms;
    },
  };
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  const server = await serve(({ body }) =>
    'max_tokens' in body
      ? { status: 400, body: { error: { message, param: 'max_tokens', code: 'unsupported_parameter' } } }
      : { content: 'fine' },
  );
  const { ask, outcomes } = await open([server.url], {}, { rpm: 6, clock, concurrency: 1 });
  await ask(2);
  expect([outcomes, server.count]).toEqual([['ok', 'ok'], 3]);
  expect(waits).toHaveLength(2);
  for (const ms of waits) expect(ms).toBeGreaterThanOrEqual(10_000);
});

it('a base URL that is none is refused at once', async () => {
  await expect(open(['localhost:8000'])).rejects.toThrow(/base URL/);
});
