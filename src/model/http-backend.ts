// The backend over HTTP: it asks one OpenAI-compatible endpoint or several, or a server that was started for this run alone.

import { isInteger, type JsonObject } from '../core/json.js';
import type { BackendOptions, OpenBackend } from './backend.js';
import { openContextWatch } from './context.js';
import { openDialect } from './endpoint/dialect.js';
import { OpenAiEndpoint } from './endpoint/endpoint.js';
import type { HttpProxy } from './http/proxy.js';
import { Pace } from './schedule/pace.js';
import { openPool } from './schedule/pool.js';

export interface NamedEndpoints {
  readonly baseUrls: readonly string[];
  /** The proxy in front of each base URL. */
  readonly proxies: readonly (HttpProxy | undefined)[];
  readonly model: string;
  /** Empty where none is needed. */
  readonly apiKey: string;
  /** Whose flags a remedy names. */
  readonly prefix: 'model' | 'judge' | 'agent';
  /**
   * For a server that runs for this run alone: how many requests it serves at once, and a signal that is aborted when it is
   * lost.
   */
  readonly own?: { readonly slots: number; readonly lost: AbortSignal };
}

/** Opens one endpoint for each base URL, and the pool over them. Reads what each server says about its model; that never fails. */
export async function openEndpoints(named: NamedEndpoints, options: BackendOptions): Promise<OpenBackend> {
  const { sampling, fitMaxTokens, allowParamDrop, dropped, rpm, tpm, reserve, clock, onNotice = () => {} } = options;
  const { own, model, apiKey, prefix: flagPrefix } = named;
  const dialect = options.dialect ?? openDialect({ allowParamDrop, onNotice, dropped });
  const context = openContextWatch({ maxTokens: sampling.maxTokens, fits: fitMaxTokens, onNotice });
  const pace = new Pace({ rpm, tpm, reserve, maxTokens: sampling.maxTokens, clock, onNotice });
  const shared = { ...options, model, apiKey, flagPrefix, dialect, context, pace };
  const endpoints = named.baseUrls.map(
    (baseUrl, index) => new OpenAiEndpoint({ ...shared, baseUrl, proxy: named.proxies[index] }),
  );
  const contexts = Promise.all(endpoints.map((endpoint) => endpoint.readContext())).then((all) =>
    all.filter((told) => told !== undefined),
  );
  // Whoever asks reports it.
  contexts.catch(() => {});
  const described = await Promise.all(endpoints.map((endpoint) => endpoint.facts()));
  const pool = openPool(endpoints, {
    ...options,
    pace,
    concurrency: options.concurrency === 'adaptive' ? (own?.slots ?? 'adaptive') : options.concurrency,
    ...ceilingOf(described),
  });
  return {
    models: described.filter((facts) => facts !== undefined),
    contexts: () => contexts,
    dropped: () => dialect.dropped(),
    async work(jobs, solve, signals, hooks) {
      await contexts;
      if (own === undefined) return pool.work(jobs, solve, signals, hooks);
      await pool.work(jobs, solve, { ...signals, abort: AbortSignal.any([signals.abort, own.lost]) }, hooks);
      own.lost.throwIfAborted();
    },
    status: () => pool.status(),
    close: () => pool.close(),
  };
}

/**
 * Calls beyond the slots of `awb serve` would wait there, and push out each other's kept states. Other servers do not tell
 * their slots.
 */
function ceilingOf(described: readonly (JsonObject | undefined)[]): { readonly ceiling?: number } {
  const slots = described.map((facts) => Number(facts?.slots));
  return slots.every((count) => isInteger(count) && count > 0) ? { ceiling: Math.min(...slots) } : {};
}
