// An environment from its start to its end: over HTTP until it is stopped (its port, who may act, and OpenEnv's paths with a session for each
// episode_id), or over standard input and output until they end.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http';
import { resolve } from 'node:path';
import { type Duplex, Readable, Writable } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { EXIT, type ExitCode, interruption, messageOf, present, UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { isObject, type JsonObject, parseJson } from '../../core/json.js';
import { printable } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { ApiError } from '../../serve/http/api-error.js';
import { readJson, requireShallow } from '../../serve/http/body.js';
import { requestLine } from '../../serve/http/metrics.js';
import {
  openPort,
  patienceOf,
  refuseBrokenRequest,
  requireKey,
  requireKeyOffLoopback,
  requireLoopbackHost,
} from '../../serve/http/port.js';
import { type EnvironmentSettings, placeOf } from '../options.js';
import { type Grounds, importSdk, type McpRoute, mcpRoute, serveStdio } from './mcp.js';
import { metadataOf, openApi, read, readAction, readReset, readStep, SCHEMAS } from './protocol.js';
import { NOT_RECORDED, openRecords, type Session, Sessions, type Simulator } from './sessions.js';

/** With the limit of steps, which agents that are played here have, too. */
type ServingSettings = EnvironmentSettings & { readonly steps: number };

/** Steps under way get this long after the first interrupt. */
const DRAIN_MS = 60_000;

/** @throws UserError as `startEnvironment`, (69) where MCP's SDK is not installed, (73) where there can be no records */
export async function serveEnvironment(simulator: Simulator, settings: ServingSettings, io: Io): Promise<ExitCode> {
  const { listen, verbose, json, messageKib, record, sessionIdle, steps } = settings;
  const say = (text: string) => settings.quiet || io.stderr.write(`${printable(text)}\n`);
  const onError = (error: unknown) => void say(`environment: ${messageOf(error)}`);
  const sdk = settings.mcp ? await importSdk() : undefined;
  const records = record === undefined ? undefined : await openRecords(resolve(io.cwd, record));
  const limits = { sessions: settings.sessions, idleMs: sessionIdle * 1_000 };
  const sessions = new Sessions({ simulator, steps, records }, limits);
  const grounds: Grounds = {
    simulator,
    sessions,
    messageBytes: messageKib * 1_024,
    toldOf(error) {
      // A full disk is for whoever runs the server to see; agents can only try again.
      if (!(error instanceof ApiError) || error.code === NOT_RECORDED) onError(error);
      if (error instanceof ApiError) return error;
      return new ApiError(500, "the environment failed; the server's own messages say why", 'EXECUTION_ERROR');
    },
  };
  io.setLastWords('ended at once; recorded episodes stand at their last finished step');
  if (listen === undefined) {
    if (sdk === undefined) throw new UserError('give --listen HOST:PORT, --mcp, or both');
    const streams = { input: Readable.from(io.input?.() ?? [], { objectMode: false }), output: sinkStream(io) };
    await serveStdio(sdk, grounds, streams, io.stop);
    await sessions.stop(DRAIN_MS);
    return io.stop.aborted ? interruption(io.stop) : EXIT.done;
  }
  const { url, close } = await startEnvironment({
    ...grounds,
    // The option's own check has let it through.
    ...present(placeOf(listen)),
    apiKey: settings.listenKey ?? '',
    mcp: sdk && mcpRoute(sdk, grounds),
    onError,
    onRequest: verbose ? (line) => say(requestLine({ ...line, usage: undefined }, new Date())) : undefined,
  });
  const { model } = simulator;
  const mcp = sdk && `${url}/mcp`;
  const also = mcp === undefined ? '' : `; MCP at ${mcp}`;
  io.stdout.write(
    json
      ? `${JSON.stringify({ schema: 'awb.environment/1', url, mcp, model })}\n`
      : `worlds of ${printable(model)} at ${url} (OpenEnv; WebSockets at /ws)${also}\n`,
  );
  await new Promise<void>((done) => {
    if (io.stop.aborted) done();
    io.stop.addEventListener('abort', () => done(), { once: true });
  });
  say('stopping: steps under way may end; interrupt again to end at once');
  await close(DRAIN_MS);
  return interruption(io.stop);
}

function sinkStream({ stdout }: Io): Writable {
  return new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      stdout.write(String(text));
      done();
    },
  });
}

