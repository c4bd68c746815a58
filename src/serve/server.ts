// An engine behind OpenAI's wire format: chat completions, models and health over plain HTTP.

import { createHash, randomInt, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { type AddressInfo, isIPv4, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { EXIT, UserError } from '../errors.js';
import { ApiError, type ChatRequest, MOST_SEED, readChatRequest, unknownModel } from './chat-request.js';
import { type Engine, EngineError, type GenerateEvent, type ModelFacts } from './engine-contract.js';

export interface ServerOptions {
  /** Without an API key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly apiKey?: string;
  /** Names that stand for the served model beside its own. */
  readonly aliases?: readonly string[];
  /** Requests that may wait for a slot, beside those that have one. */
  readonly queueLimit: number;
  readonly bodyLimitBytes: number;
  /** For a request to arrive, head and body, and for a client to take the rest of a reply that has ended. */
  readonly requestTimeoutMs: number;
  /** Silence on a stream after which a comment is sent, so that neither clients nor proxies take it for dead. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Most tokens of thinking in any reply; unlimited where absent. */
  readonly thinkingBudget?: number;
  /** Told what clients are not: why the engine failed. */
  readonly onError?: (error: unknown) => void;
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

/** The key of `/v1/models` under which what scores depend on stands. */
export const FACTS_KEY = 'agentworldbench';
/** Carries the seed of a reply, given or drawn, so that it can be asked for again. */
export const SEED_HEADER = 'x-seed';

/** Longest head of a request that does not arrive at once, and longest idle connection: longer than clients keep one for reuse. */
const HEAD_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;
const PING_MS = 15_000;
/** How long aborted requests may take to tell their clients. */
const GRACE_MS = 1_000;
const MOST_TIMER_MS = 2 ** 31 - 1;
/** Unread text of a streamed reply above which its client is taken for gone. Waiting for it would hold up the whole batch. */
const MOST_UNREAD_BYTES = 16 * 2 ** 20;
const MOST_RETRY_AFTER_S = 30;

/** `signal` aborts when the client is gone, or when the server will not wait for the reply any longer. */
type Serve = (request: IncomingMessage, response: ServerResponse, signal: AbortSignal) => Promise<void> | void;

/**
 * Starts to listen. While `engine` is a promise the server answers 503 and `/health` says so; what it rejects with is the caller's.
 * Throws a UserError where the port is taken (69) or the address cannot be used or is open to others without a key (2).
 */
export async function startServer(engine: Engine | Promise<Engine>, options: ServerOptions): Promise<RunningServer> {
  requireKeyOffLoopback(options);
  const desk = openDesk(engine, options);
  const server = createServer(
    {
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: Math.min(HEAD_MS, options.requestTimeoutMs),
      connectionsCheckingInterval: Math.min(1_000, options.requestTimeoutMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    desk.handle,
  );
  server.on('clientError', refuseBrokenRequest);
  const url = await listen(server, options);
  server.on('error', (error) => options.onError?.(error));
  return { url, close: closer(server, desk) };
}

// --- the process's side: listening and closing ---

function isLoopback(name: string): boolean {
  const host = name.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
  );
}

function requireKeyOffLoopback({ host, apiKey = '' }: ServerOptions): void {
  if (!/^[\x21-\x7e]*$/.test(apiKey))
    throw new UserError('--api-key may hold printable ASCII characters alone, without spaces');
  if (apiKey !== '' || isLoopback(host)) return;
  throw new UserError(
    `refusing to listen on ${host === '' ? 'every address' : host}, where others can reach it, without a key; give one with --api-key, or listen on 127.0.0.1`,
  );
}

async function listen(server: Server, { host, port }: ServerOptions): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
    server.listen({ host, port }, resolve);
  });
  server.removeAllListeners('error');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${(server.address() as AddressInfo).port}`;
}

function listenError({ code, message }: NodeJS.ErrnoException, host: string, port: number): Error {
  const other = 'name another with --port, or 0 for a free one';
  if (code === 'EADDRINUSE') return new UserError(`port ${port} of ${host} is in use; ${other}`, EXIT.unavailable);
  if (code === 'EACCES') return new UserError(`port ${port} needs more rights than this process has; ${other}`);
  return new UserError(`cannot listen on ${host}, port ${port}: ${code ?? message}; check --host and --port`);
}

function closer(server: Server, desk: Desk): RunningServer['close'] {
  let closed: Promise<void> | undefined;
  const timers: NodeJS.Timeout[] = [];
  const later = (ms: number, act: () => void) => timers.push(setTimeout(act, Math.min(ms, MOST_TIMER_MS)));
  async function finish(): Promise<void> {
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    await desk.idle;
    for (const timer of timers) clearTimeout(timer);
    server.closeAllConnections();
    await ended;
  }
  return (drainMs) => {
    desk.drain();
    later(drainMs, () => {
      desk.abort();
      later(GRACE_MS, desk.giveUp);
    });
    closed ??= finish();
    return closed;
  };
}

/** What is no HTTP, or did not arrive in time, never becomes a request. */
function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new ApiError(408, 'the request did not arrive in time', 'request_timeout')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? new ApiError(431, "the request's head is too large", 'head_too_large')
        : new ApiError(400, 'this is not HTTP', 'invalid_http');
  const body = JSON.stringify(refusal.body);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

// --- the requests' side ---

interface Desk {
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Takes no more chat requests. */
  drain(): void;
  /** Aborts what is under way. */
  abort(): void;
  /** Waits no longer. */
  giveUp(): void;
  /** Resolves when draining and nothing is under way, or on `giveUp`. */
  readonly idle: Promise<void>;
}

function openDesk(given: Engine | Promise<Engine>, options: ServerOptions): Desk {
  const createdS = nowS();
  const { apiKey = '', aliases = [] } = options;
  const underWay = new Set<AbortController>();
  let engine: Engine | undefined;
  let draining = false;
  /** Requests whose body was accepted and whose reply has not ended: they have a slot or wait for one. */
  let admitted = 0;
  let usualMs = 0;
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

  const routes: Readonly<Record<string, { readonly method: string; readonly serve: Serve; readonly keyless?: true }>> =
    {
      '/health': { method: 'GET', serve: health, keyless: true },
      '/v1/models': { method: 'GET', serve: models },
      '/v1/chat/completions': { method: 'POST', serve: chat },
    };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const abort = new AbortController();
    underWay.add(abort);
    response.on('close', () => abort.abort());
    // Writing to a client that is gone is no event worth more than its closing.
    response.on('error', () => {});
    try {
      await serverFor(request)(request, response, abort.signal);
    } catch (error) {
      answerError(response, apiErrorOf(error, abort.signal));
    }
    await taken(response, options.requestTimeoutMs);
    underWay.delete(abort);
    if (draining && underWay.size === 0) giveUp();
  }

  function serverFor(request: IncomingMessage): Serve {
    if (apiKey === '') requireLoopbackHost(request);
    const path = pathOf(request);
    const route = routes[path.startsWith('/v1/models/') ? '/v1/models' : path];
    if (route === undefined) {
      throw new ApiError(404, `there is no ${path} here, but ${Object.keys(routes).join(', ')}`, 'unknown_path');
    }
    if (!route.keyless) requireKey(request, apiKey);
    if (request.method === route.method) return route.serve;
    const message = `${path} takes ${route.method}, not ${request.method}`;
    throw new ApiError(405, message, 'method_not_allowed', null, { allow: route.method });
  }

  function loaded(): Engine {
    if (engine !== undefined) return engine;
    throw new ApiError(503, 'the model is still being loaded', 'model_loading', null, { 'retry-after': '5' });
  }

  function shuttingDown(): ApiError {
    return new ApiError(503, 'the server is shutting down', 'shutting_down', null, { connection: 'close' });
  }

  function apiErrorOf(error: unknown, signal: AbortSignal): ApiError {
    if (error instanceof ApiError) return error;
    if (error instanceof EngineError) return refusalOf(error);
    if (signal.aborted) return shuttingDown();
    options.onError?.(error);
    return new ApiError(500, "the engine failed; the server's own messages say why", 'engine_failed');
  }

  function health(_: IncomingMessage, response: ServerResponse): void {
    const status = draining ? 'draining' : engine === undefined ? 'loading' : 'ok';
    const busy = engine?.busy ?? 0;
    const waiting = Math.max(0, admitted - busy);
    answer(response, status === 'ok' ? 200 : 503, { status, busy, waiting, slots: engine?.facts.slots ?? 0 });
  }

  function models(request: IncomingMessage, response: ServerResponse): void {
    const { facts } = loaded();
    const model = { id: facts.name, object: 'model', created: createdS, owned_by: FACTS_KEY, [FACTS_KEY]: facts };
    const name = decoded(pathOf(request).slice('/v1/models/'.length));
    if (name === '') {
      answer(response, 200, { object: 'list', data: [model] });
      return;
    }
    const served = [facts.name, ...aliases];
    if (!served.includes(name)) throw unknownModel(name, served);
    answer(response, 200, model);
  }

  async function chat(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { facts } = loaded();
    const asked = readChatRequest(await readJson(request, options.bodyLimitBytes), {
      models: [facts.name, ...aliases],
      thinkingBudget: options.thinkingBudget ?? Number.POSITIVE_INFINITY,
      seed: randomInt(MOST_SEED + 1),
    });
    await admit(facts, () => reply(asked, facts, response, signal));
  }

  async function admit(facts: ModelFacts, work: () => Promise<void>): Promise<void> {
    if (draining) throw shuttingDown();
    if (admitted >= facts.slots + options.queueLimit) {
      // About when the next slot is free: a reply's usual time, shared by the slots.
      const retryAfterS = Math.min(MOST_RETRY_AFTER_S, Math.max(1, Math.ceil(usualMs / facts.slots / 1_000)));
      const message = `all ${facts.slots} slots work and ${options.queueLimit} requests wait already; try again later`;
      throw new ApiError(429, message, 'queue_full', null, { 'retry-after': String(retryAfterS) });
    }
    admitted += 1;
    const startMs = performance.now();
    try {
      await work();
    } finally {
      admitted -= 1;
      usualMs += (performance.now() - startMs - usualMs) / 5;
    }
  }

  async function reply(
    asked: ChatRequest,
    facts: ModelFacts,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const events = loaded().generate(asked.messages, asked.options, signal);
    const head: ReplyHead = {
      id: `chatcmpl-${randomUUID()}`,
      created: nowS(),
      model: facts.name,
      system_fingerprint: fingerprintOf(facts),
    };
    response.setHeader(SEED_HEADER, asked.options.seed);
    if (!asked.stream) {
      answer(response, 200, await wholeReply(events, head));
      return;
    }
    const stream = openStream(response, head, asked.includeUsage);
    // Also before the first token: a prompt that waits or is read for minutes outlasts the patience of many clients.
    const pings = setInterval(stream.ping, options.pingIntervalMs ?? PING_MS);
    try {
      for await (const event of events) stream.send(event);
      stream.end();
    } catch (error) {
      if (!response.headersSent) throw error;
      stream.fail(apiErrorOf(error, signal));
    } finally {
      clearInterval(pings);
    }
  }

  return {
    handle: (request, response) => void handle(request, response),
    drain() {
      draining = true;
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

// --- who may ask ---

/** A web page can make a browser call a name of its own that leads to 127.0.0.1; the Host header tells (DNS rebinding). */
function requireLoopbackHost(request: IncomingMessage): void {
  const name = /^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(request.headers.host ?? '')?.[1] ?? '';
  if (isLoopback(name)) return;
  const message = 'without an API key this server answers to localhost and loopback addresses alone';
  throw new ApiError(403, message, 'foreign_host');
}

function requireKey(request: IncomingMessage, apiKey: string): void {
  if (apiKey === '') return;
  const given = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  // Hashes are of one length, and comparing them tells nothing of where the keys differ.
  const hash = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(hash(given), hash(apiKey))) return;
  const message = given === '' ? "an API key is needed, as 'Authorization: Bearer …'" : 'incorrect API key';
  throw new ApiError(401, message, 'invalid_api_key', null, { 'www-authenticate': 'Bearer' });
}

// --- bodies ---

async function readJson(request: IncomingMessage, limitBytes: number): Promise<unknown> {
  // A page of another origin may send plain text unasked; JSON makes its browser ask first, and nothing here says yes.
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new ApiError(415, "the body must be JSON, with 'Content-Type: application/json'", 'unsupported_media_type');
  }
  const bytes = await readBody(request, limitBytes);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiError(400, 'the body is not UTF-8', 'invalid_json');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(400, 'the body is not JSON', 'invalid_json');
  }
}

/** Above the limit the rest is read and thrown away, since a client that is still sending would not see the answer. */
function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const refuse = () =>
      reject(new ApiError(413, `the body is larger than the ${limitBytes} bytes allowed`, 'body_too_large'));
    if (Number(request.headers['content-length']) > limitBytes) refuse();
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limitBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      refuse();
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

function answerError(response: ServerResponse, error: ApiError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  answer(response, error.status, error.body, error.headers);
}

function refusalOf({ refusal }: EngineError): ApiError {
  if (refusal.reason === 'invalid-request') return new ApiError(400, refusal.message, 'invalid_value', refusal.param);
  const message = `the prompt contains ${refusal.promptTokens} tokens, but the model's maximum context length is ${refusal.contextSize} tokens; shorten it, or serve with a larger --context`;
  return new ApiError(400, message, 'context_length_exceeded', 'messages');
}

// --- replies ---

interface ReplyHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly system_fingerprint: string;
}

