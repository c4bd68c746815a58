// Backends: the options to open them with, and the one over HTTP, which calls OpenAI-compatible endpoints or this run's own server.

import { closing } from '../core/errors.js';
import { isInteger, type JsonObject } from '../core/json.js';
import type { Backend } from '../core/types.js';
import { openContextWatch, type ServedContext } from './context.js';
import { type EndpointOptions, openEndpoint, openModels } from './endpoint/endpoint.js';
import { type Dialect, openDialect } from './endpoint/request.js';
import type { HttpProxy } from './http/address.js';
import { Wire } from './http/wire.js';
import type { ScheduleOptions } from './schedule/lane.js';
import { Pace, type PaceOptions } from './schedule/pace.js';
import { openPool } from './schedule/pool.js';

/** The options of every backend. If one is absent, the backend decides. */
export interface BackendOptions
  extends Omit<ScheduleOptions, 'pace'>,
    Pick<PaceOptions, 'rpm' | 'tpm' | 'reserve'>,
    Pick<EndpointOptions, 'sampling' | 'responseFormat' | 'stream' | 'clocks' | 'raw'> {
  /** After a context overflow, the request is sent once more with the remaining tokens as its budget. */
  readonly fitMaxTokens: boolean;
  /** A rejected parameter is left out from then on. */
  readonly allowParamDrop: boolean;
  /** Parameters left out from the start because an earlier session of the run found them rejected. */
  readonly dropped: readonly string[];
  /** What is known about the parameters, if a backend shares it with another; else each learns by itself. */
  readonly dialect?: Dialect;
}

/** A backend, and what it learned about the servers that it calls. */
export interface OpenBackend extends Backend {
  /** How `awb serve` describes its models; empty for any other server. */
  readonly models: readonly JsonObject[];
  /**
   * The context lengths of the servers that report them.
   * @throws UserError (2) if no prompt can fit together with the output budget
   */
  contexts(): Promise<readonly ServedContext[]>;
  /** The parameters that are left out, sorted: part of a run's identity. */
  dropped(): readonly string[];
}

export interface NamedEndpoints {
  readonly baseUrls: readonly string[];
  /** The proxy for each base URL. */
  readonly proxies: readonly (HttpProxy | undefined)[];
  readonly model: string;
  /** Empty if none is needed. */
  readonly apiKey: string;
  /** The prefix of the flags that a remedy names. */
  readonly prefix: 'model' | 'judge' | 'agent';
  /** For a server that runs only for this run: how many requests it serves at once, and a signal that is aborted when it is lost. */
  readonly own?: { readonly slots: number; readonly lost: AbortSignal };
}

/** Opens one endpoint for each base URL, and the pool over them. Reads what each server says about its model; that never fails. */
export async function openEndpoints(named: NamedEndpoints, options: BackendOptions): Promise<OpenBackend> {
  const { sampling, fitMaxTokens, allowParamDrop, dropped, onNotice = () => {} } = options;
  const { own, model, apiKey, prefix: flagPrefix } = named;
  const dialect = options.dialect ?? openDialect({ allowParamDrop, onNotice, dropped });
  const context = openContextWatch({ maxTokens: sampling.maxTokens, fits: fitMaxTokens, onNotice });
  const pace = new Pace({ ...options, maxTokens: sampling.maxTokens });
  const shared = { ...options, model, apiKey, flagPrefix, dialect, context, pace };
  const endpoints = named.baseUrls.map((baseUrl, index) =>
    openEndpoint({ ...shared, baseUrl, proxy: named.proxies[index] }),
  );
  const contexts = Promise.all(endpoints.map((endpoint) => endpoint.readContext())).then((all) =>
    all.filter((told) => told !== undefined),
  );
  // Marks a rejection as handled: it is reported where the promise is awaited.
  contexts.catch(() => {});
  const described = await Promise.all(endpoints.map((endpoint) => endpoint.facts()));
  // Calls beyond the slots of `awb serve` would wait there, and evict each other's cached states. Other servers do not report their
  // slots.
  const slots = described.map((facts) => Number(facts?.slots));
  const isTold = slots.every((count) => isInteger(count) && count > 0);
  const pool = openPool(endpoints, {
    ...options,
    pace,
    concurrency: options.concurrency === 'adaptive' ? (own?.slots ?? 'adaptive') : options.concurrency,
    ...(isTold && { ceiling: Math.min(...slots) }),
  });
  return {
    models: described.filter((facts) => facts !== undefined),
    contexts: () => contexts,
    dropped: () => dialect.dropped(),
    async work(jobs, solve, signals, hooks) {
      await contexts;
      const abort = own === undefined ? signals.abort : AbortSignal.any([signals.abort, own.lost]);
      await pool.work(jobs, solve, { ...signals, abort }, hooks);
      own?.lost.throwIfAborted();
    },
    status: () => pool.status(),
    close: () => pool.close(),
  };
}

/** What a server says about the model at /models; undefined for what it does not say. */
export type ServerFacts = Awaited<ReturnType<typeof serverFacts>>[number];

/**
 * Asks each server for its models, and for nothing else. A server that cannot be reached, or has no such list, says nothing.
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function serverFacts(named: NamedEndpoints) {
  const { baseUrls, proxies, apiKey, model } = named;
  return Promise.all(
    baseUrls.map((baseUrl, index) =>
      closing(new Wire(baseUrl, apiKey, proxies[index]), async (wire) => {
        const { names, context } = await openModels(wire, model)();
        const name = names.find((one) => one === model) ?? (names.length === 1 ? names[0] : undefined);
        /** Some servers refuse a prompt that fits unless its full output budget fits, too. */
        const { tokens: contextTokens, refusesBudgets } = context ?? {};
        return { host: wire.address.host, model: name, contextTokens, refusesBudgets };
      }),
    ),
  );
}
