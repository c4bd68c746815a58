// An environment's server: its port, plain requests and upgrades, and its end.

import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { requireKeyOffLoopback } from '../serve/http/access.js';
import { ApiError } from '../serve/http/api-error.js';
import { answer } from '../serve/http/body.js';
import { openPort, patienceOf, refuseBrokenRequest } from '../serve/http/port.js';
import type { Simulator } from '../simulator.js';
import { requireAccess } from './access.js';
import type { McpRoute } from './mcp.js';
import { Desk } from './routes.js';
import type { Sessions } from './sessions.js';
import { openSockets } from './socket.js';

export interface EnvironmentOptions {
  /** Without a key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Empty where none is asked for. */
  readonly apiKey: string;
  readonly messageBytes: number;
  readonly simulator: Simulator;
  readonly sessions: Sessions;
  readonly mcp?: McpRoute | undefined;
  /** Told of faults of the server itself. */
  readonly onError: (error: unknown) => void;
  /** What a client is told of any error. */
  readonly toldOf: (error: unknown) => ApiError;
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
  const desk = new Desk({ ...options, mcp: mcp?.serve });
  const sockets = openSockets(options);
  const server = createServer(patienceOf(REQUEST_TIMEOUT_MS), (request, response) => {
    void serve(desk, request, response, options);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Whoever goes away before the answer is nobody's concern.
    socket.on('error', () => socket.destroy());
    try {
      letIn(request, apiKey);
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

async function serve(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
  { onRequest, toldOf }: EnvironmentOptions,
): Promise<void> {
  const startMs = performance.now();
  const leaving = new AbortController();
  response.on('close', () => leaving.abort());
  response.on('error', () => {});
  // What is no path is looked for in vain.
  const url = URL.canParse(request.url ?? '', 'http://localhost')
    ? new URL(request.url ?? '', 'http://localhost')
    : new URL('http://localhost/unknown');
  try {
    await desk.serve({ request, response, url, signal: leaving.signal });
  } catch (error) {
    const { status, message, code, headers } = toldOf(error);
    if (response.headersSent) response.destroy();
    // FastAPI, on which OpenEnv's own servers stand, says `detail`.
    else answer(response, status, { detail: message, code: code.toUpperCase() }, headers);
  }
  const { method = '' } = request;
  onRequest?.({ method, path: url.pathname, status: response.statusCode, durationMs: performance.now() - startMs });
}

/** @throws ApiError for an upgrade that is not to be had */
function letIn(request: IncomingMessage, apiKey: string): void {
  requireAccess(request, apiKey);
  const path = /^[^?]*/.exec(request.url ?? '')?.[0];
  if (path !== '/ws') throw new ApiError(404, 'WebSockets are at /ws', 'UNKNOWN_PATH');
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
