// The server from listening to closing: each request is let in, handed to its route, answered, counted, and waited for at the end.

import { randomInt } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import type { Engine, Usage } from '../engine-contract.js';
import { readDetokenizeRequest, readTokenizeRequest } from '../request/completion-request.js';
import { MOST_SEED } from '../request/parameters.js';
import { ApiError, invalid, shuttingDown, toldOf, unknownModel } from './api-error.js';
import { answer, answerError, answerText, bodyLimitBytes, readJson } from './body.js';
import { openMetrics, type RequestRecord } from './metrics.js';
import {
  openPort,
  patienceOf,
  refuseBrokenRequest,
  requireKey,
  requireKeyOffLoopback,
  requireLoopbackHost,
} from './port.js';
import { type Asked, chatAsked, completionAsked, reply, sumOf } from './replies.js';

export interface ServerOptions {
  /** Without an API key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly apiKey?: string | undefined;
  /** Names that stand for the served model beside its own. */
  readonly aliases?: readonly string[];
  /** Requests that may wait for a slot, beside those that have one. */
  readonly queueLimit: number;
  /** For a request to arrive, head and body, and for a client to take the rest of a reply that has ended. */
  readonly requestTimeoutMs: number;
  /** Silence on a stream after which a comment is sent, so that neither clients nor proxies take it for dead. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Most tokens of thinking in any reply; unlimited where absent. */
  readonly thinkingBudget?: number | undefined;
  /** Told what clients are not: why the engine failed. */
  readonly onError?: (error: unknown) => void;
  /** Told of every request that has ended; never what was asked or answered. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
}

export interface RunningServer {
  /** Without a path: chat completions are at `/v1/chat/completions` below it. */
  readonly url: string;
  /**
   * Takes no more requests, lets those under way end for `drainMs`, then aborts them; resolves when every connection is closed.
   * A further call with less time shortens the wait. The engine stays open.
   */
  close(drainMs: number): Promise<void>;
}

/** How long aborted requests may take to tell their clients. */
const GRACE_MS = 1_000;

/**
 * Starts to listen. While `engine` is a promise the server answers 503 and `/health` says so; what it rejects with is the caller's.
 * Throws a UserError where the port is taken (69) or the address cannot be used or is open to others without a key (2).
 */
export async function startServer(engine: Engine | Promise<Engine>, options: ServerOptions): Promise<RunningServer> {
  requireKeyOffLoopback(options.host, options.apiKey ?? '');
  const desk = new Desk(engine, options);
  const underWay = new Set<AbortController>();
  const server = createServer(patienceOf(options.requestTimeoutMs), async (request, response) => {
    const abort = new AbortController();
    underWay.add(abort);
    response.on('close', () => abort.abort());
    await desk.serve(request, response, abort.signal);
    underWay.delete(abort);
    closeIfIdle();
  });
  const closeIfIdle = () => {
    if (desk.isDraining && underWay.size === 0) server.closeAllConnections();
  };
  server.on('clientError', refuseBrokenRequest);
  const url = await openPort(server, options, { address: '--host', port: '--port' });
  server.on('error', (error) => options.onError?.(error));
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  return {
    url,
    close(drainMs) {
      desk.isDraining = true;
      server.close();
      closeIfIdle();
      const late = setTimeout(
        () => {
          for (const abort of underWay) abort.abort();
          setTimeout(() => server.closeAllConnections(), GRACE_MS).unref();
        },
        Math.min(drainMs, LONGEST_TIMER_MS),
      );
      void closed.then(() => clearTimeout(late));
      return closed;
    },
  };
}

/** The status that logs use for a client that left before it was answered. */
const CLIENT_LEFT = 499;
/** The key of `/v1/models` under which what scores depend on stands. */
const FACTS_KEY = 'agentworldbench';
/** Seconds. */
const RETRY_AFTER = { 'retry-after': '5' };
/** Single models stand below their list. */
const MODELS = '/v1/models';
/** The methods that each path takes. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['/health', 'GET, HEAD'],
  ['/metrics', 'GET, HEAD'],
  [MODELS, 'GET, HEAD'],
  ['/v1/chat/completions', 'POST'],
  ['/v1/completions', 'POST'],
  ['/tokenize', 'POST'],
  ['/detokenize', 'POST'],
]);

/** What all requests share: the engine, which may still be loading, how many are taken, and their counts. */
class Desk {
  /** Set when no more requests for replies are taken. */
  isDraining = false;
  readonly #options: ServerOptions;
  readonly #metrics = openMetrics();
  readonly #createdS = Math.floor(Date.now() / 1_000);
  /** Undefined while it is loading, and where that failed. */
  #loaded: Engine | undefined;
  /** Places taken and not yet given back: a slot, or a wait for one. */
  #admitted = 0;

  constructor(engine: Engine | Promise<Engine>, options: ServerOptions) {
    this.#options = options;
    const loaded = (opened: Engine) => {
      this.#loaded = opened;
    };
    Promise.resolve(engine).then(loaded, () => {});
  }

