// A stage from beginning to end: rows that are not done are asked, the output is assembled, and the manifest says what it came to.

import { hostname } from 'node:os';
import type { BatchReport } from '../batch-report.js';
import { EXIT, type ExitCode, interruption, UserError } from '../errors.js';
import { fingerprintOf } from '../run/identity.js';
import type { Manifest } from '../run/manifest.js';
import { writeManifest } from '../run/manifest-file.js';
import { toolVersion } from '../settings/version.js';
import type { Ledger } from './ledger.js';
import { type Closing, nameOf, type StageListener } from './listeners.js';
import { assemble, assembleBeside } from './output.js';
import { askRows, bothUnrecorded, type SessionResult } from './session.js';
import { isDone, type Stage, type StageJob, summaryOf } from './stage-contract.js';
import { type Tally, tallyOf } from './tally.js';

export interface StageResult {
  readonly manifest: Manifest;
  readonly exitCode: ExitCode;
  /** For each class of failure the reason of its first row. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Rows settled in this session, and its wall time. */
  readonly asked: number;
  readonly seconds: number;
  /** Why a listener ended the session early. */
  readonly stopReason: string | undefined;
  /** What has come of batch files, where the run was asked by them. */
  readonly batch: BatchReport | undefined;
  /** What all sessions have spent. */
  readonly ledger: Ledger;
}

/**
 * Asks whatever is not done, then assembles the output file and writes the manifest. Whatever ends the asking, finished rows are
 * in the journal, and the same command continues.
 * @throws UserError where the run had to stop (auth, unknown model, endpoint gone, disk full), and what a listener threw, after saving.
 */
export async function runStage<J extends StageJob>(
  stage: Stage<J>,
  listeners: readonly StageListener[],
): Promise<StageResult> {
  const started = performance.now();
  const { run } = stage;
  const startedAt = run.stored?.startedAt ?? new Date().toISOString();
  // As long as a batch is awaited, the command is repeated to read it: what has failed meanwhile is not asked again each time. Results
  // may come for it all the same, where it was asked again before.
  const isAwaited = run.batch !== undefined;
  const isHeld = (job: J) => isAwaited && summaryOf(stage, job) !== undefined;
  const isOver = (job: J) => isDone(stage, job) || (isHeld(job) && !stage.asks(job));
  const todo = stage.order.filter((job) => !isOver(job));
  let session: SessionResult | undefined;
  if (todo.length > 0) {
    await stage.ready?.();
    const save = async () =>
      writeManifest(run.manifestPath, manifestOf(stage, tallyOf(stage), { startedAt, state: 'running' }));
    // From here on the manifest names no output, so a run killed before the end is assembled anew.
    await save();
    session = await askRows(stage, todo, listeners, save, isHeld);
    run.batch = awaitedBatch(run, session);
  }
  const { asked = 0, stopReason } = session ?? {};
  let error = session?.error;
  const endedAt = session === undefined ? run.stored?.endedAt : new Date().toISOString();
  const note = (failure: unknown) => {
    error ??= failure;
  };
  const output = await assemble(stage, asked > 0).catch(note);
  const beside = await assembleBeside(stage, asked > 0).catch(note);
  const tally = tallyOf(stage);
  // Killed behind the last result: nothing of what was chosen then is awaited any more.
  if (session === undefined && tally.counts.chosen >= (run.stored?.counts.chosen ?? 0)) run.batch = undefined;
  const state = stateOf(stage, tally, session, error !== undefined);
  const manifest = {
    ...manifestOf(stage, tally, { startedAt, state, ...(endedAt === undefined ? {} : { endedAt }) }, session),
    ...(output === undefined ? {} : { output }),
    ...(beside === undefined ? {} : { beside }),
  };
  await writeManifest(run.manifestPath, manifest).catch(note);
  const seconds = (performance.now() - started) / 1000;
  const exitCode = exitCodeOf(stage, state, session);
  const closing = { ...nameOf(stage), state, ...endOf(error, exitCode, stopReason), counts: tally.counts };
  const spent = { tokens: tally.tokens, ledger: run.ledger, asked, seconds };
  await Promise.all(listeners.map((listener) => listener.closes?.({ ...closing, ...spent })));
  if (error !== undefined) throw error;
  return {
    manifest,
    exitCode,
    reasons: tally.reasons,
    asked,
    seconds,
    stopReason,
    batch: session?.report,
    ledger: run.ledger,
  };
}

