// The port of a server: how it is opened, how long clients may take, what never becomes a request, and who may ask.

import { createHash, timingSafeEqual } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerOptions, STATUS_CODES } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { UserError, unavailable } from '../../core/errors.js';
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

/**
 * Starts to listen, and resolves with the URL, without a path; port 0 takes a free one. `flags` name the place in messages.
 * @throws UserError (69) where the port is taken, (2) where it cannot be had
 */
export async function openPort(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  flags: { readonly address: string; readonly port: string },
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const other = `name another with ${flags.port}, or 0 for a free one`;
      const both = [...new Set([flags.address, flags.port])].join(' and ');
      reject(
        code === 'EADDRINUSE'
          ? unavailable(`port ${port} of ${host} is in use; ${other}`)
          : new UserError(`cannot listen on ${host}, port ${port}: ${code ?? message}; check ${both}`),
      );
    });
    server.listen({ host, port }, resolve);
  });
  server.removeAllListeners('error');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address = server.address();
  const taken = typeof address === 'object' ? address?.port : undefined;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${taken ?? port}`;
}

/** By Node's code. */
const BROKEN: Readonly<Record<string, readonly [status: number, message: string, code: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time', 'request_timeout'],
  HPE_HEADER_OVERFLOW: [431, "the request's head is too large", 'head_too_large'],
};

/** What is not HTTP, or did not arrive in time, never becomes a request. */
export function refuseBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, message, code] = BROKEN[error.code ?? ''] ?? ([400, 'this is not HTTP', 'invalid_http'] as const);
  const refusal = new ApiError(status, message, code);
  const body = JSON.stringify(refusal.body);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

/** Before listening: throws a UserError for a key that no header can carry, and for an address that others reach without one. */
export function requireKeyOffLoopback(host: string, apiKey: string, flag = '--api-key'): void {
  if (!/^[\x21-\x7e]*$/.test(apiKey))
    throw new UserError(`${flag} may hold only printable ASCII characters, without spaces`);
  if (apiKey !== '' || isLoopback(host)) return;
  throw new UserError(
    `refusing to listen on ${host === '' ? 'every address' : host}, where others can reach it, without a key; give one with ${flag}, or listen on 127.0.0.1`,
  );
}

/** A web page can have a browser call its own name, which leads to 127.0.0.1; the Host header shows that name (DNS rebinding). */
export function requireLoopbackHost(request: Pick<IncomingMessage, 'headers'>): void {
  const name = /^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(request.headers.host ?? '')?.[1] ?? '';
  if (isLoopback(name)) return;
  const message = 'without an API key this server answers to localhost and loopback addresses alone';
  throw new ApiError(403, message, 'foreign_host');
}

/** Throws an ApiError (401) unless the request carries the key; an empty one asks for none. */
export function requireKey(request: Pick<IncomingMessage, 'headers'>, apiKey: string): void {
  if (apiKey === '') return;
  const given = /^Bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  // Hashes are of one length, and comparing them tells nothing of where the keys differ.
  const hash = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(hash(given), hash(apiKey))) return;
  const message = given === '' ? "an API key is needed, as 'Authorization: Bearer …'" : 'incorrect API key';
  throw new ApiError(401, message, 'invalid_api_key', null, { 'www-authenticate': 'Bearer' });
}

function isLoopback(name: string): boolean {
  const host = name.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
  );
}
