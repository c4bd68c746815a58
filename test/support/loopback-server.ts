// A programmable OpenAI-compatible server on 127.0.0.1: it answers by a script, and records its requests.

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** One request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The parsed body; `{}` if there was none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  readonly body: any;
  /** The number of earlier requests for a reply. */
  readonly index: number;
}

/** A piece of a streamed reply. */
export interface Delta {
  readonly content?: unknown;
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly role?: string;
  readonly tool_calls?: unknown;
  /** Milliseconds before it is sent. */
  readonly waitMs?: number;
}

/** A model's reply, sent as JSON or as events as the request asks (or as `stream` says). */
export interface ModelAnswer {
  readonly content?: unknown;
  readonly reasoning?: string;
  /** The complete message, which replaces content and reasoning (not streamed). */
  readonly message?: Record<string, unknown>;
  /** `stop` if absent; null sends none. */
  readonly finishReason?: string | null;
  /** Counts derived from the request if absent; null sends none. */
  readonly usage?: Record<string, unknown> | null;
  readonly model?: string;
  /** Streamed pieces that replace content and reasoning. */
  readonly deltas?: readonly Delta[];
  /** Milliseconds before anything is sent. */
  readonly latencyMs?: number;
  readonly stream?: boolean;
  /** What follows the deltas instead of an end: silence, a closed connection, an ended body, `: ping` lines, or this event. */
  readonly ending?: 'stall' | 'reset' | 'cut-off' | 'heartbeats' | { readonly event: unknown };
  /** What follows finish_reason: silence instead of usage and the end. */
  readonly stallAfterFinish?: true;
}

/** Any other answer: an error, HTML, nonsense. A body that is not a string is sent as JSON. */
export interface PlainAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly latencyMs?: number;
}

/** `reset` closes the connection at once, `hang` never answers, `heartbeats` sends an event stream with only comments. */
export type Answer = ModelAnswer | PlainAnswer | 'reset' | 'hang' | 'heartbeats';
export type Handler = (request: SeenRequest) => Answer | Promise<Answer>;

export interface LoopbackServer {
  /** Base URL, ending in /v1. */
  readonly url: string;
  readonly port: number;
  /** Every request for a reply so far. Empty if recording is off. */
  readonly requests: readonly SeenRequest[];
  /** The number of requests for a reply so far, recorded or not. */
  readonly count: number;
  readonly inFlight: number;
  readonly maxInFlight: number;
  /** The number of connections accepted so far. */
  readonly connections: number;
  close(): Promise<void>;
}

/** An answer that depends only on the messages, so two runs over the same rows end equally. */
export function deterministicAnswer(messages: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(messages)).digest('hex').slice(0, 16);
  return `<predicted_observation>\nobserved ${hash}\n</predicted_observation>`;
}

/**
 * Starts a server. A list answers request after request, its last entry from then on; without a script each request gets
 * `deterministicAnswer`. `record: false` keeps no requests, for benchmarks.
 */
export async function startLoopbackServer(
  script: Handler | readonly Answer[] = (request) => ({
    content: deterministicAnswer(request.body.messages ?? request.body.prompt),
  }),
  options: {
    readonly record?: boolean;
    readonly models?: readonly (string | Record<string, unknown>)[];
    readonly port?: number;
  } = {},
): Promise<LoopbackServer> {
  const handler = typeof script === 'function' ? script : fromList(script);
  const requests: SeenRequest[] = [];
  const seen = { count: 0, inFlight: 0, maxInFlight: 0, connections: 0 };
  const server = createServer(async (request, response) => {
    const text = await readAll(request);
    if (request.method === 'GET') return sendModels(response, options.models ?? ['loopback']);
    seen.inFlight++;
    seen.maxInFlight = Math.max(seen.maxInFlight, seen.inFlight);
    response.once('close', () => seen.inFlight--);
    const { method = '', url: path = '', headers } = request;
    const arrived = { method, path, headers, body: parseBody(text), index: seen.count++ };
    if (options.record !== false) requests.push(arrived);
    await send(await handler(arrived), arrived, response);
  });
  server.on('connection', () => seen.connections++);
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    get count() {
      return seen.count;
    },
    get inFlight() {
      return seen.inFlight;
    },
    get maxInFlight() {
      return seen.maxInFlight;
    },
    get connections() {
      return seen.connections;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function fromList(answers: readonly Answer[]): Handler {
  return (request) => {
    const answer = answers[Math.min(request.index, answers.length - 1)];
    if (answer === undefined) throw new Error('the script is empty');
    return answer;
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part as Buffer);
  } catch {
    // The client went away while it was sending.
  }
  return Buffer.concat(parts).toString('utf8');
}

function parseBody(text: string): Record<string, unknown> {
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    return { unparsed: text };
  }
}

function sendModels(response: ServerResponse, models: readonly (string | Record<string, unknown>)[]): void {
  const data = models.map((model) => (typeof model === 'string' ? { id: model, object: 'model' } : model));
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data }));
}

