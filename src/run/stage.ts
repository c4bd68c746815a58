// A stage from beginning to end: rows that are not done are asked, the output is assembled, and the manifest says what it came to.

import { hostname } from 'node:os';
import type { BatchReport } from '../core/batch-report.js';
import { CostSums, usdOfBoth } from '../core/costs.js';
import { EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import { fingerprintOf } from '../core/identity.js';
import { costOf, type Price } from '../core/price.js';
import type { Domain, Usage } from '../core/types.js';
import { addUsage, countsIn } from '../core/usage.js';
import { sha256Of, sizeOf } from '../disk/file-reading.js';
import { writeLines } from '../disk/files.js';
import { toolVersion } from '../settings/version.js';
import type { Ledger } from './ledger.js';
import { type Counts, type DomainCost, type Manifest, writeManifest } from './manifest.js';
import { type OpenModel, openModel } from './model.js';
import type { RowSummary } from './run.js';
import { askRows, bothUnrecorded, type SessionResult } from './session.js';
import {
  type Closing,
  isDone,
  nameOf,
  type Stage,
  type StageJob,
  type StageListener,
  type StageOutput,
  summaryOf,
} from './stage-contract.js';

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
  open: OpenModel = openModel,
): Promise<StageResult> {
  const started = performance.now();
  const { run, settings } = stage;
  // As long as a batch is awaited, the command is repeated to read it: what has failed meanwhile is not asked again each time. Results
  // may come for it all the same, where it was asked again before.
  const isAwaited = run.batch !== undefined;
  const isHeld = (job: J) => isAwaited && summaryOf(stage, job) !== undefined;
  const isOver = (job: J) => isDone(stage, job) || (isHeld(job) && !stage.asks(job));
  const todo = stage.order.filter((job) => !isOver(job));
  if (todo.length === 0) return concludeRun(stage, { listeners, started });
  if (settings.batchDir !== undefined || settings.finishOnline || run.stored?.batch !== undefined) {
    const { chooseBatch, requireAffordable } = await import('./batch/run-batch.js');
    if (await chooseBatch(run, settings, stage.io)) await requireAffordable(stage);
  }
  const startedAt = run.stored?.startedAt ?? new Date().toISOString();
  const save = async () =>
    writeManifest(run.manifestPath, manifestOf(stage, tallyOf(stage), { startedAt, state: 'running' }));
  // From here on the manifest names no output, so a run killed before the end is assembled anew.
  await save();
  const session = await askRows(stage, todo, listeners, save, isHeld, open);
  run.batch = awaitedBatch(run, session);
  return concludeRun(stage, { listeners, started, startedAt, session });
}

/**
 * Assembles the output of a run and writes its manifest.
 * @param session what has come of asking; absent where nothing was to be asked
 * @throws UserError (74, 65), and what broke the session off
 */
export async function concludeRun<J extends StageJob>(
  stage: StageOutput<J>,
  {
    listeners = [],
    started = performance.now(),
    startedAt = stage.run.stored?.startedAt ?? new Date().toISOString(),
    session,
  }: {
    readonly listeners?: readonly StageListener[];
    readonly started?: number;
    readonly startedAt?: string;
    readonly session?: SessionResult;
  } = {},
): Promise<StageResult> {
  const { run } = stage;
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
  stage: StageOutput<J>,
  tally: Tally,
  session: SessionResult | undefined,
  isBroken: boolean,
): Manifest['state'] {
  if (isBroken) return 'stopped';
  if (session !== undefined && stage.io.stop.aborted) return 'interrupted';
  if (isComplete(stage, tally)) return 'complete';
  if (session?.stopReason !== undefined) return 'stopped';
  return session?.report !== undefined && session.report.awaited > 0 ? 'awaiting' : 'incomplete';
}

/** Whether every row that was chosen is there and need not be asked again. */
function isComplete({ absent }: Pick<StageOutput<StageJob>, 'absent'>, { isDone }: Tally): boolean {
  return isDone && Object.values(absent).every((count) => count === 0);
}

/** The batch folder, as long as a result may come in it that is paid for; what was asked live instead is waited for no more. */
function awaitedBatch({ batch, stored }: Stage<StageJob>['run'], { report }: SessionResult): Manifest['batch'] {
  // Nothing was looked at, so that all is as it was.
  if (report === undefined) return stored?.batch;
  return report.parts.length > 0 && !report.isOver ? batch : undefined;
}

function exitCodeOf<J extends StageJob>(
  { io }: StageOutput<J>,
  state: Manifest['state'],
  session: SessionResult | undefined,
): ExitCode {
  if (state === 'interrupted') return interruption(io.stop);
  if (state === 'stopped' && session !== undefined) return session.stopCode;
  if (state === 'awaiting') return EXIT.later;
  return state === 'complete' ? EXIT.done : EXIT.incomplete;
}

