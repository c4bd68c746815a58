// Who may ask: whoever has the key, and without a key only those who name a loopback address.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { UserError } from '../../core/errors.js';
import { ApiError } from './api-error.js';

/** What of a request says who asks. */
type Headed = Pick<IncomingMessage, 'headers'>;

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
export function requireLoopbackHost(request: Headed): void {
  const name = /^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(request.headers.host ?? '')?.[1] ?? '';
  if (isLoopback(name)) return;
  const message = 'without an API key this server answers to localhost and loopback addresses alone';
  throw new ApiError(403, message, 'foreign_host');
}

/** Throws an ApiError (401) unless the request carries the key; an empty one asks for none. */
export function requireKey(request: Headed, apiKey: string): void {
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
