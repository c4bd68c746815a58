// The paths of the server: what each does with a request, by which method, and whether it asks for the key.

import { readDetokenizeRequest, readTokenizeRequest } from '../request/completion-request.js';
import { requireKey, requireLoopbackHost } from './access.js';
import { ApiError, unknownModel } from './api-error.js';
import { answer, answerText } from './body.js';
import type { DeskOptions, Handler, Visit } from './desk.js';
import { chat, complete } from './reply-routes.js';

/** The key of `/v1/models` under which what scores depend on stands. */
const FACTS_KEY = 'agentworldbench';

const health: Handler = (desk, { response }) => {
  const status = desk.isDraining ? 'draining' : desk.isLoading ? 'loading' : 'ok';
  const { busy, waiting, slots } = desk.gauges;
  answer(response, status === 'ok' ? 200 : 503, { status, busy, waiting, slots });
};

const metrics: Handler = (desk, { response }) => {
  answerText(response, 200, 'text/plain; version=0.0.4; charset=utf-8', desk.metrics.text(desk.gauges));
};

/** All names of the model, or one where the path has it. */
const models: Handler = (desk, { response, path }) => {
  const { facts } = desk.engine;
  const { models: names } = desk.defaults();
  const entry = (id: string) => ({
    id,
    object: 'model',
    created: desk.createdS,
    owned_by: FACTS_KEY,
    root: facts.name,
    max_model_len: facts.contextSize,
    [FACTS_KEY]: facts,
  });
  const name = decoded(path.slice('/v1/models/'.length));
  if (name === '') {
    answer(response, 200, { object: 'list', data: names.map(entry) });
    return;
  }
  if (!names.includes(name)) throw unknownModel(name, names);
  answer(response, 200, entry(name));
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const tokenize: Handler = async (desk, visit) => {
  const asked = readTokenizeRequest(await desk.bodyOf(visit), desk.defaults().models);
  const { engine } = desk;
  const tokens = await engine.tokenize(asked.prompt, asked.options);
  answer(visit.response, 200, {
    count: tokens.length,
    max_model_len: engine.facts.contextSize,
    tokens,
    token_strs: asked.withTexts ? tokens.map((token) => engine.detokenize([token])) : null,
  });
};

const detokenize: Handler = async (desk, visit) => {
  const tokens = readDetokenizeRequest(await desk.bodyOf(visit), desk.defaults().models);
  answer(visit.response, 200, { prompt: desk.engine.detokenize(tokens) });
};

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
