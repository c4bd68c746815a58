// The port of a server: how it is opened, how long clients may take, and what never becomes a request.

import { type Server, type ServerOptions, STATUS_CODES } from 'node:http';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { EXIT, UserError } from '../../core/errors.js';
import { ApiError } from './api-error.js';

/** Longest head of a request that does not arrive at once, and longest idle connection: longer than clients keep one for reuse. */
const HEAD_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;

/** How long clients may take: `requestTimeoutMs` for a request to arrive, head and body. */
export function patienceOf(requestTimeoutMs: number): ServerOptions {
  return {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(HEAD_MS, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
}

/** Where to listen; port 0 takes a free one. */
interface Place {
  readonly host: string;
  readonly port: number;
}

/** The flags that name the place, for messages. */
interface PlaceFlags {
  readonly address: string;
  readonly port: string;
}

/** Starts to listen, and resolves with the URL, without a path. @throws UserError (69) where the port is taken, (2) where it cannot be had */
export async function openPort(server: Server, { host, port }: Place, flags: PlaceFlags): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, { host, port }, flags)));
    server.listen({ host, port }, resolve);
  });
  server.removeAllListeners('error');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address = server.address();
  const taken = typeof address === 'object' ? address?.port : undefined;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${taken ?? port}`;
}

function listenError({ code, message }: NodeJS.ErrnoException, { host, port }: Place, flags: PlaceFlags): Error {
  const other = `name another with ${flags.port}, or 0 for a free one`;
  if (code === 'EADDRINUSE') return new UserError(`port ${port} of ${host} is in use; ${other}`, EXIT.unavailable);
  if (code === 'EACCES') return new UserError(`port ${port} needs more rights than this process has; ${other}`);
  const both = [...new Set([flags.address, flags.port])].join(' and ');
  return new UserError(`cannot listen on ${host}, port ${port}: ${code ?? message}; check ${both}`);
}

/** What is no HTTP, or did not arrive in time, never becomes a request. */
export function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
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
