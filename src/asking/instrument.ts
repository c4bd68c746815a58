// How a stage's model is opened and asked, and what a record depends on beside its row: parameters that the server has rejected.

import { EXIT, UserError } from '../errors.js';
import { isObject } from '../json.js';
import type { BackendOptions, OpenBackend } from '../model/backend.js';
import { openEndpoints } from '../model/http-backend.js';
import type { Identity } from '../run/identity.js';
import { madeWith } from '../run/made-with.js';
import { Reserve } from './budget.js';
import type { BatchSettings } from './by-batch/options.js';
import type { AskingSettings, CallSettings } from './options.js';
import type { Run } from './run.js';
import { samplingOf } from './sampling.js';
import type { AskModel, Solved, Stage, StageJob } from './stage-contract.js';
import type { Target } from './target.js';
import { sayWhatIsTooLong } from './too-long.js';

/** A stage that asks through an instrument: it says what a record depends on, and the instrument when to ask again. */
export interface AskedStage<J extends StageJob>
  extends Omit<Stage<J>, 'isStale' | 'ready' | 'openBackend' | 'solve' | 'sent' | 'madeFrom'> {
  /** What to tell the user once a model is to be asked. */
  readonly remarks?: readonly string[];
  /**
   * What a record is made from and with, in one text that stands in its log. `mark` tells what is sent beside the messages;
   * `failure` is the record's class of failure, if it failed, and `recorded` the stamp that it has. A record with another stamp counts as
   * not there.
   */
  stampOf(job: J, failure: string | undefined, mark: string, recorded: string): string;
  /** As a stage has it; `mark` is that of what was asked. */
  solve(jobs: readonly J[], ask: AskModel, mark: () => string): AsyncIterable<Solved<J>>;
  placeOf(job: J): { readonly place: string; readonly bytes: number } | undefined;
}

interface Instrument {
  /** The mark of rows that belong to the run as its identity stands now: the dropped parameters, empty for none. */
  mark(): string;
  /** The stage, asked through this instrument. */
  guard<J extends StageJob>(stage: AskedStage<J>): Stage<J>;
}

/**
 * Opened before the session's first row: the rows that are there belong to earlier sessions.
 * @param responseFormat the form that replies are held to, where there is one
 */
export function openInstrument(
  run: Run,
  target: Target,
  settings: AskingSettings & BatchSettings & { readonly fresh: boolean },
  responseFormat?: unknown,
): Instrument {
  const known = settings.allowParamDrop ? madeWith(run.stored).dropped : [];
  let backend: OpenBackend | undefined;
  const dropped = () => backend?.dropped() ?? known;
  const sent = () => dropped().join(' ');
  // What the run's identity says; it lags behind what is sent until a reply shows whether the run may go on without it.
  let entered = sent();
  /** @throws UserError (78) where rows of an earlier session were asked with what is dropped now. */
  const enter = () => {
    if (sent() === entered) return;
    if (run.finishedBefore > 0) throw droppedTooLate(dropped(), run.finishedBefore);
    entered = sent();
    run.identity = withDropped(run.identity, dropped());
  };
  return {
    mark: () => entered,
    guard: ({ remarks = [], stampOf, solve, ...stage }) => ({
      ...stage,
      isStale: (job, { class: failure, stamp }) => stamp !== stampOf(job, failure, entered, stamp),
      solve: (jobs, ask) => solve(jobs, ask, () => entered),
      sent: { now: sent, entered: () => entered, enter },
      madeFrom: (job) => stampOf(job, undefined, sent(), ''),
      async ready() {
        if (settings.batchDir === undefined && !settings.finishOnline && run.stored?.batch === undefined) return;
        const { chooseBatch, requireAffordable } = await import('./by-batch/run-batch.js');
        if (await chooseBatch(run, settings, stage.io)) await requireAffordable(this, target, settings);
      },
      async openBackend(notice) {
        for (const remark of remarks) notice(remark);
        const reserve = reserveFor(run, settings);
        const options = { ...backendOptions(settings), responseFormat, dropped: known, reserve, onNotice: notice };
        if (run.batch === undefined) backend = await openEndpoints(target.named, options);
        else {
          const { openBatch } = await import('./by-batch/backend.js');
          const { manifest, io } = stage;
          const asked = { run, settings, shown: manifest.settings, cwd: io.cwd, endpoints: target.named };
          backend = await openBatch({ ...asked, dir: run.batch.dir, onDropped: enter }, options);
        }
        for (const facts of backend.models) run.models.set(String(facts.sha256), facts);
        await sayWhatIsTooLong(stage, backend, settings, notice);
        return backend;
      },
    }),
  };
}

/** What keeps back the cost of calls in flight; undefined where there is no budget. */
function reserveFor({ ledger }: Run, settings: AskingSettings): BackendOptions['reserve'] {
  const { budgetUsd, budgetTokens, maxTokens } = settings;
  if (budgetUsd === undefined && budgetTokens === undefined) return undefined;
  const reserve = new Reserve(ledger, settings);
  return (chars) => reserve.take(chars, maxTokens, ledger);
}

function withDropped(identity: Identity, dropped: readonly string[]): Identity {
  const { sampling } = identity;
  return { ...identity, sampling: { ...(isObject(sampling) ? sampling : {}), dropped } };
}

/** What the settings say of how a model is asked. */
export function backendOptions(settings: CallSettings) {
  return {
    sampling: samplingOf(settings),
    stream: settings.stream,
    clocks: {
      firstTokenTimeoutMs: settings.firstTokenTimeout * 1000,
      gapTimeoutMs: settings.gapTimeout * 1000,
      callTimeoutMs: settings.callTimeout * 1000,
    },
    fitMaxTokens: settings.fitMaxTokens,
    allowParamDrop: settings.allowParamDrop,
    concurrency: settings.concurrency,
    maxAttempts: settings.maxAttempts,
    retryMs: settings.retryMinutes * 60_000,
    waitReadyMs: settings.waitReady * 1000,
    keepGoing: settings.keepGoing,
    rpm: settings.rpm,
    tpm: settings.tpm,
  };
}

function droppedTooLate(dropped: readonly string[], finished: number): UserError {
  return new UserError(
    `the endpoint now rejects ${dropped.join(', ')}, and ${finished} finished rows were asked with it; ask an endpoint that takes it, or leave it out from the start with --fresh`,
    EXIT.identityDiffers,
  );
}
