// A server on loopback over a scripted engine, closed after each test.

import { EventEmitter, once } from 'node:events';
import OpenAI from 'openai';
import { type RunningServer, type ServerOptions, startServer } from '../../src/serve/http/server.js';
import type { ModelFacts } from '../../src/serve/load.js';
import type { Engine, EngineMessage, EnginePrompt, GenerateEvent, TokenScore } from '../../src/serve/request.js';
import { cleanups } from './cleanups.js';

export const FACTS: ModelFacts = {
  name: 'tiny',
  file: '/models/tiny.gguf',
  sha256: 'ab'.repeat(32),
  bytes: 278_144,
  architecture: 'qwen35moe',
  quantization: 'Q8_0',
  llamaCpp: 'v0.5.0',
  kvCache: 'f16',
  flashAttention: true,
  contextSize: 2048,
  slots: 2,
  gpu: 'none',
  gpuLayers: 0,
  threads: 1,
  batchSize: 512,
};
export const USAGE = { promptTokens: 20, cachedTokens: 12, completionTokens: 7, reasoningTokens: 3 };
export const END: GenerateEvent = { type: 'end', finishReason: 'stop', usage: USAGE };
export const HELLO = [{ role: 'user' as const, content: 'hello' }];

export function reasoning(text: string): GenerateEvent {
  return { type: 'text', channel: 'reasoning', text };
}

export function content(text: string): GenerateEvent {
  return { type: 'text', channel: 'content', text };
}

export type Call = {
  readonly prompt: EnginePrompt;
  readonly messages: readonly EngineMessage[];
  readonly options: Parameters<Engine['generate']>[1];
};
export type Script = (call: Call & { readonly signal: AbortSignal }) => AsyncIterable<GenerateEvent>;

/** A scripted engine with as many slots as its facts say; further calls wait in order. */
export function scripted(script: Script, facts: Partial<ModelFacts> = {}) {
  const calls: Call[] = [];
  /** Emits `called`, then `started` with a slot or `left` without, then `ended`. */
  const life = new EventEmitter();
  const waiting: (() => void)[] = [];
  const engine = {
    facts: { ...FACTS, ...facts },
    busy: 0,
    calls,
    life,
    /** A token is a code point. */
    tokenize: async (prompt: EnginePrompt) =>
      'tokens' in prompt
        ? prompt.tokens
        : Array.from(
            'text' in prompt ? prompt.text : JSON.stringify(prompt),
            (letter) => letter.codePointAt(0) as number,
          ),
    detokenize: (tokens: readonly number[]) => String.fromCodePoint(...tokens),
    async *generate(prompt: EnginePrompt, options: Call['options'], signal: AbortSignal) {
      const messages = 'messages' in prompt ? prompt.messages : [];
      calls.push({ prompt, messages, options });
      life.emit('called');
      if (engine.busy >= engine.facts.slots) {
        await new Promise<void>((resolve, reject) => {
          waiting.push(resolve);
          signal.addEventListener('abort', () => {
            waiting.splice(waiting.indexOf(resolve), 1);
            life.emit('left');
            reject(signal.reason);
          });
        });
      }
      engine.busy += 1;
      life.emit('started');
      try {
        for await (const event of script({ prompt, messages, options, signal })) {
          if (signal.aborted) return;
          yield event;
        }
      } finally {
        engine.busy -= 1;
        waiting.shift()?.();
        life.emit('ended');
      }
    },
    close: async () => {},
  };
  return engine;
}

export const REPLY: Script = async function* () {
  yield reasoning('hm');
  yield reasoning('m.');
  yield content('Hi');
  yield content(' there');
  yield END;
};

/** Generates until it is aborted. */
export const ENDLESS: Script = async function* ({ signal }) {
  yield content('on and on');
  if (!signal.aborted) await once(signal, 'abort');
};

const running: RunningServer[] = [];
cleanups.push(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

export async function serve(
  engine: Engine | Promise<Engine>,
  options: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  const server = await startServer(engine, {
    host: '127.0.0.1',
    port: 0,
    queueLimit: 4,
    requestTimeoutMs: 10_000,
    ...options,
  });
  running.push(server);
  return server;
}

export function clientOf(server: RunningServer, apiKey = 'none'): OpenAI {
  return new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
}

export function post(
  server: RunningServer,
  body: unknown,
  init: RequestInit = {},
  path = '/v1/chat/completions',
): Promise<Response> {
  const sent = typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  return fetch(`${server.url}${path}`, { method: 'POST', headers, body: sent, ...init });
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into errors of any shape
export async function errorOf(response: Response): Promise<any> {
  const { error } = (await response.json()) as { error: unknown };
  return error;
}

/** A token of one code point with probability one half, and another token. */
function scoreOf(text: string, top = 1): TokenScore {
  const token = { token: text.codePointAt(0) as number, text, logprob: Math.log(0.5) };
  const other = { token: 33, text: '!', logprob: Math.log(0.25) };
  return { ...token, top: [token, other].slice(0, top) };
}

/** Scores what it is asked to score of prompt and reply, one code point per token. */
export const SCORED: Script = async function* ({ prompt, options }) {
  const { promptFrom, reply = false, top = 0 } = options.scores ?? {};
  if (promptFrom !== undefined && 'tokens' in prompt) {
    const texts = prompt.tokens.slice(promptFrom).map((token) => String.fromCodePoint(token));
    yield { type: 'prompt', scores: texts.map((text) => scoreOf(text, top)) };
  }
  for (const text of options.maxTokens === 0 ? [] : ['é', 'x']) {
    yield { ...content(text), ...(reply && { scores: [scoreOf(text, top)] }) } as GenerateEvent;
  }
  yield END;
};

/** Replies with its seed. */
export const SEED: Script = async function* ({ options }) {
  yield content(`seed ${options.seed}`);
  yield END;
};

/** The events of a streamed reply. */
export async function chunksOf(server: RunningServer, body: object, path?: string) {
  const text = await (await post(server, { ...body, stream: true }, {}, path)).text();
  const data = text.split('\n\n').flatMap((event) => (event.startsWith('data: {') ? [event.slice(6)] : []));
  // biome-ignore lint/suspicious/noExplicitAny: chunks of any shape are looked into
  return data.map((line): any => JSON.parse(line));
}
