// The options by which infer and judge ask a model, and the backend that they open.

import { EXIT, UserError } from '../errors.js';
import { openContextWatch } from '../model/context.js';
import { type Dialect, openDialect } from '../model/dialect.js';
import { openEndpoint } from '../model/endpoint.js';
import { type HttpProxy, proxyFor } from '../model/proxy.js';
import { openBackend } from '../model/schedule.js';
import type { Identity, Manifest } from '../run/manifest.js';
import type { OptionTable, Settings } from '../settings/settings.js';
import type { Backend, Io, Sampling } from '../types.js';
import { LOCAL_OPTIONS, startLocal } from './local.js';
import type { Run } from './stage.js';

export const ASKING_OPTIONS = {
  ...LOCAL_OPTIONS,
  'max-tokens': {
    kind: 'integer',
    min: 1,
    default: 32768,
    group: 'Sampling',
    help: 'output budget, thinking included',
  },
  temperature: {
    kind: 'number',
    min: 0,
    words: ['default'],
    default: 0.6,
    group: 'Sampling',
    help: 'sampling temperature; the word default sends none',
  },
  'top-p': { kind: 'number', min: 0, max: 1, group: 'Sampling', help: 'sent only when given, like all below' },
  'top-k': { kind: 'integer', min: -1, group: 'Sampling', help: 'keep the K likeliest tokens' },
  'min-p': { kind: 'number', min: 0, max: 1, group: 'Sampling', help: 'least share of the likeliest token' },
  'presence-penalty': { kind: 'number', min: -2, max: 2, group: 'Sampling', help: 'penalty for repeated tokens' },
  'reasoning-effort': {
    kind: 'text',
    value: 'LEVEL',
    group: 'Sampling',
    help: 'reasoning effort, such as low or high',
  },
  seed: { kind: 'integer', min: 0, group: 'Sampling', help: 'seed; repeats and further attempts vary it reproducibly' },
  'extra-body': { kind: 'json', value: 'JSON', group: 'Sampling', help: 'object merged into the request body' },
  preset: {
    kind: 'choice',
    choices: ['model-card'],
    group: 'Sampling',
    help: 'model-card: top-p 0.95 and top-k 20 beside temperature 0.6',
  },
  'allow-param-drop': {
    kind: 'boolean',
    group: 'Sampling',
    help: "leave out a parameter that the server rejects; becomes part of the run's identity",
  },
  'fit-max-tokens': {
    kind: 'boolean',
    group: 'Sampling',
    help: 'where the context overflows, ask once more with the budget that fits, and flag the row',
  },
  concurrency: {
    kind: 'integer',
    min: 1,
    max: 4096,
    words: ['adaptive'],
    default: 'adaptive',
    group: 'Speed',
    help: 'calls in flight per endpoint, kept exactly; or adaptive, up to 256',
  },
  stream: { kind: 'boolean', default: true, group: 'Speed', help: 'ask for whole replies instead of streams' },
  'first-token-timeout': {
    kind: 'duration',
    min: 0.001,
    default: 900,
    group: 'Speed',
    help: 'longest wait for the first token',
  },
  'gap-timeout': {
    kind: 'duration',
    min: 0.001,
    default: 300,
    group: 'Speed',
    help: 'longest wait between two tokens',
  },
  'call-timeout': { kind: 'duration', min: 0.001, default: 3600, group: 'Speed', help: 'longest call' },
  'max-attempts': {
    kind: 'integer',
    min: 1,
    default: 6,
    group: 'Speed',
    help: 'tries of a call that fails in passing',
  },
  'retry-minutes': {
    kind: 'number',
    min: 0,
    default: 10,
    group: 'Speed',
    help: 'longest time of trying again, and longest outage of an endpoint',
  },
  'wait-ready': {
    kind: 'duration',
    min: 0,
    default: 0,
    group: 'Speed',
    help: 'longest wait for an engine that is still loading its model, such as 15m',
  },
  'keep-going': {
    kind: 'boolean',
    group: 'Speed',
    help: 'ask on although the first 20 rows failed in one way and none succeeded',
  },
} as const satisfies OptionTable;

export type AskingSettings = Settings<typeof ASKING_OPTIONS>;

