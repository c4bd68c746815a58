// Listening and closing: the process's side of the server.

import { createServer, type Server, STATUS_CODES } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { EXIT, UserError } from '../../errors.js';
import { LONGEST_TIMER_MS } from '../../timers.js';
import type { Engine } from '../engine-contract.js';
import { requireKeyOffLoopback } from './access.js';
import { ApiError } from './api-error.js';
import { type Desk, openDesk } from './desk.js';
import type { DeskOptions } from './desk-state.js';

export interface ServerOptions extends DeskOptions {
  /** Without an API key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
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

/** Longest head of a request that does not arrive at once, and longest idle connection: longer than clients keep one for reuse. */
const HEAD_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;
/** How long aborted requests may take to tell their clients. */
const GRACE_MS = 1_000;

/**
 * Starts to listen. While `engine` is a promise the server answers 503 and `/health` says so; what it rejects with is the caller's.
 * Throws a UserError where the port is taken (69) or the address cannot be used or is open to others without a key (2).
 */
export async function startServer(engine: Engine | Promise<Engine>, options: ServerOptions): Promise<RunningServer> {
  requireKeyOffLoopback(options.host, options.apiKey ?? '');
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

async function listen(server: Server, { host, port }: ServerOptions): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
    server.listen({ host, port }, resolve);
  });
  server.removeAllListeners('error');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address = server.address();
  const taken = typeof address === 'object' ? address?.port : undefined;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${taken ?? port}`;
}

function listenError({ code, message }: NodeJS.ErrnoException, host: string, port: number): Error {
  const other = 'name another with --port, or 0 for a free one';
  if (code === 'EADDRINUSE') return new UserError(`port ${port} of ${host} is in use; ${other}`, EXIT.unavailable);
  if (code === 'EACCES') return new UserError(`port ${port} needs more rights than this process has; ${other}`);
  return new UserError(`cannot listen on ${host}, port ${port}: ${code ?? message}; check --host and --port`);
}

function closer(server: Server, desk: Desk): RunningServer['close'] {
  let closed: Promise<void> | undefined;
  let isIdle = false;
  const timers: NodeJS.Timeout[] = [];
  const later = (ms: number, act: () => void) => {
    if (!isIdle) timers.push(setTimeout(act, Math.min(ms, LONGEST_TIMER_MS)));
  };
  async function finish(): Promise<void> {
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    await desk.idle;
    isIdle = true;
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
