// The harness's own client on the server's replies and errors.

import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Sampling } from '../../../src/core/sampling.js';
import { openContextWatch } from '../../../src/model/context.js';
import { openEndpoint } from '../../../src/model/endpoint/endpoint.js';
import { openDialect } from '../../../src/model/endpoint/request.js';
import type { RunningServer } from '../../../src/serve/http/server.js';
import { contextOverflow } from '../../../src/serve/http/wire.js';
import { ENDLESS, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

describe("the harness's own client", () => {
  const ask = (server: RunningServer, sampling: Sampling, model = 'tiny') =>
    openEndpoint({
      baseUrl: `${server.url}/v1`,
      apiKey: '',
      model,
      sampling,
      stream: true,
      clocks: { firstTokenTimeoutMs: 5_000, gapTimeoutMs: 5_000, callTimeoutMs: 10_000 },
      dialect: openDialect({ allowParamDrop: false, onNotice: () => {} }),
      context: openContextWatch({ maxTokens: sampling.maxTokens, fits: false, onNotice: () => {} }),
      flagPrefix: 'model',
    }).call({ messages: HELLO, seedOffset: 0 }, 0, new AbortController().signal);

  test('reads replies, overflows, refused parameters, unknown models and overload for what they are', async () => {
    const server = await serve(scripted(REPLY));
    expect(await ask(server, { maxTokens: 5, seed: 3 })).toMatchObject({
      status: 'ok',
      content: 'Hi there',
      reasoning: 'hmm.',
      usage: { promptTokens: 20, cachedTokens: 12, completionTokens: 7, reasoningTokens: 3 },
    });
    const refused = await ask(server, { reasoningEffort: 'lots' });
    expect(refused).toMatchObject({ class: 'fatal', reason: expect.stringContaining('reasoning_effort') });
    expect(await ask(server, {}, 'tinny')).toMatchObject({
      stop: { message: expect.stringContaining('It has tiny') },
    });
    const long = await serve(
      // biome-ignore lint/correctness/useYield: it refuses before the first event
      scripted(async function* () {
        throw contextOverflow(9_000, 2_048);
      }),
    );
    expect(await ask(long, {})).toMatchObject({ class: 'context-overflow' });
    const engine = scripted(ENDLESS, { slots: 1 });
    const full = await serve(engine, { queueLimit: 0 });
    const started = once(engine.life, 'started');
    void post(full, { model: 'tiny', messages: HELLO }).catch(() => undefined);
    await started;
    expect(await ask(full, {})).toMatchObject({ class: 'rate-limit', retryAfterMs: expect.any(Number) });
  });
});