function manifestOf<J extends StageJob>(
  stage: Pick<StageOutput<J>, 'run' | 'manifest'>,
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

type Output = NonNullable<Manifest['output']>;

/** Writes the output file, unless no row has changed and the file on disk is already that. @throws UserError (74, 65) */
async function assemble<J extends StageJob>(stage: StageOutput<J>, changed: boolean): Promise<Output> {
  const { run } = stage;
  const lines = async function* () {
    for (const job of stage.rows) {
      if (summaryOf(stage, job) !== undefined) yield await stage.compose(job, run.journal.read(job.id));
    }
  };
  return written(run.outputPath, formOf(stage), changed ? undefined : run.stored?.output, lines);
}

/** The same of the file beside it; undefined where the stage has none. */
async function assembleBeside<J extends StageJob>(
  stage: StageOutput<J>,
  changed: boolean,
): Promise<Output | undefined> {
  const { beside, run } = stage;
  if (beside === undefined) return undefined;
  return written(beside.path, formOf(stage), changed ? undefined : run.stored?.beside, beside.lines);
}

function formOf<J extends StageJob>({ outputForm, rows }: StageOutput<J>): string {
  return fingerprintOf({ ...outputForm, rows: rows.length });
}

/** @param before what is known of the file that may be left as it is */
async function written(
  file: string,
  form: string,
  before: Output | undefined,
  lines: () => AsyncIterable<string>,
): Promise<Output> {
  if (before?.form === form && (await isAsWritten(file, before))) return before;
  return { file, ...(await writeLines(file, lines())), form };
}

async function isAsWritten(path: string, { bytes, sha256 }: Output): Promise<boolean> {
  return (await sizeOf(path)) === bytes && (await sha256Of(path)) === sha256;
}

interface Tally {
  /** Rows by domain, each once however often it is judged, those that cannot be asked included: the denominator of coverage. */
  readonly chosen: Manifest['chosen'];
  readonly counts: Counts;
  /** All that is to have a record, by domain: rows times repeats and judgements, and what else has to be asked before them. */
  readonly totals: Readonly<Record<Domain, number>>;
  /** The sum of what the rows' latest records cost; a kind of token that no server reported is absent. */
  readonly tokens: Usage;
  /** What the rows took, by domain: all of their records. */
  readonly costs: NonNullable<Manifest['costs']>;
  /** For each class of failure the reason of its first row. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Whether no row need be asked again. */
  readonly isDone: boolean;
}

/** Totals come from the rows themselves, every time, so that no interruption can make them drift. Each row is looked up once. */
function tallyOf<J extends StageJob>(stage: StageOutput<J>): Tally {
  const { rows, between = [], absent } = stage;
  const { price } = stage.manifest;
  const chosen: Record<Domain, number> = {};
  const totals: Record<Domain, number> = {};
  const failures: Record<string, number> = {};
  const flags: Record<string, number> = {};
  const reasons: Record<string, string> = {};
  const tokens: Usage = {};
  const costs = new Costs();
  let [ok, failed, isDone] = [0, 0, true];
  for (const [place, job] of [...rows, ...between].entries()) {
    const isRow = place < rows.length;
    if (isRow && !job.isFurther) add(chosen, job.domain, 1);
    add(totals, job.domain, 1);
    const summary = summaryOf(stage, job);
    if (isRow) isDone &&= summary !== undefined && stage.isDone(job, summary);
    if (summary === undefined) continue;
    addUsage(tokens, summary.usage);
    costs.add(job.domain, summary, price);
    if (!isRow) continue;
    for (const flag of summary.flags) add(flags, flag, 1);
    if (summary.status === 'ok') ok++;
    else {
      const { class: failure = 'unknown', reason } = summary;
      failed++;
      add(failures, failure, 1);
      if (reason !== undefined) reasons[failure] ??= reason;
    }
  }
  let unusable = 0;
  for (const [domain, count] of Object.entries(absent)) {
    add(chosen, domain, count);
    unusable += count;
  }
  const notDone = rows.length - ok - failed;
  const counts = { chosen: rows.length + unusable, ok, failed, notDone, absent: unusable, failures, flags };
  return { chosen, counts, totals, tokens, costs: costs.domains, reasons, isDone };
}

/** What the rows of each domain took, and what their records of one call tell of characters. */
class Costs {
  readonly #sums = new CostSums();
  readonly #counted = new Map<Domain, NonNullable<DomainCost['counted']>>();

  add(domain: Domain, summary: RowSummary, price: Price | undefined): void {
    this.#sums.add(domain, spentOn(summary, price));
    const { chars, usage } = summary;
    if (chars === undefined || usage.promptTokens === undefined) return;
    const before = this.#counted.get(domain) ?? { rows: 0, chars: 0, promptTokens: 0 };
    this.#counted.set(domain, {
      rows: before.rows + 1,
      chars: before.chars + chars,
      promptTokens: before.promptTokens + usage.promptTokens,
    });
  }

  get domains(): Tally['costs'] {
    const domains: Record<Domain, DomainCost> = {};
    for (const [domain, { unpriced, ...cost }] of this.#sums.domains) {
      const counted = this.#counted.get(domain);
      domains[domain] = { ...cost, ...(unpriced > 0 && { unpriced }), ...(counted && { counted }) };
    }
    return domains;
  }
}

/** What a row's records took, each priced by its own calls. One that needed no call took nothing. */
function spentOn({ attempts, usage, calls, earlier = [] }: RowSummary, price: Price | undefined) {
  const taken = attempts === 0 ? earlier : [...earlier, { usage, calls }];
  if (taken.length === 0) return { usd: 0 };
  const log = { usage: {} };
  let usd: number | undefined;
  for (const record of taken) {
    const counts = countsIn(record.usage);
    addUsage(log.usage, counts);
    usd = usdOfBoth(usd, price && costOf(counts, price, record.calls));
  }
  return { log, ...(usd === undefined ? {} : { usd }) };
}

function add(counts: Record<string, number>, name: string, more: number): void {
  counts[name] = (counts[name] ?? 0) + more;
}
