// The paths of the server: what each does with a request, by which method, and whether it asks for the key.

import { requireKey, requireLoopbackHost } from './access.js';
import { ApiError } from './api-error.js';
import type { DeskOptions, Handler, Visit } from './desk-state.js';
import { chat, complete } from './reply-routes.js';
import { health, metrics, models } from './status-routes.js';
import { detokenize, tokenize } from './token-routes.js';

interface Route {
  readonly method: 'GET' | 'POST';
  readonly serve: Handler;
  readonly keyless?: true;
}

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/health', { method: 'GET', serve: health, keyless: true }],
  ['/metrics', { method: 'GET', serve: metrics }],
  ['/v1/models', { method: 'GET', serve: models }],
  ['/v1/chat/completions', { method: 'POST', serve: chat }],
  ['/v1/completions', { method: 'POST', serve: complete }],
  ['/tokenize', { method: 'POST', serve: tokenize }],
  ['/detokenize', { method: 'POST', serve: detokenize }],
]);

/** The name under which requests for a path are counted. */
export function routeName(path: string): string {
  const name = listName(path);
  return ROUTES.has(name) ? name : 'other';
}

/** Single models stand below their list. */
function listName(path: string): string {
  return path.startsWith('/v1/models/') ? '/v1/models' : path;
}

/** The handler of a request. Throws an ApiError: 403 or 401 for one that may not ask, 404 for another path, 405 for another method. */
export function handlerOf({ request, path }: Visit, { apiKey = '' }: DeskOptions): Handler {
  const route = ROUTES.get(listName(path));
  if (apiKey === '') requireLoopbackHost(request);
  if (route === undefined) {
    throw new ApiError(404, `there is no ${path} here, but ${[...ROUTES.keys()].join(', ')}`, 'unknown_path');
  }
  if (!route.keyless) requireKey(request, apiKey);
  const methods = route.method === 'GET' ? ['GET', 'HEAD'] : [route.method];
  if (methods.includes(request.method ?? '')) return route.serve;
  const message = `${path} takes ${methods.join(' and ')}, not ${request.method}`;
  throw new ApiError(405, message, 'method_not_allowed', null, { allow: methods.join(', ') });
}
