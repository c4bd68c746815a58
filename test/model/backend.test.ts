// Every backend against the suite that all have to pass.

import { type NamedEndpoints, openEndpoints } from '../../src/model/backend.js';
import { conformsToBackend, type OpenSubject } from '../support/backend-conformance.js';
import { type Answer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import {
  type ModelAnswer,
  type ModelScript,
  openScriptedBackend,
  USAGE_OF_A_CALL,
} from '../support/scripted-backend.js';

/** A clock that goes faster, so that outages pass while a test waits for them. */
const HURRY = 100;
const hurried = {
  now: () => performance.now() * HURRY,
  sleep: (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms / HURRY);
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    }),
};

/** Backends over so many servers on loopback. */
function overHttp(servers: number, isOwn: boolean, stream: boolean, rpm?: number): OpenSubject {
  return async (script, { slots, maxAttempts }) => {
    const started = await Promise.all(
      Array.from({ length: servers }, (_, where) => startLoopbackServer((request) => answerOf(script, request, where))),
    );
    const named: NamedEndpoints = {
      baseUrls: started.map(({ url }) => url),
      proxies: [],
      model: 'wm',
      apiKey: 'sk-test-0123456789',
      prefix: 'model',
      ...(isOwn && { own: { slots, lost: new AbortController().signal } }),
    };
    const backend = await openEndpoints(named, {
      sampling: { maxTokens: 100, seed: 7 },
      stream,
      clocks: { firstTokenTimeoutMs: 60_000, gapTimeoutMs: 60_000, callTimeoutMs: 60_000 },
      fitMaxTokens: false,
      allowParamDrop: false,
      dropped: [],
      concurrency: isOwn ? 'adaptive' : slots / servers,
      maxAttempts,
      retryMs: 600_000,
      clock: hurried,
      rpm,
      random: () => 0,
    });
    return { backend, close: () => Promise.all(started.map((server) => server.close())) };
  };
}

async function answerOf(script: ModelScript, { body, path }: SeenRequest, where: number): Promise<Answer> {
  const kind = path === '/v1/completions' ? 'completion' : 'chat';
  const text = kind === 'completion' ? body.prompt : body.messages.at(-1).content;
  return onTheWire(await script({ text, kind, seed: body.seed, where }));
}

function onTheWire(answer: ModelAnswer): Answer {
  const usage = { prompt_tokens: USAGE_OF_A_CALL.promptTokens, completion_tokens: USAGE_OF_A_CALL.completionTokens };
  switch (answer) {
    case 'passing':
      return { content: 'half', finishReason: 'abort', usage };
    case 'permanent':
      return { status: 400, body: { error: { message: 'prompt is too long: 5000 tokens > 4000 maximum' } } };
    case 'fatal':
      return { status: 401, body: { error: { message: 'invalid API key' } } };
    default:
      return { content: answer.text, usage };
  }
}

conformsToBackend('a scripted backend', async (script, options) => ({
  backend: openScriptedBackend(script, options),
  close: async () => {},
}));
conformsToBackend('one endpoint', overHttp(1, false, false));
conformsToBackend('several endpoints', overHttp(2, false, true));
conformsToBackend('a server of its own', overHttp(1, true, true));
// One call every ten milliseconds, a tenth of a millisecond here.
conformsToBackend('an endpoint whose calls are paced', overHttp(1, false, false, 6_000));
