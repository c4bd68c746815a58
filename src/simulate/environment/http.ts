// An environment's server: its port, who may act, OpenEnv's paths over plain HTTP with a session for each episode_id, and its end.

import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { isObject } from '../../core/json.js';
import { ApiError } from '../../serve/http/api-error.js';
import { readJson } from '../../serve/http/body.js';
import {
  openPort,
  patienceOf,
  refuseBrokenRequest,
  requireKey,
  requireKeyOffLoopback,
  requireLoopbackHost,
} from '../../serve/http/port.js';
import type { Grounds, McpRoute } from './mcp.js';
import { metadataOf, openApi, readReset, readStep, SCHEMAS } from './protocol.js';
import type { Session } from './sessions.js';
import { openSockets } from './socket.js';

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

export interface RunningEnvironment {
  /** Without a path: WebSockets are at `/ws` below it. */
  readonly url: string;
  /** Takes nothing new, lets steps under way end for `drainMs`, then breaks them off; resolves when every connection is closed. */
  close(drainMs: number): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 120_000;
/** How long clients may take to hear of the end. */
const GRACE_MS = 1_000;
const LISTEN_FLAG = '--listen';
const KEY_FLAG = '--listen-key';

/** @throws UserError where the port is taken (69), or the address cannot be used or is open to others without a key (2) */
export async function startEnvironment(options: EnvironmentOptions): Promise<RunningEnvironment> {
  const { host, apiKey, sessions, mcp, toldOf } = options;
  requireKeyOffLoopback(host, apiKey, KEY_FLAG);
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
  let closed: Promise<void> | undefined;
  const close = async (drainMs: number) => {
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    await sessions.stop(drainMs);
    await mcp?.close();
    sockets.close();
    const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
    server.closeIdleConnections();
    await ended;
    clearTimeout(late);
  };
  return {
    url,
    close(drainMs) {
      closed ??= close(drainMs);
      return closed;
    },
  };
}

/** The episode of requests that name none. */
const DEFAULT_EPISODE = 'default';
const NOT_BEGUN = { episode_id: null, step_count: 0 };

/** The paths, and the methods that each takes. */
const PATHS: ReadonlyMap<string, readonly string[]> = new Map([
  ['/health', ['GET']],
  ['/metadata', ['GET']],
  ['/schema', ['GET']],
  ['/openapi.json', ['GET']],
  ['/reset', ['POST']],
  ['/step', ['POST']],
  ['/state', ['GET']],
  ['/mcp', ['POST', 'GET', 'DELETE']],
]);

type Asked = Context<{ Bindings: HttpBindings }>;

function appOf({ simulator, sessions, apiKey, messageBytes, mcp, toldOf, onRequest }: EnvironmentOptions) {
  const episodes = new Map<string, Session>();
  const sessionOf = (episodeId: string): Session => {
    const session = episodes.get(episodeId);
    if (session !== undefined) return session;
    const message = `there is no episode "${episodeId}" here: it was never begun, or has ended by idleness; POST /reset begins one`;
    throw new ApiError(404, message, 'EPISODE_NOT_FOUND', 'episode_id');
  };
  const bodyOf = async ({ env: { incoming } }: Asked): Promise<unknown> => {
    // A reset may come without any body.
    if (incoming.headers['content-length'] === '0') return {};
    return readJson(incoming, messageBytes, 'that a message may have (--message-kib)');
  };
  const app = new Hono<{ Bindings: HttpBindings }>();
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
    requirePlace(incoming, apiKey);
    const methods = PATHS.get(path);
    if (methods === undefined) {
      const known = [...PATHS.keys()].join(', ');
      throw new ApiError(404, `there is no ${path} here, but ${known}, and /ws for WebSockets`, 'UNKNOWN_PATH');
    }
    if (path !== '/health') requireAccess(incoming, apiKey);
    if (!methods.includes(method === 'HEAD' ? 'GET' : method)) {
      const allow = methods.join(', ');
      throw new ApiError(405, `${path} takes ${allow}, not ${method}`, 'METHOD_NOT_ALLOWED', null, { allow });
    }
    await next();
  });
  app.get('/health', () => answer({ status: 'healthy' }));
  app.get('/metadata', () => answer(metadataOf(simulator)));
  app.get('/schema', () => answer(SCHEMAS));
  app.get('/openapi.json', () => answer(openApi(PATHS)));
  app.post('/reset', async (asked) => {
    const { start, episodeId = DEFAULT_EPISODE } = readReset(await bodyOf(asked));
    const known = episodes.get(episodeId);
    const session = known ?? sessions.open(() => episodes.delete(episodeId), true);
    episodes.set(episodeId, session);
    try {
      return answer(await sessions.use(session, () => session.reset(start, episodeId)));
    } catch (error) {
      if (known === undefined) {
        // A session that never began is nobody's.
        sessions.end(session);
        episodes.delete(episodeId);
      }
      throw error;
    }
  });
  app.post('/step', async (asked) => {
    const { action, timeoutS, episodeId = DEFAULT_EPISODE } = readStep(await bodyOf(asked));
    const { signal } = asked.req.raw;
    const session = sessionOf(episodeId);
    return answer(await sessions.use(session, () => session.step(action, { timeoutS, signal })));
  });
  app.get('/state', ({ req }) => {
    const episodeId = req.query('episode_id');
    if (episodeId !== undefined) return answer(sessionOf(episodeId).state);
    return answer(episodes.get(DEFAULT_EPISODE)?.state ?? NOT_BEGUN);
  });
  app.all('/mcp', async (asked) => {
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
 * @throws ApiError: 403 for a name that is no loopback's (without a key) and for a page of another origin, 401 without the key
 */
function requireAccess(request: IncomingMessage, apiKey: string): void {
  requirePlace(request, apiKey);
  requireKey({ headers: withBearer(request.headers) }, apiKey);
}

/** `requireAccess` less the key: for what tells nothing. */
function requirePlace(request: IncomingMessage, apiKey: string): void {
  if (apiKey === '') requireLoopbackHost(request);
  const { origin, host = '' } = request.headers;
  if (origin === undefined || hostOf(origin) === host.toLowerCase()) return;
  throw new ApiError(403, 'pages of other origins may not act here', 'FOREIGN_ORIGIN');
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** OpenEnv's client sends a key only as the password of its URL (`ws://awb:KEY@host:port`), which arrives as Basic. */
function withBearer(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const encoded = /^Basic +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (encoded === undefined) return headers;
  const [, password = ''] = /^[^:]*:([\s\S]*)$/.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  return { ...headers, authorization: `Bearer ${password}` };
}