type End = Extract<GenerateEvent, { type: 'end' }>;

/** Changes whenever something changes that replies depend on. */
function fingerprintOf({ name: _, file: __, ...facts }: ModelFacts): string {
  return `fp_${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 12)}`;
}

function usageOf({ usage }: End): Readonly<Record<string, unknown>> {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

async function wholeReply(events: AsyncIterable<GenerateEvent>, head: ReplyHead): Promise<unknown> {
  const texts = { reasoning: '', content: '' };
  let end: End | undefined;
  for await (const event of events) {
    if (event.type === 'end') end = event;
    else texts[event.channel] += event.text;
  }
  if (end === undefined) throw new Error('the engine ended a reply without saying why');
  const { reasoning, content } = texts;
  const message = {
    role: 'assistant',
    content,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    refusal: null,
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: end.finishReason };
  return { ...head, object: 'chat.completion', choices: [choice], usage: usageOf(end) };
}

interface ReplyStream {
  send(event: GenerateEvent): void;
  /** After the last event. */
  end(): void;
  /** In the middle: an error event, and nothing that would look like an end. */
  fail(error: ApiError): void;
  ping(): void;
}

function openStream(response: ServerResponse, head: ReplyHead, includeUsage: boolean): ReplyStream {
  let end: End | undefined;

  function write(text: string): void {
    if (response.destroyed) return;
    if (!response.headersSent) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
    }
    response.write(text);
    if (response.writableLength > MOST_UNREAD_BYTES) response.destroy();
  }

  function writeChunk(choices: readonly unknown[], usage: unknown = null): void {
    const chunk = { ...head, object: 'chat.completion.chunk', choices, ...(includeUsage && { usage }) };
    write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  function writeDelta(delta: unknown, finishReason: string | null = null): void {
    writeChunk([{ index: 0, delta, logprobs: null, finish_reason: finishReason }]);
  }

  let isFirst = true;
  return {
    send(event) {
      if (isFirst) writeDelta({ role: 'assistant', content: '' });
      isFirst = false;
      if (event.type === 'end') end = event;
      else writeDelta({ [event.channel === 'reasoning' ? 'reasoning_content' : 'content']: event.text });
    },
    end() {
      if (end === undefined) throw new Error('the engine ended a reply without saying why');
      writeDelta({}, end.finishReason);
      if (includeUsage) writeChunk([], usageOf(end));
      write('data: [DONE]\n\n');
      response.end();
    },
    fail(error) {
      write(`data: ${JSON.stringify(error.body)}\n\n`);
      response.end();
    },
    ping: () => write(': ping\n\n'),
  };
}