export interface EnvironmentOptions extends Grounds {
  /** Without a key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Empty where none is asked for. */
  readonly apiKey: string;
  readonly mcp?: McpRoute | undefined;
  /** Told of faults of the server itself. */
  readonly onError: (error: unknown) => void;
  /** Told of every plain request that has ended. */
  readonly onRequest?:
    | ((line: { method: string; path: string; status: number; durationMs: number }) => void)
    | undefined;
}

export type RunningEnvironment = Awaited<ReturnType<typeof startEnvironment>>;

const REQUEST_TIMEOUT_MS = 120_000;
/** How long clients may take to hear of the end. */
const GRACE_MS = 1_000;
const LISTEN_FLAG = '--listen';

/** @throws UserError where the port is taken (69), or the address cannot be used or is open to others without a key (2) */
export async function startEnvironment(options: EnvironmentOptions) {
  const { host, apiKey, sessions, mcp, toldOf } = options;
  requireKeyOffLoopback(host, apiKey, '--listen-key');
  const sockets = openSockets(options);
  // A client of HTTP/1.0 may name no host.
  const listener = getRequestListener(appOf(options).fetch, { overrideGlobalObjects: false, hostname: 'localhost' });
  const server = createServer(patienceOf(REQUEST_TIMEOUT_MS), listener);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Whoever goes away before the answer is nobody's concern.
    socket.on('error', () => socket.destroy());
    try {
      requireAccess(request, apiKey);
      if (!/^\/ws(?:\?|$)/.test(request.url ?? '')) throw new ApiError(404, 'WebSockets are at /ws', 'UNKNOWN_PATH');
      sockets.accept(request, socket, head);
    } catch (error) {
      refuseUpgrade(socket, toldOf(error));
    }
  });
  server.on('clientError', refuseBrokenRequest);
  const url = await openPort(server, options, { address: LISTEN_FLAG, port: LISTEN_FLAG });
  server.on('error', options.onError);
  return {
    /** Without a path: WebSockets are at `/ws` below it. */
    url,
    /** Takes nothing new, lets steps under way end for `drainMs`, then breaks them off; resolves when every connection is closed. */
    async close(drainMs: number): Promise<void> {
      const ended = new Promise<void>((resolve) => server.close(() => resolve()));
      await sessions.stop(drainMs);
      await mcp?.close();
      sockets.close();
      const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
      server.closeIdleConnections();
      await ended;
      clearTimeout(late);
    },
  };
}

/** The episode of requests that name none. */
const DEFAULT_EPISODE = 'default';

type Asked = Context<{ Bindings: HttpBindings }>;