  /** Serves one request to its end: when the client has the answer or is gone, and it is counted. */
  async serve(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { onError, onRequest, requestTimeoutMs } = this.#options;
    const startMs = performance.now();
    const path = /^[^?]*/.exec(request.url ?? '')?.[0] ?? '';
    const name = path.startsWith(`${MODELS}/`) ? MODELS : path;
    let usages: readonly Usage[] = [];
    // Writing to a client that is gone is no event worth more than its closing.
    response.on('error', () => {});
    try {
      this.#letIn(request, path, name);
      usages = (await this.#answer(name, path, request, response, signal)) ?? [];
    } catch (error) {
      answerError(response, toldOf(error, signal, onError));
    }
    await taken(response, requestTimeoutMs);
    const record: RequestRecord = {
      method: request.method ?? '',
      path,
      status: response.headersSent ? response.statusCode : CLIENT_LEFT,
      durationMs: performance.now() - startMs,
      usage: usages.length === 0 ? undefined : sumOf(usages),
    };
    this.#metrics.count(METHODS.has(name) ? name : 'other', record);
    onRequest?.(record);
  }

  /** Throws an ApiError: 403 or 401 for a request that may not ask, 404 for another path, 405 for another method. */
  #letIn(request: IncomingMessage, path: string, name: string): void {
    const { apiKey = '' } = this.#options;
    if (apiKey === '') requireLoopbackHost(request);
    const methods = METHODS.get(name);
    if (methods === undefined) {
      throw new ApiError(404, `there is no ${path} here, but ${[...METHODS.keys()].join(', ')}`, 'unknown_path');
    }
    if (name !== '/health') requireKey(request, apiKey);
    if (methods.split(', ').includes(request.method ?? '')) return;
    const message = `${path} takes ${methods}, not ${request.method}`;
    throw new ApiError(405, message, 'method_not_allowed', null, { allow: methods });
  }

  /** Resolves with the usage of each choice of a reply. */
  async #answer(
    name: string,
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<readonly Usage[] | undefined> {
    const { slots = 0, contextSize = 0 } = this.#loaded?.facts ?? {};
    const busy = this.#loaded?.busy ?? 0;
    const waiting = Math.max(0, this.#admitted - busy);
    if (name === '/health') {
      const status = this.isDraining ? 'draining' : this.#loaded === undefined ? 'loading' : 'ok';
      return void answer(response, status === 'ok' ? 200 : 503, { status, busy, waiting, slots });
    }
    if (name === '/metrics') {
      const text = this.#metrics.text({
        slots,
        slots_busy: busy,
        requests_waiting: waiting,
        context_tokens: contextSize,
      });
      return void answerText(response, 200, 'text/plain; version=0.0.4; charset=utf-8', text);
    }
    const engine = this.#loaded;
    if (engine === undefined) {
      throw new ApiError(503, 'the model is still being loaded', 'model_loading', null, RETRY_AFTER);
    }
    const { aliases = [], thinkingBudget = Number.POSITIVE_INFINITY } = this.#options;
    const models = [engine.facts.name, ...aliases];
    if (name === MODELS) return void answer(response, 200, this.#modelsAt(path, models, engine));
    const body = await readJson(request, bodyLimitBytes(contextSize));
    if (name === '/tokenize') {
      const { prompt, options, withTexts } = readTokenizeRequest(body, models);
      const tokens = await engine.tokenize(prompt, options);
      const token_strs = withTexts ? tokens.map((token) => engine.detokenize([token])) : null;
      return void answer(response, 200, { count: tokens.length, max_model_len: contextSize, tokens, token_strs });
    }
    if (name === '/detokenize') {
      return void answer(response, 200, { prompt: engine.detokenize(readDetokenizeRequest(body, models)) });
    }
    const defaults = { models, thinkingBudget, seed: randomInt(MOST_SEED + 1) };
    const read = name === '/v1/completions' ? completionAsked : chatAsked;
    const asked = await read(engine, body, defaults);
    return this.#inPlace(asked, engine, () => reply(engine, asked, response, { ...this.#options, signal }));
  }

  /** All names of the model, or one where the path has it. */
  #modelsAt(path: string, models: readonly string[], { facts }: Engine): unknown {
    const entry = (id: string) => ({
      id,
      object: 'model',
      created: this.#createdS,
      owned_by: FACTS_KEY,
      root: facts.name,
      max_model_len: facts.contextSize,
      [FACTS_KEY]: facts,
    });
    const asked = path.slice(MODELS.length + 1);
    if (asked === '') return { object: 'list', data: models.map(entry) };
    const name = models.find((model) => model === asked || encodeURIComponent(model) === asked);
    if (name === undefined) throw unknownModel(asked, models);
    return entry(name);
  }

  /**
   * Does the work of a reply whose choices need a slot each, one after the other or at the same time. Throws an ApiError: 503 when
   * draining, 429 when the queue is full, 400 where it never has room for so many.
   */
  async #inPlace<T>({ calls }: Asked, { facts: { slots } }: Engine, work: () => Promise<T>): Promise<T> {
    const places = slots + this.#options.queueLimit;
    if (this.isDraining) throw shuttingDown();
    if (calls.length > places) {
      throw invalid(
        `${calls.length} choices are more than the ${places} places of this server, those to wait included`,
        'n',
      );
    }
    if (this.#admitted + calls.length > places) {
      const message = `${this.#admitted} of ${places} places are taken by requests that are served or wait; try again later`;
      throw new ApiError(429, message, 'queue_full', null, RETRY_AFTER);
    }
    this.#admitted += calls.length;
    try {
      return await work();
    } finally {
      this.#admitted -= calls.length;
    }
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
