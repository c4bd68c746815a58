// Plain HTTP: the paths of an environment, and a session for each episode_id.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '../json.js';
import { ApiError } from '../serve/http/api-error.js';
import { answer, readJson } from '../serve/http/body.js';
import type { Simulator } from '../simulator.js';
import { requireAccess, requirePlace } from './access.js';
import { noEpisode } from './refusals.js';
import { readReset, readStep } from './requests.js';
import { metadataOf, openApi, SCHEMAS } from './schemas.js';
import type { State } from './session.js';
import type { Place, Sessions } from './sessions.js';

interface RouteGrounds {
  readonly simulator: Simulator;
  readonly sessions: Sessions;
  /** Empty where none is asked for. */
  readonly apiKey: string;
  readonly messageBytes: number;
  /** What serves `/mcp`; undefined where nothing does. */
  readonly mcp?: ((visit: Visit, body: unknown) => Promise<void>) | undefined;
}

/** A request and what is known of it. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

/** The episode of requests that name none. */
const DEFAULT_EPISODE = 'default';
const NOT_BEGUN: State = { episode_id: null, step_count: 0 };

interface Route {
  readonly methods: readonly string[];
  readonly serve: (desk: Desk, visit: Visit) => unknown;
  readonly keyless?: true;
}

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/health', { methods: ['GET'], keyless: true, serve: () => ({ status: 'healthy' }) }],
  ['/metadata', { methods: ['GET'], serve: ({ grounds }) => metadataOf(grounds.simulator) }],
  ['/schema', { methods: ['GET'], serve: () => SCHEMAS }],
  ['/openapi.json', { methods: ['GET'], serve: () => openApi(pathList()) }],
  ['/reset', { methods: ['POST'], serve: (desk, visit) => desk.reset(visit) }],
  ['/step', { methods: ['POST'], serve: (desk, visit) => desk.step(visit) }],
  ['/state', { methods: ['GET'], serve: (desk, visit) => desk.state(visit) }],
  ['/mcp', { methods: ['POST', 'GET', 'DELETE'], serve: (desk, visit) => desk.mcp(visit) }],
]);

function pathList(): [path: string, method: string][] {
  return [...ROUTES].map(([path, { methods }]) => [path, methods[0] ?? 'GET']);
}

/** Serves plain requests. */
export class Desk {
  readonly grounds: RouteGrounds;
  readonly #places = new Map<string, Place>();

  constructor(grounds: RouteGrounds) {
    this.grounds = grounds;
  }

  /** Answers, or throws what the client is told. */
  async serve(visit: Visit): Promise<void> {
    const { request, response, url } = visit;
    const { apiKey } = this.grounds;
    requirePlace(request, apiKey);
    const route = ROUTES.get(url.pathname);
    if (route === undefined) {
      const known = [...ROUTES.keys()].join(', ');
      throw new ApiError(404, `there is no ${url.pathname} here, but ${known}, and /ws for WebSockets`, 'UNKNOWN_PATH');
    }
    if (!route.keyless) requireAccess(request, apiKey);
    const { method = '' } = request;
    if (!route.methods.includes(method === 'HEAD' ? 'GET' : method)) {
      const message = `${url.pathname} takes ${route.methods.join(', ')}, not ${method}`;
      throw new ApiError(405, message, 'METHOD_NOT_ALLOWED', null, { allow: route.methods.join(', ') });
    }
    const body = await route.serve(this, visit);
    if (body !== undefined) answer(response, 200, body);
  }

  async reset({ request }: Visit): Promise<unknown> {
    const { start, episodeId = DEFAULT_EPISODE } = readReset(await this.#body(request));
    const known = this.#places.get(episodeId);
    if (known !== undefined) return known.use((session) => session.reset(start, episodeId));
    const place = this.grounds.sessions.open(() => this.#places.delete(episodeId), true);
    this.#places.set(episodeId, place);
    try {
      return await place.use((session) => session.reset(start, episodeId));
    } catch (error) {
      // A session that never began is nobody's.
      place.end();
      this.#places.delete(episodeId);
      throw error;
    }
  }

  async step({ request, signal }: Visit): Promise<unknown> {
    const { action, timeoutS, episodeId = DEFAULT_EPISODE } = readStep(await this.#body(request));
    return this.#placeOf(episodeId).use((session) => session.step(action, { timeoutS, signal }));
  }

  state({ url }: Visit): unknown {
    const episodeId = url.searchParams.get('episode_id');
    if (episodeId !== null) return this.#placeOf(episodeId).session.state;
    return this.#places.get(DEFAULT_EPISODE)?.session.state ?? NOT_BEGUN;
  }

  async mcp(visit: Visit): Promise<unknown> {
    const { request } = visit;
    const body = request.method === 'POST' ? await this.#body(request) : undefined;
    const { mcp } = this.grounds;
    if (mcp !== undefined && (request.method !== 'POST' || isMessage(body))) {
      await mcp(visit, body);
      return undefined;
    }
    // As OpenEnv's own servers answer what they do not speak: by 200, since clients read the error itself.
    const message = mcp === undefined ? 'MCP is off; awb simulate serves it with --mcp' : 'this is no JSON-RPC message';
    return { jsonrpc: '2.0', id: null, error: { code: -32600, message } };
  }

  #placeOf(episodeId: string): Place {
    const place = this.#places.get(episodeId);
    if (place === undefined) throw noEpisode(episodeId);
    return place;
  }

  async #body(request: IncomingMessage): Promise<unknown> {
    // A reset may come without any body.
    if (request.headers['content-length'] === '0') return {};
    return readJson(request, this.grounds.messageBytes, 'that a message may have (--message-kib)');
  }
}

/** Whether it is a message of JSON-RPC, or a list of them. */
function isMessage(body: unknown): boolean {
  return [body].flat().some((message) => isObject(message) && 'jsonrpc' in message);
}
