// The paths of the server and what each does with a request, over an engine that may still be loading.

import { randomInt, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireKey, requireLoopbackHost } from './access.js';
import { openAdmission, shuttingDown } from './admission.js';
import { ApiError, unknownModel } from './api-error.js';
import { answer, answerError, answerText, bodyLimitBytes, readJson } from './body.js';
import { CHAT_REPLY } from './chat-reply.js';
import { readChatRequest } from './chat-request.js';
import { type Engine, EngineError, type GenerateOptions, type Usage } from './engine-contract.js';
import { openMetrics, type RequestRecord } from './metrics.js';
import { MOST_SEED } from './parameters.js';
import { fingerprintOf, type ReplyFormat, replyInEvents, replyWhole, sumOf } from './replies.js';

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
export const FACTS_KEY = 'agentworldbench';
/** Carries the seed of a reply, given or drawn, so that it can be asked for again; further choices count up from it. */
export const SEED_HEADER = 'x-seed';

const PING_MS = 15_000;
const MOST_TIMER_MS = 2 ** 31 - 1;
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
  readonly calls: readonly {
    readonly messages: Parameters<Engine['generate']>[0];
    readonly options: GenerateOptions;
  }[];
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
    const served = [facts.name, ...aliases];
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
      answer(response, 200, { object: 'list', data: served.map(entry) });
      return;
    }
    if (!served.includes(name)) throw unknownModel(name, served);
    answer(response, 200, entry(name));
  }

  async function chat(visit: Visit): Promise<void> {
    const { facts } = loaded();
    const {
      messages,
      options: sampling,
      ...asked
    } = readChatRequest(await bodyOf(visit), {
      models: [facts.name, ...aliases],
      thinkingBudget: options.thinkingBudget ?? Number.POSITIVE_INFINITY,
      seed: randomInt(MOST_SEED + 1),
    });
    await reply(visit, { ...asked, format: CHAT_REPLY, calls: [{ messages, options: sampling }] });
  }

  function bodyOf({ request }: Visit): Promise<unknown> {
    return readJson(request, bodyLimitBytes(loaded().facts.contextSize));
  }

  async function reply(visit: Visit, { calls, format, stream, includeUsage }: Asked): Promise<void> {
    const { facts } = loaded();
    const { response, signal } = visit;
    await admission.admit(calls.length, facts.slots, async () => {
      const head = {
        id: `${format.idPrefix}${randomUUID()}`,
        created: nowS(),
        model: facts.name,
        system_fingerprint: fingerprintOf(facts),
      };
      const [first] = calls;
      if (first !== undefined) response.setHeader(SEED_HEADER, first.options.seed);
      const choices = calls.map((call) => loaded().generate(call.messages, call.options, signal));
      const replying = { format, head, choices, prompts: 1 };
      visit.usages = stream
        ? await replyInEvents(response, replying, {
            includeUsage,
            pingIntervalMs: options.pingIntervalMs ?? PING_MS,
            errorOf: (error) => apiErrorOf(error, signal),
          })
        : await replyWhole(response, replying);
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
  response.setTimeout(Math.min(timeoutMs, MOST_TIMER_MS), () => response.destroy());
  await new Promise<void>((resolve) => {
    response.once('finish', resolve);
    response.once('close', resolve);
  });
}

function refusalOf({ refusal }: EngineError): ApiError {
  if (refusal.reason === 'invalid-request') return new ApiError(400, refusal.message, 'invalid_value', refusal.param);
  const message = `the prompt contains ${refusal.promptTokens} tokens, but the model's maximum context length is ${refusal.contextSize} tokens; shorten it, or serve with a larger --context`;
  return new ApiError(400, message, 'context_length_exceeded', 'messages');
}