/** The code that the command exits with, and why it ended early. Of an unexpected error nobody knows what stands in its message. */
function endOf(
  error: unknown,
  exitCode: ExitCode,
  stopReason: string | undefined,
): Pick<Closing, 'exitCode' | 'reason'> {
  if (error instanceof UserError) return { exitCode: error.exitCode, reason: error.message };
  if (error !== undefined) return { exitCode: EXIT.unexpected, reason: 'an unexpected error' };
  return { exitCode, ...(stopReason !== undefined && { reason: stopReason }) };
}

function stateOf<J extends StageJob>(
  stage: Stage<J>,
  tally: Tally,
  session: SessionResult | undefined,
  isBroken: boolean,
): Manifest['state'] {
  if (isBroken) return 'stopped';
  if (session !== undefined && stage.io.stop.aborted) return 'interrupted';
  const isComplete = Object.values(stage.absent).every((count) => count === 0);
  if (isComplete && tally.isDone) return 'complete';
  if (session?.stopReason !== undefined) return 'stopped';
  return session?.report !== undefined && session.report.awaited > 0 ? 'awaiting' : 'incomplete';
}

/** The batch folder, as long as a result may come in it that is paid for; what was asked live instead is waited for no more. */
function awaitedBatch({ batch, stored }: Stage<StageJob>['run'], { report }: SessionResult): Manifest['batch'] {
  // Nothing was looked at, so that all is as it was.
  if (report === undefined) return stored?.batch;
  return report.parts.length > 0 && !report.isOver ? batch : undefined;
}

function exitCodeOf<J extends StageJob>(
  { io }: Stage<J>,
  state: Manifest['state'],
  session: SessionResult | undefined,
): ExitCode {
  if (state === 'interrupted') return interruption(io.stop);
  if (state === 'stopped' && session !== undefined) return session.stopCode;
  if (state === 'awaiting') return EXIT.later;
  return state === 'complete' ? EXIT.done : EXIT.incomplete;
}

function manifestOf<J extends StageJob>(
  stage: Stage<J>,
  { chosen, counts, totals, tokens, costs }: Tally,
  times: Pick<Manifest, 'startedAt' | 'state' | 'endedAt'>,
  session?: SessionResult,
): Manifest {
  const { run, manifest } = stage;
  const { calls: before = 0, seconds: earlier = 0 } = run.stored?.pace ?? {};
  const { calls = 0, seconds = 0 } = session?.pace ?? {};
  const pace = { calls: before + calls, seconds: earlier + seconds };
  const unrecorded = session === undefined ? run.unrecorded : bothUnrecorded(run.unrecorded, session.unrecorded);
  const label = manifest.label ?? run.stored?.label;
  return {
    schema: 'awb.manifest/1',
    kind: run.kind,
    tool: { name: 'agentworldbench', version: toolVersion() },
    ...(label === undefined ? {} : { label }),
    meta: { ...run.stored?.meta, ...manifest.meta },
    identity: run.identity,
    fingerprint: fingerprintOf(run.identity),
    settings: manifest.settings,
    endpoints: manifest.endpoints,
    servedModels: [...run.servedModels],
    ...(run.models.size === 0 ? {} : { models: [...run.models.values()] }),
    data: manifest.data,
    ...(manifest.predictions === undefined ? {} : { predictions: manifest.predictions }),
    chosen,
    counts,
    tokens,
    ...(manifest.price === undefined ? {} : { price: manifest.price }),
    costs,
    ...(pace.calls === 0 ? {} : { pace }),
    ...(unrecorded.calls === 0 ? {} : { unrecorded }),
    ...(run.stored?.merged === undefined ? {} : { merged: run.stored.merged }),
    notices: [...new Set(run.notices)],
    ...times,
    ...(run.batch === undefined ? {} : { batch: run.batch }),
    process: { pid: process.pid, host: hostname(), totals },
  };
}