async function send(answer: Answer, request: SeenRequest, response: ServerResponse): Promise<void> {
  if (answer === 'hang') return;
  if (answer === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (answer === 'heartbeats') {
    response.writeHead(200, EVENTS);
    return beat(response);
  }
  if (answer.latencyMs) await wait(answer.latencyMs);
  if ('status' in answer) return sendPlain(answer, response);
  const streamed = answer.stream ?? request.body.stream === true;
  return streamed ? sendEvents(answer, request, response) : sendJson(answer, request, response);
}

const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

function sendPlain(answer: PlainAnswer, response: ServerResponse): void {
  const isText = typeof answer.body === 'string';
  const contentType = isText ? 'text/plain' : 'application/json';
  response.writeHead(answer.status, { 'content-type': contentType, ...answer.headers });
  response.end(isText ? answer.body : JSON.stringify(answer.body ?? {}));
}

function sendJson(answer: ModelAnswer, request: SeenRequest, response: ServerResponse): void {
  const message = answer.message ?? {
    role: 'assistant',
    content: answer.content ?? null,
    ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
  };
  const finish = answer.finishReason === undefined ? 'stop' : answer.finishReason;
  const isText = isCompletion(request);
  const body = JSON.stringify({
    id: `${isText ? 'cmpl' : 'chatcmpl'}-${request.index}`,
    object: isText ? 'text_completion' : 'chat.completion',
    created: 0,
    model: answer.model ?? request.body.model,
    choices: [{ index: 0, ...(isText ? { text: answer.content } : { message }), finish_reason: finish }],
    ...usageOf(answer, request),
  });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** Whether the request is a completion rather than a chat. */
function isCompletion({ path }: SeenRequest): boolean {
  return path.startsWith('/v1/completions');
}

async function sendEvents(answer: ModelAnswer, request: SeenRequest, response: ServerResponse): Promise<void> {
  response.writeHead(200, EVENTS);
  const isText = isCompletion(request);
  const event = (rest: object) =>
    `data: ${JSON.stringify({
      id: `${isText ? 'cmpl' : 'chatcmpl'}-${request.index}`,
      object: isText ? 'text_completion' : 'chat.completion.chunk',
      created: 0,
      model: answer.model ?? request.body.model,
      ...rest,
    })}\n\n`;
  const choice = (delta: Delta, finish_reason: string | null) =>
    event({ choices: [{ index: 0, ...(isText ? { text: delta.content ?? '' } : { delta }), finish_reason }] });
  let pending = choice({ role: 'assistant', content: '' }, null);
  for (const { waitMs, ...delta } of answer.deltas ?? defaultDeltas(answer)) {
    if (waitMs) {
      response.write(pending);
      pending = '';
      await wait(waitMs);
    }
    pending += choice(delta, null);
  }
  if (answer.ending !== undefined) return endBadly(answer.ending, pending, response);
  const finish = answer.finishReason === undefined ? 'stop' : answer.finishReason;
  if (finish !== null) pending += choice({}, finish);
  if (answer.stallAfterFinish) {
    response.write(pending);
    return;
  }
  if (request.body.stream_options?.include_usage) pending += event({ choices: [], ...usageOf(answer, request) });
  response.end(`${pending}data: [DONE]\n\n`);
}

function defaultDeltas(answer: ModelAnswer): Delta[] {
  const deltas: Delta[] = [];
  if (answer.reasoning !== undefined) deltas.push({ reasoning_content: answer.reasoning });
  const content = answer.content ?? '';
  if (typeof content !== 'string') return [...deltas, { content }];
  const size = Math.max(1, Math.ceil(content.length / 4));
  for (let at = 0; at < content.length; at += size) deltas.push({ content: content.slice(at, at + size) });
  return deltas;
}

async function endBadly(
  how: NonNullable<ModelAnswer['ending']>,
  pending: string,
  response: ServerResponse,
): Promise<void> {
  if (typeof how === 'object') {
    response.end(`${pending}data: ${JSON.stringify(how.event)}\n\ndata: [DONE]\n\n`);
  } else if (how === 'cut-off') {
    response.end(pending);
  } else {
    // A reset right after a write would overtake it.
    await new Promise((resolve) => response.write(pending, resolve));
    if (how === 'heartbeats') await beat(response);
    if (how === 'reset') response.socket?.resetAndDestroy();
  }
}

async function beat(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write(': ping\n\n');
    await wait(10);
  }
}

function usageOf(answer: ModelAnswer, request: SeenRequest): object {
  if (answer.usage === null) return {};
  if (answer.usage !== undefined) return { usage: answer.usage };
  const prompt = Math.ceil(JSON.stringify(request.body.messages ?? request.body.prompt ?? []).length / 4);
  const completion = Math.ceil(String(answer.content ?? '').length / 4);
  return { usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } };
}
