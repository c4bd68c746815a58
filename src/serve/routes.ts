// The paths of the server and what each does with a request, over an engine that may still be loading.

import { randomInt, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LONGEST_TIMER_MS } from '../timers.js';
import { requireKey, requireLoopbackHost } from './access.js';
import { openAdmission, shuttingDown } from './admission.js';
import { ApiError, unknownModel } from './api-error.js';
import { answer, answerError, answerText, bodyLimitBytes, readJson } from './body.js';
import { CHAT_REPLY } from './chat-reply.js';
import { readChatRequest } from './chat-request.js';
import { completionReply, type Echo } from './completion-reply.js';
import { type CompletionRequest, type RawPrompt, readCompletionRequest } from './completion-request.js';
import {
  type Engine,
  EngineError,
  type EnginePrompt,
  type GenerateOptions,
  type Tool,
  type Usage,
} from './engine-contract.js';
import { openMetrics, type RequestRecord } from './metrics.js';
import { MOST_SEED, type ServerDefaults } from './parameters.js';
import { fingerprintOf, type ReplyFormat, replyInEvents, replyWhole, sumOf } from './replies.js';
import { readDetokenizeRequest, readTokenizeRequest } from './token-requests.js';
import { readToolCalls } from './tool-calls.js';

export interface DeskOptions {
  readonly apiKey?: string;
  /** Names that stand for the served model beside its own. */
  readonly aliases?: readonly string[];
  /** Requests that may wait for a slot, beside those that have one. */
  readonly queueLimit: number;
  /** For a request to arrive, head and body, and for a client to take the rest of a reply that has ended. */
  readonly requestTimeoutMs: number;
  /** Silence on a stream after which a comment is sent, so that neither clients nor proxies take it for dead. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Most tokens of thinking in any reply; unlimited where absent. */
  readonly thinkingBudget?: number;
  /** Told what clients are not: why the engine failed. */
  readonly onError?: (error: unknown) => void;
  /** Told of every request that has ended; never what was asked or answered. */
  readonly onRequest?: (record: RequestRecord) => void;
}

export interface Desk {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes no more requests for replies. */
  drain(): void;
  /** Aborts what is under way. */
  abort(): void;
  /** Waits no longer. */
  giveUp(): void;
  /** Resolves when draining and nothing is under way, or on `giveUp`. */
  readonly idle: Promise<void>;
}

/** The key of `/v1/models` under which what scores depend on stands. */
const FACTS_KEY = 'agentworldbench';
/** Carries the seed of a reply, given or drawn, so that it can be asked for again; further choices count up from it. */
const SEED_HEADER = 'x-seed';

const PING_MS = 15_000;
/** The status that logs use for a client that left before it was answered. */
const CLIENT_LEFT = 499;

/** A request and what is known of it while it is served. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  /** Aborts when the client is gone, or when the server will not wait for the reply any longer. */
  readonly signal: AbortSignal;
  /** Of each choice of a reply. */
  usages: readonly Usage[];
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly serve: (visit: Visit) => Promise<void> | void;
  readonly keyless?: true;
}

