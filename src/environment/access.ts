// Who may act: as `awb serve` has it, for plain requests and for the upgrade to a WebSocket, which no browser asks leave for.

import type { IncomingMessage } from 'node:http';
import { requireKey, requireLoopbackHost } from '../serve/http/access.js';
import { ApiError } from '../serve/http/api-error.js';

/** Throws an ApiError: 403 for a name that is no loopback's (without a key) and for a page of another origin, 401 without the key. */
export function requireAccess(request: IncomingMessage, apiKey: string): void {
  requirePlace(request, apiKey);
  requireKey({ headers: withBearer(request.headers) }, apiKey);
}

/** `requireAccess` less the key: for what tells nothing. */
export function requirePlace(request: IncomingMessage, apiKey: string): void {
  if (apiKey === '') requireLoopbackHost(request);
  const { origin, host = '' } = request.headers;
  if (origin === undefined || hostOf(origin) === host.toLowerCase()) return;
  throw new ApiError(403, 'pages of other origins may not act here', 'FOREIGN_ORIGIN');
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}

/** OpenEnv's client sends a key only as the password of its URL (`ws://awb:KEY@host:port`), which arrives as Basic. */
function withBearer(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const encoded = /^Basic +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (encoded === undefined) return headers;
  const [, password = ''] = /^[^:]*:([\s\S]*)$/.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  return { ...headers, authorization: `Bearer ${password}` };
}
