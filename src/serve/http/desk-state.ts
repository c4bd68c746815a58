// What the handlers of requests share: the engine, which may still be loading, its counts, and how the server was set up.

import { randomInt } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine, Usage } from '../engine-contract.js';
import { MOST_SEED, type ServerDefaults } from '../request/parameters.js';
import type { Admission } from './admission.js';
import { ApiError } from './api-error.js';
import { bodyLimitBytes, readJson } from './body.js';
import type { Metrics, RequestRecord } from './metrics.js';

export interface DeskOptions {
  readonly apiKey?: string;
  /** Names that stand for the served model beside its own. */
  readonly aliases?: readonly string[];
  /** Requests that may wait for a slot, beside those that have one. */
  readonly queueLimit: number;
  /** For a request to arrive, head and body, and for a client to take the rest of a reply that has ended. */
  readonly requestTimeoutMs: number;
  /** Silence on a stream after which a comment is sent, so that neither clients nor proxies take it for dead. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Most tokens of thinking in any reply; unlimited where absent. */
  readonly thinkingBudget?: number;
  /** Told what clients are not: why the engine failed. */
  readonly onError?: (error: unknown) => void;
  /** Told of every request that has ended; never what was asked or answered. */
  readonly onRequest?: (record: RequestRecord) => void;
}

export interface DeskState {
  readonly options: DeskOptions;
  readonly admission: Admission;
  readonly metrics: Metrics;
  /** When the server started, in seconds since 1970. */
  readonly createdS: number;
  /** Undefined while it is loading, and where that failed. */
  engine: Engine | undefined;
}

/** A request and what is known of it while it is served. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Without its query. */
  readonly path: string;
  /** Aborts when the client is gone, or when the server will not wait for the reply any longer. */
  readonly signal: AbortSignal;
  /** Of each choice of a reply. */
  usages: readonly Usage[];
}

/** Serves a request to its end, or throws what a client is then told. */
export type Handler = (desk: DeskState, visit: Visit) => Promise<void> | void;

/** Throws an ApiError (503) while the model is loading. */
export function loadedEngine({ engine }: DeskState): Engine {
  if (engine !== undefined) return engine;
  throw new ApiError(503, 'the model is still being loaded', 'model_loading', null, { 'retry-after': '5' });
}

/** Throws as `loadedEngine`. */
export function serverDefaults(desk: DeskState): ServerDefaults {
  const { aliases = [], thinkingBudget = Number.POSITIVE_INFINITY } = desk.options;
  return {
    models: [loadedEngine(desk).facts.name, ...aliases],
    thinkingBudget,
    seed: randomInt(MOST_SEED + 1),
  };
}

/** Throws as `loadedEngine` and `readJson`. */
export function bodyOf(desk: DeskState, { request }: Visit): Promise<unknown> {
  return readJson(request, bodyLimitBytes(loadedEngine(desk).facts.contextSize));
}

export function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}
