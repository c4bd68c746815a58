// `awb serve` over HTTP: the routes, how many requests are admitted, and metrics for Prometheus.

import { randomInt } from 'node:crypto';
import { groupBy } from '../../core/groups.js';
import { type Engine, MOST_SEED, readTokenizeRequest } from '../request.js';
import { chatAsked, completionAsked, reply, sumOf } from './replies.js';
import {
  ApiError,
  answer,
  bodyLimitBytes,
  invalid,
  openSite,
  type RequestRecord,
  readJson,
  type Site,
  shuttingDown,
  toldOf,
  type Usage,
  type Visit,
} from './wire.js';

export interface ServerOptions extends Pick<Site, 'host' | 'port' | 'requestTimeoutMs'> {
  readonly apiKey?: string | undefined;
  /** Further names of the served model. */
  readonly aliases?: readonly string[];
  /** Requests that may wait for a slot, in addition to those that have one. */
  readonly queueLimit: number;
  /** Silence on a stream after which a comment is sent, so that clients and proxies do not give it up. Default 15 s. */
  readonly pingIntervalMs?: number;
  /** Most thinking tokens in any reply; unlimited if absent. */
  readonly thinkingBudget?: number | undefined;
  /** Called with why the engine failed, which clients do not see. */
  readonly onError?: (error: unknown) => void;
  /** Called for every request that has ended; never with its contents. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
}

export type RunningServer = Awaited<ReturnType<typeof startServer>>;

/** The key in `/v1/models` for the facts that scores depend on. */
const FACTS_KEY = 'agentworldbench';
/** Seconds. */
const RETRY_AFTER = { 'retry-after': '5' };

/**
 * Starts listening. While `engine` is a pending promise, the server answers 503 and `/health` says so; the caller handles its rejection.
 * Throws a UserError if the port is taken (69), or if the address cannot be used or is open to others without a key (2).
 */
export async function startServer(engine: Engine | Promise<Engine>, options: ServerOptions) {
  const { apiKey = '', aliases = [], queueLimit, thinkingBudget = Number.POSITIVE_INFINITY, onError } = options;
  const metrics = openMetrics();
  const createdS = Math.floor(Date.now() / 1_000);
  /** Whether requests for replies are refused. */
  let isDraining = false;
  /** Undefined while loading, and if loading failed. */
  let loaded: Engine | undefined;
  /** Places in use: a slot, or a wait for one. */
  let admitted = 0;
  Promise.resolve(engine).then(
    (opened) => {
      loaded = opened;
    },
    () => {},
  );
  const gauges = () => {
    const { slots = 0, contextSize = 0 } = loaded?.facts ?? {};
    const busy = loaded?.busy ?? 0;
    return { slots, contextSize, busy, waiting: Math.max(0, admitted - busy) };
  };
  /** The engine and the names of its model. Throws an ApiError (503) while loading. */
  const ready = () => {
    if (loaded !== undefined) return { engine: loaded, models: [loaded.facts.name, ...aliases] };
    throw new ApiError(503, 'the model is still being loaded', 'model_loading', null, RETRY_AFTER);
  };
  const bodyOf = ({ request }: Visit) => readJson(request, bodyLimitBytes(gauges().contextSize));

  /**
   * Serves a reply; each choice takes a slot or a place in the queue. Throws an ApiError: 503 while loading or draining, 429 when the
   * queue is full, and those of reading the request.
   */
  const replying = (read: typeof chatAsked) => async (visit: Visit) => {
    const { engine, models } = ready();
    const defaults = { models, thinkingBudget, seed: randomInt(MOST_SEED + 1) };
    const asked = await read(engine, await bodyOf(visit), defaults);
    const wanted = asked.calls.length;
    const places = engine.facts.slots + queueLimit;
    if (isDraining) throw shuttingDown();
    if (wanted > places) {
      throw invalid(`${wanted} choices are more than this server's ${places} places, including the queue`, 'n');
    }
    if (admitted + wanted > places) {
      const message = `${admitted} of ${places} places are taken by running or waiting requests; try again later`;
      throw new ApiError(429, message, 'queue_full', null, RETRY_AFTER);
    }
    admitted += wanted;
    try {
      const usages = await reply(engine, asked, visit.response, visit.signal, options);
      if (usages.length > 0) visit.usage = sumOf(usages);
    } finally {
      admitted -= wanted;
    }
  };

  const modelEntry = (id: string) => {
    const { facts } = ready().engine;
    const [root, max_model_len] = [facts.name, facts.contextSize];
    return { id, object: 'model', created: createdS, owned_by: FACTS_KEY, root, max_model_len, [FACTS_KEY]: facts };
  };

  const site = await openSite({
    ...options,
    apiKey,
    flags: { address: '--host', port: '--port', key: '--api-key' },
    routes: {
      'GET /health': ({ response }) => {
        const status = isDraining ? 'draining' : loaded === undefined ? 'loading' : 'ok';
        const { busy, waiting, slots } = gauges();
        answer(response, status === 'ok' ? 200 : 503, { status, busy, waiting, slots });
      },
      'GET /metrics': ({ response }) => {
        const { slots, busy: slots_busy, waiting: requests_waiting, contextSize: context_tokens } = gauges();
        const text = metrics.text({ slots, slots_busy, requests_waiting, context_tokens });
        answer(response, 200, text, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      },
      'GET /v1/models': () => ({ object: 'list', data: ready().models.map(modelEntry) }),
      'POST /v1/chat/completions': replying(chatAsked),
      'POST /v1/completions': replying(completionAsked),
      'POST /tokenize': async (visit) => {
        const { engine, models } = ready();
        const { prompt, options } = readTokenizeRequest(await bodyOf(visit), models);
        const tokens = await engine.tokenize(prompt, options);
        return { count: tokens.length, max_model_len: engine.facts.contextSize, tokens };
      },
    },
    toldOf: (error, signal) => toldOf(error, signal, onError),
    bodyOf: ({ body }) => body,
    onRequest(record, route = 'other') {
      metrics.count(route, record);
      options.onRequest?.(record);
    },
  });
  return {
    /** Without a path: chat completions are at `/v1/chat/completions` below it. */
    url: site.url,
    /** Closes the site (see `openSite`); the engine stays open. */
    close(drainMs: number): Promise<void> {
      isDraining = true;
      return site.close(drainMs);
    },
  };
}

/** A metric's type, by its name. */
function metricTypeOf(name: string): string {
  if (name.endsWith('_total')) return 'counter';
  return name.endsWith('_seconds') ? 'summary' : 'gauge';
}

function openMetrics() {
  /** By name and labels. */
  const values = new Map<string, number>();
  const add = (sample: string, value: number) => values.set(sample, (values.get(sample) ?? 0) + value);
  const addTokens = ({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage) => {
    add('prompt_tokens_total', promptTokens);
    add('cached_tokens_total', cachedTokens);
    add('completion_tokens_total', completionTokens);
    add('reasoning_tokens_total', reasoningTokens);
  };
  addTokens({ promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 });
  return {
    /** `path` must have few values, since each makes its own series; it is written unescaped. */
    count(path: string, { status, durationMs, usage }: RequestRecord): void {
      add(`requests_total{path="${path}",status="${status}"}`, 1);
      add(`request_duration_seconds_sum{path="${path}"}`, durationMs / 1_000);
      add(`request_duration_seconds_count{path="${path}"}`, 1);
      if (usage !== undefined) addTokens(usage);
    },
    /** The metrics in text format 0.0.4, with the gauges' current values. */
    text(gauges: Readonly<Record<string, number>>): string {
      const families = groupBy([...values, ...Object.entries(gauges)], ([sample]) =>
        sample.replace(/(?:_sum|_count)?(?:\{.*)?$/, ''),
      );
      const lines = Array.from(families, ([name, samples]) => [
        `# TYPE awb_serve_${name} ${metricTypeOf(name)}`,
        ...samples.map(([sample, value]) => `awb_serve_${sample} ${value}`),
      ]).flat();
      return `${lines.join('\n')}\n`;
    },
  };
}
