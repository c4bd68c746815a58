// What asks, guarded: replies to requests of another form than the run's are not kept.

import { EXIT, UserError } from '../errors.js';
import { isObject } from '../json.js';
import type { OpenBackend } from '../model/backend.js';
import { openBackend } from '../model/open.js';
import { madeWith } from '../run/made-with.js';
import type { Backend } from '../types.js';
import type { AskingSettings } from './options.js';
import type { Run } from './run.js';
import { samplingOf } from './sampling.js';
import type { Target } from './target.js';

/** What asks, guarded: replies that were asked for with a parameter dropped since are not kept. */
interface Instrument {
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

/** Opened before the session's first row: the rows that are there belong to earlier sessions. */
export function openInstrument(run: Run, target: Target, settings: AskingSettings): Instrument {
  const finishedBefore = [...run.journal.entries.values()].filter((entry) => entry.summary.status === 'ok').length;
  const known = settings.allowParamDrop ? madeWith(run.stored).dropped : [];
  const marks = new Map<string, string>();
  let backend: OpenBackend | undefined;
  const dropped = () => backend?.dropped() ?? known;
  const sent = () => dropped().join(' ');
  // What the run's identity says; it lags behind what is sent until a reply shows whether the run may go on without it.
  let entered = sent();
  return {
    async open(notice) {
      backend = await openBackend(target, {
        sampling: samplingOf(settings),
        stream: settings.stream,
        clocks: {
          firstTokenTimeoutMs: settings.firstTokenTimeout * 1000,
          gapTimeoutMs: settings.gapTimeout * 1000,
          callTimeoutMs: settings.callTimeout * 1000,
        },
        fitMaxTokens: settings.fitMaxTokens,
        allowParamDrop: settings.allowParamDrop,
        dropped: known,
        concurrency: settings.concurrency,
        maxAttempts: settings.maxAttempts,
        retryMs: settings.retryMinutes * 60_000,
        waitReadyMs: settings.waitReady * 1000,
        keepGoing: settings.keepGoing,
        onNotice: notice,
      });
      for (const facts of backend.models) run.models.set(String(facts.sha256), facts);
      return backend;
    },
    starts(id) {
      marks.set(id, sent());
    },
    accepts(id) {
      if (sent() !== entered) {
        if (finishedBefore > 0) throw droppedTooLate(dropped(), finishedBefore);
        entered = sent();
        const { sampling } = run.identity;
        run.identity = { ...run.identity, sampling: { ...(isObject(sampling) ? sampling : {}), dropped: dropped() } };
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