/** What is asked of the engine for one reply. */
interface Asked {
  readonly prompts: readonly { readonly prompt: EnginePrompt; readonly options: GenerateOptions }[];
  /** Choices for each prompt. */
  readonly n: number;
  readonly tools: readonly Tool[];
  readonly format: ReplyFormat;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

export function openDesk(given: Engine | Promise<Engine>, options: DeskOptions): Desk {
  const createdS = nowS();
  const { apiKey = '', aliases = [] } = options;
  const underWay = new Set<AbortController>();
  const admission = openAdmission(options.queueLimit);
  const metrics = openMetrics();
  let engine: Engine | undefined;
  let giveUp = () => {};
  const idle = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  Promise.resolve(given).then(
    (loaded) => {
      engine = loaded;
    },
    () => {},
  );

  const routes: Readonly<Record<string, Route>> = {
    '/health': { method: 'GET', serve: health, keyless: true },
    '/metrics': { method: 'GET', serve: showMetrics },
    '/v1/models': { method: 'GET', serve: models },
    '/v1/chat/completions': { method: 'POST', serve: chat },
    '/v1/completions': { method: 'POST', serve: complete },
    '/tokenize': { method: 'POST', serve: tokenize },
    '/detokenize': { method: 'POST', serve: detokenize },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startMs = performance.now();
    const abort = new AbortController();
    underWay.add(abort);
    const visit: Visit = { request, response, path: pathOf(request), signal: abort.signal, usages: [] };
    response.on('close', () => abort.abort());
    // Writing to a client that is gone is no event worth more than its closing.
    response.on('error', () => {});
    const route = Object.hasOwn(routes, routeName(visit.path)) ? routes[routeName(visit.path)] : undefined;
    try {
      await serverFor(visit, route)(visit);
    } catch (error) {
      answerError(response, apiErrorOf(error, abort.signal));
    }
    await taken(response, options.requestTimeoutMs);
    underWay.delete(abort);
    if (admission.draining && underWay.size === 0) giveUp();
    const record: RequestRecord = {
      method: request.method ?? '',
      path: visit.path,
      status: response.headersSent ? response.statusCode : CLIENT_LEFT,
      durationMs: performance.now() - startMs,
      usage: visit.usages.length === 0 ? undefined : sumOf(visit.usages),
    };
    metrics.count(route === undefined ? 'other' : routeName(visit.path), record);
    options.onRequest?.(record);
  }

  function serverFor({ request, path }: Visit, route: Route | undefined): Route['serve'] {
    if (apiKey === '') requireLoopbackHost(request);
    if (route === undefined) {
      throw new ApiError(404, `there is no ${path} here, but ${Object.keys(routes).join(', ')}`, 'unknown_path');
    }
    if (!route.keyless) requireKey(request, apiKey);
    const methods = route.method === 'GET' ? ['GET', 'HEAD'] : [route.method];
    if (methods.includes(request.method ?? '')) return route.serve;
    const message = `${path} takes ${methods.join(' and ')}, not ${request.method}`;
    throw new ApiError(405, message, 'method_not_allowed', null, { allow: methods.join(', ') });
  }

  function loaded(): Engine {
    if (engine !== undefined) return engine;
    throw new ApiError(503, 'the model is still being loaded', 'model_loading', null, { 'retry-after': '5' });
  }

  function apiErrorOf(error: unknown, signal: AbortSignal): ApiError {
    if (error instanceof ApiError) return error;
    if (error instanceof EngineError) return refusalOf(error);
    if (signal.aborted) return shuttingDown();
    options.onError?.(error);
    return new ApiError(500, "the engine failed; the server's own messages say why", 'engine_failed');
  }

  function gauges() {
    const busy = engine?.busy ?? 0;
    const { slots = 0, contextSize = 0 } = engine?.facts ?? {};
    return { busy, waiting: Math.max(0, admission.admitted - busy), slots, contextSize };
  }

  function health({ response }: Visit): void {
    const status = admission.draining ? 'draining' : engine === undefined ? 'loading' : 'ok';
    const { busy, waiting, slots } = gauges();
    answer(response, status === 'ok' ? 200 : 503, { status, busy, waiting, slots });
  }

  function showMetrics({ response }: Visit): void {
    answerText(response, 200, 'text/plain; version=0.0.4; charset=utf-8', metrics.text(gauges()));
  }

  function models({ response, path }: Visit): void {
    const { facts } = loaded();
    const names = served().models;
    const entry = (id: string) => ({
      id,
      object: 'model',
      created: createdS,
      owned_by: FACTS_KEY,
      root: facts.name,
      max_model_len: facts.contextSize,
      [FACTS_KEY]: facts,
    });
    const name = decoded(path.slice('/v1/models/'.length));
    if (name === '') {
      answer(response, 200, { object: 'list', data: names.map(entry) });
      return;
    }
    if (!names.includes(name)) throw unknownModel(name, names);
    answer(response, 200, entry(name));
  }

  function served(): ServerDefaults {
    return {
      models: [loaded().facts.name, ...aliases],
      thinkingBudget: options.thinkingBudget ?? Number.POSITIVE_INFINITY,
      seed: randomInt(MOST_SEED + 1),
    };
  }

  function bodyOf({ request }: Visit): Promise<unknown> {
    return readJson(request, bodyLimitBytes(loaded().facts.contextSize));
  }

  async function chat(visit: Visit): Promise<void> {
    const { messages, options: sampling, ...asked } = readChatRequest(await bodyOf(visit), served());
    const prompts = [{ prompt: { messages, tools: asked.tools }, options: sampling }];
    await reply(visit, { ...asked, format: CHAT_REPLY, prompts });
  }

  async function complete(visit: Visit): Promise<void> {
    const asked = readCompletionRequest(await bodyOf(visit), served());
    const echoes: Echo[] = [];
    const prompts: Asked['prompts'][number][] = [];
    for (const prompt of asked.prompts) {
      const { echo, ...call } = await echoed(loaded(), prompt, asked);
      prompts.push(call);
      for (let choice = 0; choice < asked.n; choice++) echoes.push(echo);
    }
    const format = completionReply(echoes, asked.options.scores !== undefined);
    await reply(visit, { ...asked, tools: [], format, prompts });
  }

  async function tokenize(visit: Visit): Promise<void> {
    const { prompt, options: rendering, withTexts } = readTokenizeRequest(await bodyOf(visit), served().models);
    const { facts, detokenize, tokenize: tokensOf } = loaded();
    const tokens = await tokensOf(prompt, rendering);
    const texts = withTexts ? tokens.map((token) => detokenize([token])) : null;
    answer(visit.response, 200, {
      count: tokens.length,
      max_model_len: facts.contextSize,
      tokens,
      token_strs: texts,
    });
  }

  async function detokenize(visit: Visit): Promise<void> {
    const tokens = readDetokenizeRequest(await bodyOf(visit), served().models);
    answer(visit.response, 200, { prompt: loaded().detokenize(tokens) });
  }

  async function reply(visit: Visit, { prompts, n, tools, format, stream, includeUsage }: Asked): Promise<void> {
    const { facts } = loaded();
    const { response, signal } = visit;
    const calls = prompts.flatMap((call) =>
      Array.from({ length: n }, (_, choice) => ({ ...call, options: withSeed(call.options, choice) })),
    );
    await admission.admit(calls.length, facts.slots, async () => {
      const head = {
        id: `${format.idPrefix}${randomUUID()}`,
        created: nowS(),
        model: facts.name,
        system_fingerprint: fingerprintOf(facts),
      };
      const [first] = calls;
      if (first !== undefined) response.setHeader(SEED_HEADER, first.options.seed);
      // One choice that fails takes the others with it.
      const failing = new AbortController();
      const either = AbortSignal.any([signal, failing.signal]);
      const choices = calls.map((call) => {
        const events = loaded().generate(call.prompt, call.options, either);
        return tools.length === 0 ? events : readToolCalls(events, tools);
      });
      const replying = { format, head, choices, prompts: prompts.length };
      try {
        visit.usages = stream
          ? await replyInEvents(response, replying, {
              includeUsage,
              pingIntervalMs: options.pingIntervalMs ?? PING_MS,
              errorOf: (error) => apiErrorOf(error, signal),
            })
          : await replyWhole(response, replying);
      } finally {
        failing.abort();
      }
    });
  }

  return {
    handle: (request, response) => void handle(request, response),
    drain() {
      admission.drain();
      if (underWay.size === 0) giveUp();
    },
    abort() {
      for (const abort of underWay) abort.abort();
    },
    giveUp: () => giveUp(),
    idle,
  };
}

/** The choices of a prompt count up from its seed. */
function withSeed(options: GenerateOptions, choice: number): GenerateOptions {
  return { ...options, seed: (options.seed + choice) % (MOST_SEED + 1) };
}

/** A prompt, what of it is scored, and what the reply repeats of it. */
async function echoed(
  engine: Engine,
  prompt: RawPrompt,
  { echo, scoreFrom, options }: CompletionRequest,
): Promise<{ prompt: RawPrompt; options: GenerateOptions; echo: Echo }> {
  if (!echo) return { prompt, options, echo: { text: undefined, unscored: [] } };
  const tokens = await engine.tokenize(prompt, { templateArguments: {}, addGenerationPrompt: true });
  const text = 'text' in prompt ? prompt.text : engine.detokenize(tokens);
  const { scores } = options;
  if (scores === undefined) return { prompt: { tokens }, options, echo: { text, unscored: [] } };
  const promptFrom = Math.min(scoreFrom, tokens.length);
  const unscored = tokens.slice(0, promptFrom).map((token) => engine.detokenize([token]));
  return {
    prompt: { tokens },
    options: { ...options, scores: { ...scores, promptFrom } },
    echo: { text, unscored },
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] as string;
}

function routeName(path: string): string {
  return path.startsWith('/v1/models/') ? '/v1/models' : path;
}

function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Resolves when the reply is with the client or the client is gone. One that does not take it is cut off after `timeoutMs`. */
async function taken(response: ServerResponse, timeoutMs: number): Promise<void> {
  if (response.writableFinished || response.destroyed) return;
  response.setTimeout(Math.min(timeoutMs, LONGEST_TIMER_MS), () => response.destroy());
  await new Promise<void>((resolve) => {
    response.once('finish', resolve);
    response.once('close', resolve);
  });
}

function refusalOf({ refusal }: EngineError): ApiError {
  if (refusal.reason === 'invalid-request') return new ApiError(400, refusal.message, 'invalid_value', refusal.param);
  const count = `${refusal.more ? 'more than ' : ''}${refusal.promptTokens}`;
  const message = `the prompt contains ${count} tokens, but the model's maximum context length is ${refusal.contextSize} tokens; shorten it, or serve with a larger --context`;
  return new ApiError(400, message, 'context_length_exceeded', 'messages');
}