function appOf({ simulator, sessions, apiKey, messageBytes, mcp, toldOf, onRequest }: EnvironmentOptions) {
  const episodes = new Map<string, Session>();
  const sessionOf = (episodeId: string): Session => {
    const session = episodes.get(episodeId);
    if (session !== undefined) return session;
    const message = `there is no episode "${episodeId}" here: it was never begun, or has ended by idleness; POST /reset begins one`;
    throw new ApiError(404, message, 'EPISODE_NOT_FOUND', 'episode_id');
  };
  // A reset may come without any body.
  const bodyOf = async ({ env: { incoming } }: Asked): Promise<unknown> =>
    incoming.headers['content-length'] === '0'
      ? {}
      : readJson(incoming, messageBytes, 'that a message may have (--message-kib)');
  const app = new Hono<{ Bindings: HttpBindings }>();
  /** The paths, and the methods that each takes. */
  const pathsOf = () =>
    groupBy(
      app.routes.filter(({ path }) => path !== '/*'),
      ({ path }) => path,
    );
  app.onError((error, asked) => {
    const { outgoing } = asked.env;
    const { status, message, code, headers } = toldOf(error);
    if (outgoing.headersSent) {
      outgoing.destroy();
      return RESPONSE_ALREADY_SENT;
    }
    // FastAPI, on which OpenEnv's own servers stand, says `detail`.
    return answer({ detail: message, code: code.toUpperCase() }, status, headers);
  });
  app.use(async ({ req: { method, path }, env: { incoming, outgoing } }, next) => {
    const startMs = performance.now();
    outgoing.once('close', () => {
      onRequest?.({ method, path, status: outgoing.statusCode, durationMs: performance.now() - startMs });
    });
    requireAccess(incoming, path === '/health' ? undefined : apiKey, apiKey === '');
    const paths = pathsOf();
    const methods = paths.get(path)?.map((route) => route.method);
    if (methods === undefined) {
      const known = [...paths.keys()].join(', ');
      throw new ApiError(404, `there is no ${path} here, but ${known}, and /ws for WebSockets`, 'UNKNOWN_PATH');
    }
    if (!methods.includes(method === 'HEAD' ? 'GET' : method)) {
      const allow = methods.join(', ');
      throw new ApiError(405, `${path} takes ${allow}, not ${method}`, 'METHOD_NOT_ALLOWED', null, { allow });
    }
    await next();
  });
  app.get('/health', () => answer({ status: 'healthy' }));
  app.get('/metadata', () => answer(metadataOf(simulator.model)));
  app.get('/schema', () => answer(SCHEMAS));
  app.get('/openapi.json', () => answer(openApi(app.routes)));
  app.post('/reset', async (asked) => {
    const { start, episodeId = DEFAULT_EPISODE } = readReset(await bodyOf(asked));
    const known = episodes.get(episodeId);
    const session = known ?? sessions.open(() => episodes.delete(episodeId), true);
    episodes.set(episodeId, session);
    try {
      return answer(await session.reset(start, episodeId));
    } catch (error) {
      // A session that never began is nobody's.
      if (known === undefined) sessions.dismiss(session);
      throw error;
    }
  });
  app.post('/step', async (asked) => {
    const { action, timeoutS, episodeId = DEFAULT_EPISODE } = readStep(await bodyOf(asked));
    return answer(await sessionOf(episodeId).step(action, { timeoutS, signal: asked.req.raw.signal }));
  });
  app.get('/state', ({ req }) => {
    const episodeId = req.query('episode_id');
    if (episodeId !== undefined) return answer(sessionOf(episodeId).state);
    return answer(episodes.get(DEFAULT_EPISODE)?.state ?? { episode_id: null, step_count: 0 });
  });
  app.on(['POST', 'GET', 'DELETE'], '/mcp', async (asked) => {
    const isPost = asked.req.method === 'POST';
    const body = isPost ? await bodyOf(asked) : undefined;
    if (mcp !== undefined && (!isPost || isMessage(body))) {
      await mcp.serve(asked.env.incoming, asked.env.outgoing, body);
      return RESPONSE_ALREADY_SENT;
    }
    // As OpenEnv's own servers answer what they do not speak: by 200, since clients read the error itself.
    const message = mcp === undefined ? 'MCP is off; awb simulate serves it with --mcp' : 'this is no JSON-RPC message';
    return answer({ jsonrpc: '2.0', id: null, error: { code: -32600, message } });
  });
  return app;
}

/** Whether it is a message of JSON-RPC, or a list of them. */
function isMessage(body: unknown): boolean {
  return [body].flat().some((message) => isObject(message) && 'jsonrpc' in message);
}

function answer(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  const text = JSON.stringify(body);
  const own = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return new Response(text, {
    status,
    headers: { ...own, 'content-length': String(Buffer.byteLength(text)), ...headers },
  });
}