/** The values to send, from flags and preset; what is absent is not sent. */
export function samplingOf(settings: AskingSettings): Sampling {
  const preset = settings.preset === 'model-card' ? { topP: 0.95, topK: 20 } : {};
  return withoutUndefined({
    maxTokens: settings.maxTokens,
    temperature: settings.temperature === 'default' ? undefined : settings.temperature,
    topP: settings.topP ?? preset.topP,
    topK: settings.topK ?? preset.topK,
    minP: settings.minP,
    presencePenalty: settings.presencePenalty,
    reasoningEffort: settings.reasoningEffort,
    seed: settings.seed,
    extraBody: settings.extraBody,
  });
}

/**
 * What the numbers depend on of all that. Parameters dropped by an earlier session of the run are taken over where dropping is
 * still allowed; where it no longer is, the identity differs and says so.
 */
export function samplingIdentity(settings: AskingSettings, stored: Manifest | undefined): Identity {
  const dropped = settings.allowParamDrop ? droppedBefore(stored) : [];
  return {
    ...samplingOf(settings),
    ...(settings.fitMaxTokens && !wasAskedWithoutFit(stored) ? { fitMaxTokens: true } : {}),
    ...(dropped.length > 0 ? { dropped } : {}),
  };
}

/**
 * A run begun without `--fit-max-tokens` may go on with it: rows that did not overflow were asked in the same way, those that did
 * have no prediction, and each row that is fitted is flagged.
 */
function wasAskedWithoutFit(stored: Manifest | undefined): boolean {
  const sampling = stored?.identity.sampling;
  return typeof sampling === 'object' && sampling !== null && !('fitMaxTokens' in sampling);
}

/** The parameters that an earlier session of the run found rejected and left out. */
function droppedBefore(stored: Manifest | undefined): readonly string[] {
  const sampling = stored?.identity.sampling as { dropped?: readonly string[] } | undefined;
  return sampling?.dropped ?? [];
}

/** Which endpoint to ask, and under which flags the user named it. */
export interface Target {
  readonly prefix: 'model' | 'judge';
  readonly baseUrls: readonly string[];
  /** What each of them is asked through. */
  readonly proxies: readonly (HttpProxy | undefined)[];
  readonly model: string;
  readonly apiKey: string;
  /** What a run's identity holds of the model: its name, or the file that is served here. */
  readonly identity: unknown;
  /** Hosts and ports, fit for a manifest; a local server's port says nothing. */
  readonly hosts: readonly string[];
  readonly responseFormat?: unknown;
  /** Of a server that runs for this target alone: how many requests it serves at once, and how it was lost, once it was. */
  readonly own?: { readonly slots: number; readonly lost: AbortSignal };
  close(): Promise<void>;
}

/**
 * The target that the flags name; under --local the server is started here, and stopped by `close`.
 * @throws UserError (2) for a proxy in the environment that cannot be used
 */
export async function openTarget(
  prefix: Target['prefix'],
  named: {
    readonly baseUrls: readonly string[];
    readonly model: string | undefined;
    readonly apiKey: string | undefined;
    readonly local: string | undefined;
  },
  settings: AskingSettings,
  io: Io,
): Promise<Target> {
  if (named.local !== undefined) {
    const server = await startLocal(named.local, io, settings);
    const { url, name: model, apiKey, identity, close } = server;
    return {
      prefix,
      baseUrls: [url],
      proxies: [undefined],
      model,
      apiKey,
      identity,
      hosts: ['local'],
      own: server,
      close,
    };
  }
  const { baseUrls, model = '' } = named;
  return {
    prefix,
    baseUrls,
    proxies: baseUrls.map((url) => proxyFor(url, io.env)),
    model,
    apiKey: named.apiKey ?? openAiKey(baseUrls, io.env),
    identity: model,
    hosts: baseUrls.map((url) => new URL(url).host),
    async close() {},
  };
}

/** What asks, guarded: replies that were asked for with a parameter dropped since are not kept. */
export interface Instrument {
  open(notice: (text: string) => void): Promise<Backend>;
  /** Marks the moment at which a row's request is built. */
  starts(id: string): void;
  /**
   * Whether the row's reply was asked for with what is sent now; a dropped parameter enters the run's identity here.
   * @throws UserError (78) where rows of an earlier session were asked with it.
   */
  accepts(id: string): boolean;
  /** The mark of rows that belong to the run as its identity stands now: the dropped parameters, empty for none. */
  mark(): string;
}

