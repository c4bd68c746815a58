// What asks, guarded: replies to requests of another form than the run's are not kept.

import { EXIT, UserError } from '../errors.js';
import { openContextWatch } from '../model/context.js';
import { type Dialect, openDialect } from '../model/dialect.js';
import { openEndpoint } from '../model/endpoint.js';
import { openBackend } from '../model/schedule.js';
import type { Identity } from '../run/manifest.js';
import type { Backend } from '../types.js';
import type { AskingSettings } from './options.js';
import type { Run } from './run.js';
import { droppedBefore, samplingOf } from './sampling.js';
import type { Target } from './target.js';

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