function refuseUpgrade(socket: Duplex, { status, message, code, headers }: ApiError): void {
  const body = JSON.stringify({ detail: message, code: code.toUpperCase() });
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`, () =>
    socket.destroy(),
  );
}

/**
 * For plain requests and for the upgrade to a WebSocket, which no browser asks leave for.
 * @param apiKey undefined for what tells nothing, which needs no key
 * @throws ApiError: 403 for a name that is no loopback's (without a key) and for a page of another origin, 401 without the key
 */
function requireAccess(request: IncomingMessage, apiKey: string | undefined, isLocal = apiKey === ''): void {
  if (isLocal) requireLoopbackHost(request);
  const { origin, host = '' } = request.headers;
  const own = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
  if (origin !== undefined && own !== host.toLowerCase()) {
    throw new ApiError(403, 'pages of other origins may not act here', 'FOREIGN_ORIGIN');
  }
  if (apiKey !== undefined) requireKey({ headers: withBearer(request.headers) }, apiKey);
}

/** OpenEnv's client sends a key only as the password of its URL (`ws://awb:KEY@host:port`), which arrives as Basic. */
function withBearer(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const encoded = /^Basic +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (encoded === undefined) return headers;
  const [, password = ''] = /^[^:]*:([\s\S]*)$/.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  return { ...headers, authorization: `Bearer ${password}` };
}

// WebSockets: a session for each connection, in the messages of OpenEnv. No other file imports ws.

const CLOSE_NORMAL = 1000;
const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY = 1008;
/** Messages of a connection that may wait for their answers; OpenEnv's client sends one at a time. */
const MOST_WAITING = 16;
/** How long a client that is sent away may take to hear of it. */
const GOODBYE_MS = 1_000;

function openSockets(grounds: Grounds) {
  const server = new WebSocketServer({ noServer: true, maxPayload: grounds.messageBytes, perMessageDeflate: false });
  return {
    /** Takes over a connection whose request was let in. */
    accept(request: IncomingMessage, socket: Duplex, head: Buffer) {
      server.handleUpgrade(request, socket, head, (webSocket) => converse(webSocket, grounds));
    },
    /** Says goodbye to every client. */
    close() {
      for (const socket of server.clients) sendAway(socket, CLOSE_GOING_AWAY, 'the server is shutting down');
    },
  };
}

/** A client that reads nothing would keep its connection, and what waits for it, for longer. */
function sendAway(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
}

/** One message after the other, in the order in which they come. */
function converse(socket: WebSocket, grounds: Grounds): void {
  const leaving = new AbortController();
  /** Resolves once the text is on its way: no further answer is made for a client that does not read those before. */
  const say = async (type: string, data: unknown) => {
    if (socket.readyState !== socket.OPEN) return;
    await new Promise((resolve) => socket.send(JSON.stringify({ type, data }), resolve));
  };
  const sayError = (error: unknown) => {
    const { message, code, headers } = grounds.toldOf(error);
    const { 'retry-after': retryAfter } = headers;
    return say('error', { message, code, ...(retryAfter !== undefined && { retry_after_s: Number(retryAfter) }) });
  };
  // A frame that is too large or broken closes the connection with a code of its own.
  socket.on('error', () => {});
  const { sessions } = grounds;
  let session: Session;
  try {
    session = sessions.open(() => {
      void say('error', { message: 'the session has ended by idleness', code: 'SESSION_ERROR' });
      sendAway(socket, CLOSE_NORMAL, 'idle');
    });
  } catch (error) {
    void sayError(error);
    sendAway(socket, CLOSE_NORMAL, 'no session');
    return;
  }
  socket.on('close', () => {
    leaving.abort();
    sessions.end(session);
  });
  let last = Promise.resolve();
  let waiting = 0;
  socket.on('message', (bytes, isBinary) => {
    if (socket.readyState !== socket.OPEN) return;
    // Reading goes on while a step is under way: only so is it seen that a client leaves.
    if (++waiting > MOST_WAITING) {
      const reason = `more than ${MOST_WAITING} messages wait for their answers, or for these to be read`;
      return sendAway(socket, CLOSE_POLICY, reason);
    }
    last = last
      .then(async () => {
        if (socket.readyState !== socket.OPEN) return;
        const { type, data } = readMessage(bytes, isBinary);
        if (type === 'close') socket.close(CLOSE_NORMAL);
        else await say(...(await reply(type, data, session, leaving.signal)));
      })
      .catch(sayError)
      .finally(() => waiting--);
  });
}

const ENVELOPE = z.object(
  {
    type: z.unknown().optional(),
    data: z.record(z.string(), z.unknown(), '"data" has to be a JSON object').default({}),
  },
  'a message has to be a JSON object',
);
const TYPES: readonly unknown[] = ['reset', 'step', 'state', 'close'];

/** @throws ApiError for what is no message of the protocol */
function readMessage(bytes: unknown, isBinary: boolean): { type: unknown; data: JsonObject } {
  const message = isBinary ? undefined : parseJson(String(bytes));
  if (message === undefined) throw new ApiError(400, 'a message has to be JSON, as text', 'INVALID_JSON');
  requireShallow(message);
  const { type, data } = read(ENVELOPE, message);
  if (TYPES.includes(type)) return { type, data };
  const name = typeof type === 'string' ? `"${type.slice(0, 100)}"` : 'none';
  throw new ApiError(400, `unknown type of message: ${name}; there are ${TYPES.join(', ')}`, 'UNKNOWN_TYPE', 'type');
}

async function reply(
  type: unknown,
  data: JsonObject,
  session: Session,
  signal: AbortSignal,
): Promise<[string, unknown]> {
  if (type === 'state') return ['state', session.state];
  if (type === 'step') return ['observation', await session.step(readAction(data), { signal })];
  const { start, episodeId = randomUUID() } = readReset(data);
  return ['observation', await session.reset(start, episodeId)];
}