/** `finishedBefore` is the number of rows that earlier sessions finished. */
export function openInstrument(run: Run, target: Target, settings: AskingSettings, finishedBefore: number): Instrument {
  const known = settings.allowParamDrop ? droppedBefore(run.stored) : [];
  const marks = new Map<string, string>();
  let dialect: Dialect | undefined;
  const dropped = () => dialect?.state().dropped ?? known;
  const sent = () => dropped().join(' ');
  // What the run's identity says; it lags behind what is sent until a reply shows whether the run may go on without it.
  let entered = sent();
  return {
    open(notice) {
      dialect = openDialect({ allowParamDrop: settings.allowParamDrop, onNotice: notice, initial: { dropped: known } });
      return openAsking(run, target, settings, dialect, notice);
    },
    starts(id) {
      marks.set(id, sent());
    },
    accepts(id) {
      if (sent() !== entered) {
        if (finishedBefore > 0) throw droppedTooLate(dropped(), finishedBefore);
        entered = sent();
        run.identity = { ...run.identity, sampling: { ...(run.identity.sampling as Identity), dropped: dropped() } };
      }
      const current = marks.get(id) === entered;
      marks.delete(id);
      return current;
    },
    mark: () => entered,
  };
}

function droppedTooLate(dropped: readonly string[], finished: number): UserError {
  return new UserError(
    `the endpoint now rejects ${dropped.join(', ')}, and ${finished} finished rows were asked with it; ask an endpoint that takes it, or leave it out from the start with --fresh`,
    EXIT.identityDiffers,
  );
}

/** More calls than `awb serve` has slots would wait there, and take each other's kept states. Other servers say nothing of slots. */
function ceilingOf(described: readonly (Identity | undefined)[]): { readonly ceiling?: number } {
  const slots = described.map((facts) => Number(facts?.slots));
  return slots.every((count) => Number.isSafeInteger(count) && count > 0) ? { ceiling: Math.min(...slots) } : {};
}

/** Opens one endpoint for each base URL, and the backend over them; what they say of their models enters the run's manifest. */
async function openAsking(
  run: Run,
  target: Target,
  settings: AskingSettings,
  dialect: Dialect,
  notice: (text: string) => void,
): Promise<Backend> {
  const context = openContextWatch({ maxTokens: settings.maxTokens, fits: settings.fitMaxTokens, onNotice: notice });
  const endpoints = target.baseUrls.map((baseUrl, index) =>
    openEndpoint({
      baseUrl,
      proxy: target.proxies[index],
      apiKey: target.apiKey,
      model: target.model,
      flagPrefix: target.prefix,
      sampling: samplingOf(settings),
      stream: settings.stream,
      clocks: {
        firstTokenTimeoutMs: settings.firstTokenTimeout * 1000,
        gapTimeoutMs: settings.gapTimeout * 1000,
        callTimeoutMs: settings.callTimeout * 1000,
      },
      fitMaxTokens: settings.fitMaxTokens,
      dialect,
      context,
      secrets: [target.apiKey],
      ...(target.responseFormat === undefined ? {} : { responseFormat: target.responseFormat }),
    }),
  );
  const contextRead = Promise.all(endpoints.map((endpoint) => endpoint.readContext()));
  contextRead.catch(() => {});
  const described = await Promise.all(endpoints.map((endpoint) => endpoint.facts()));
  const backend = openBackend(endpoints, {
    concurrency: settings.concurrency === 'adaptive' ? (target.own?.slots ?? 'adaptive') : settings.concurrency,
    ...ceilingOf(described),
    maxAttempts: settings.maxAttempts,
    retryMs: settings.retryMinutes * 60_000,
    waitReadyMs: settings.waitReady * 1000,
    keepGoing: settings.keepGoing,
    onNotice: notice,
  });
  return {
    async ask(jobs, hooks, signals) {
      await contextRead;
      const { lost } = target.own ?? {};
      if (lost === undefined) return backend.ask(jobs, hooks, signals);
      await backend.ask(jobs, hooks, { ...signals, abort: AbortSignal.any([signals.abort, lost]) });
      lost.throwIfAborted();
    },
    status: () => backend.status(),
    async close() {
      for (const facts of described) if (facts !== undefined) run.models.set(String(facts.sha256), facts);
      await backend.close();
    },
  };
}

/** `OPENAI_API_KEY` is meant for OpenAI alone, and goes to no other host unasked. */
function openAiKey(baseUrls: readonly string[], env: Io['env']): string {
  const atOpenAi = baseUrls.every((url) => new URL(url).hostname === 'api.openai.com');
  return (atOpenAi ? env.OPENAI_API_KEY : undefined) ?? '';
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
