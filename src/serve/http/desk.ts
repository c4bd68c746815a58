// What all requests share: the engine, which may still be loading, how many are taken, their counts, and how the server was set up.

import { randomInt } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { counted } from '../../core/figures.js';
import type { Engine, Usage } from '../engine-contract.js';
import { MOST_SEED, type ServerDefaults } from '../request/parameters.js';
import { ApiError, invalid, shuttingDown } from './api-error.js';
import { bodyLimitBytes, readJson } from './body.js';
import { type Gauges, openMetrics, type RequestRecord } from './metrics.js';

export interface DeskOptions {
  readonly apiKey?: string | undefined;
  /** Names that stand for the served model beside its own. */
  readonly aliases?: readonly string[];
  /** Requests that may wait for a slot, beside those that have one. */
  readonly queueLimit: number;
  /** For a request to arrive, head and body, and for a client to take the rest of a reply that has ended. */
  readonly requestTimeoutMs: number;
  /** Silence on a stream after which a comment is sent, so that neither clients nor proxies take it for dead. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Most tokens of thinking in any reply; unlimited where absent. */
  readonly thinkingBudget?: number | undefined;
  /** Told what clients are not: why the engine failed. */
  readonly onError?: (error: unknown) => void;
  /** Told of every request that has ended; never what was asked or answered. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
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
export type Handler = (desk: Desk, visit: Visit) => Promise<void> | void;

const MOST_RETRY_AFTER_S = 30;

export class Desk {
  readonly metrics = openMetrics();
  /** When the server started, in seconds since 1970. */
  readonly createdS = nowS();
  /** Set when no more requests for replies are taken. */
  isDraining = false;
  /** Undefined while it is loading, and where that failed. */
  #engine: Engine | undefined;
  /** Places taken and not yet given back: a slot, or a wait for one. */
  #admitted = 0;
  #usualMs = 0;

  /** What `engine` rejects with is the caller's. */
  constructor(
    engine: Engine | Promise<Engine>,
    readonly options: DeskOptions,
  ) {
    Promise.resolve(engine).then(
      (loaded) => {
        this.#engine = loaded;
      },
      () => {},
    );
  }

  get isLoading(): boolean {
    return this.#engine === undefined;
  }

  /** Throws an ApiError (503) while the model is loading. */
  get engine(): Engine {
    if (this.#engine !== undefined) return this.#engine;
    throw new ApiError(503, 'the model is still being loaded', 'model_loading', null, { 'retry-after': '5' });
  }

  get gauges(): Gauges {
    const busy = this.#engine?.busy ?? 0;
    const { slots = 0, contextSize = 0 } = this.#engine?.facts ?? {};
    return { busy, waiting: Math.max(0, this.#admitted - busy), slots, contextSize };
  }

  /** Throws as `engine`. */
  defaults(): ServerDefaults {
    const { aliases = [], thinkingBudget = Number.POSITIVE_INFINITY } = this.options;
    return { models: [this.engine.facts.name, ...aliases], thinkingBudget, seed: randomInt(MOST_SEED + 1) };
  }

  /** Throws as `engine` and `readJson`. */
  bodyOf({ request }: Visit): Promise<unknown> {
    return readJson(request, bodyLimitBytes(this.engine.facts.contextSize));
  }

  /**
   * Does the work of a request that needs `places` slots, one after the other or at the same time. Throws an ApiError: 503 when draining,
   * 429 with a time to come back when the queue is full, 400 where it never has room for so many.
   */
  async admit(places: number, work: () => Promise<void>): Promise<void> {
    const { slots } = this.engine.facts;
    const { queueLimit } = this.options;
    const admitted = this.#admitted;
    if (this.isDraining) throw shuttingDown();
    if (places > slots + queueLimit) {
      const message = `${counted(places, 'choice')} are more than the ${counted(slots, 'slot')} and ${counted(queueLimit, 'waiting place')} of this server`;
      throw invalid(message, 'n');
    }
    if (admitted + places > slots + queueLimit) {
      // About when the next slot is free: a reply's usual time, shared by the slots.
      const retryAfterS = Math.min(MOST_RETRY_AFTER_S, Math.max(1, Math.ceil(this.#usualMs / slots / 1_000)));
      const message = `${slots === 1 ? 'the slot is at work' : `all ${slots} slots work`} and ${counted(admitted - slots, 'request')} ${admitted - slots === 1 ? 'waits' : 'wait'} already; try again later`;
      throw new ApiError(429, message, 'queue_full', null, { 'retry-after': String(retryAfterS) });
    }
    this.#admitted += places;
    const startMs = performance.now();
    try {
      await work();
    } finally {
      this.#admitted -= places;
      this.#usualMs += (performance.now() - startMs - this.#usualMs) / 5;
    }
  }
}

export function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}
