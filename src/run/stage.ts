// A stage from beginning to end: ask the unfinished rows, assemble the output, and write the result to the manifest.

import { hostname } from 'node:os';
import { addUsage, costOf, costsByDomain, countsIn, type Price, usdOfBoth } from '../core/costs.js';
import { EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import { countBy, groupBy } from '../core/groups.js';
import { fingerprintOf } from '../core/identity.js';
import type { Domain, Io, Usage } from '../core/types.js';
import { sha256Of, sizeOf, writeLines } from '../disk/files.js';
import { toolVersion } from '../settings/command.js';
import { type DomainCost, type Manifest, writeManifest } from './manifest.js';
import { type OpenModel, openModel } from './model.js';
import type { RowSummary } from './run.js';
import { bothUnrecorded, runSession, type SessionResult } from './session.js';
import { isDone, nameOf, type Stage, type StageJob, type StageOutput, summaryOf } from './stage-contract.js';

export type StageResult = Awaited<ReturnType<typeof concludeRun>>;

/**
 * Asks whatever is not done, then assembles the output file and writes the manifest. Whatever ends the asking, finished rows are in the
 * journal, and the same command continues.
 * @throws UserError if the run had to stop (auth, unknown model, endpoint gone, disk full), and what a listener threw, after saving.
 */
export async function runStage<J extends StageJob>(stage: Stage<J>, open: OpenModel = openModel): Promise<StageResult> {
  const { run, settings } = stage;
  // While a batch is awaited, the command is repeated to read it, so rows that have failed meanwhile are not asked again each time. They
  // may still get results, if they were asked again before.
  const isAwaited = run.batch !== undefined;
  const isHeld = (job: J) => isAwaited && summaryOf(stage, job) !== undefined;
  const todo = stage.order.filter((job) => !isDone(stage, job) && (!isHeld(job) || stage.asks(job)));
  if (todo.length === 0) return concludeRun(stage);
  if (settings.batchDir !== undefined || settings.finishOnline || run.stored?.batch !== undefined) {
    const { chooseBatch } = await import('./batch/backend.js');
    await chooseBatch(run, settings, stage.io);
  }
  const save = () => writeManifest(run.manifestPath, manifestOf(stage, tallyOf(stage), 'running'));
  // From here on the manifest names no output, so a run killed before the end has its output assembled again.
  await save();
  const session = await runSession(stage, todo, save, isHeld, open);
  const { report } = session;
  // Kept while paid-for results may still arrive in the folder; those of rows that were asked live instead are no longer awaited.
  if (report === undefined) run.batch = run.stored?.batch;
  else if (report.parts.length === 0 || report.isOver) run.batch = undefined;
  return concludeRun(stage, session);
}

/**
 * Assembles the output of a run and writes its manifest.
 * @param session the result of asking; absent if nothing had to be asked
 * @throws UserError (74, 65), and what broke the session off
 */
export async function concludeRun<J extends StageJob>(stage: StageOutput<J>, session?: SessionResult) {
  const { run, listeners = [], beside } = stage;
  const { asked = 0, stopReason } = session ?? {};
  let error = session?.error;
  const note = (failure: unknown): undefined => {
    error ??= failure;
  };
  const form = fingerprintOf({ ...stage.outputForm, rows: stage.rows.length });
  const known = asked > 0 ? undefined : run.stored;
  const files = {
    output: await written(run.outputPath, form, known?.output, () => outputLines(stage)).catch(note),
    beside: beside && (await written(beside.path, form, known?.beside, beside.lines).catch(note)),
  };
  const tally = tallyOf(stage);
  // The run was killed after the last result: nothing chosen then is still awaited.
  if (session === undefined && tally.counts.chosen >= (run.stored?.counts.chosen ?? 0)) run.batch = undefined;
  const state = error === undefined ? stateOf(stage, tally, session) : 'stopped';
  const endedAt = session === undefined ? run.stored?.endedAt : new Date().toISOString();
  const manifest: Manifest = { ...manifestOf(stage, tally, state, endedAt, session), ...files };
  await writeManifest(run.manifestPath, manifest).catch(note);
  const exitCode = exitCodeOf(state, stage.io, session);
  const { ledger } = run;
  const result = { exitCode, ledger, asked, seconds: (performance.now() - run.openedAt) / 1000 };
  const closing = {
    ...{ ...nameOf(stage), ...result, manifest },
    ...(stopReason !== undefined && { reason: stopReason }),
    // The message of an unexpected error may contain anything.
    ...(error !== undefined && { exitCode: EXIT.unexpected, reason: 'an unexpected error' }),
    ...(error instanceof UserError && { exitCode: error.exitCode, reason: error.message }),
  };
  await Promise.all(listeners.map((listener) => listener.closes?.(closing)));
  if (error !== undefined) throw error;
  return {
    ...result,
    manifest,
    reasons: tally.reasons,
    /** Why a listener ended the session early. */
    stopReason,
    /** The state of the batch files, if the run asked through them. */
    batch: session?.report,
  };
}

function stateOf<J extends StageJob>(
  { io, absent }: StageOutput<J>,
  tally: Tally,
  session: SessionResult | undefined,
): Manifest['state'] {
  if (session !== undefined && io.stop.aborted) return 'interrupted';
  // Every chosen row is there and need not be asked again.
  if (tally.isDone && Object.values(absent).every((count) => count === 0)) return 'complete';
  if (session?.stopReason !== undefined) return 'stopped';
  return session?.report !== undefined && session.report.awaited > 0 ? 'awaiting' : 'incomplete';
}

function exitCodeOf(state: Manifest['state'], io: Io, session: SessionResult | undefined): ExitCode {
  if (state === 'interrupted') return interruption(io.stop);
  if (state === 'stopped' && session !== undefined) return session.stopCode;
  if (state === 'awaiting') return EXIT.later;
  return state === 'complete' ? EXIT.done : EXIT.incomplete;
}

function manifestOf<J extends StageJob>(
  { run, manifest }: StageOutput<J>,
  { chosen, counts, totals, tokens, costs }: Tally,
  state: Manifest['state'],
  endedAt?: string,
  session?: SessionResult,
): Manifest {
  const { calls: before = 0, seconds: earlier = 0 } = run.stored?.pace ?? {};
  const { calls = 0, seconds = 0 } = session?.pace ?? {};
  const unrecorded = session === undefined ? run.unrecorded : bothUnrecorded(run.unrecorded, session.unrecorded);
  const { settings, endpoints, data, predictions, price } = manifest;
  return {
    schema: 'awb.manifest/1',
    kind: run.kind,
    tool: { name: 'agentworldbench', version: toolVersion() },
    label: manifest.label ?? run.stored?.label,
    meta: { ...run.stored?.meta, ...manifest.meta },
    identity: run.identity,
    fingerprint: fingerprintOf(run.identity),
    ...{ settings, endpoints, servedModels: [...run.servedModels] },
    models: run.models.size === 0 ? undefined : [...run.models.values()],
    ...{ data, predictions, chosen, counts, tokens, price, costs },
    pace: before + calls === 0 ? undefined : { calls: before + calls, seconds: earlier + seconds },
    unrecorded: unrecorded.calls === 0 ? undefined : unrecorded,
    merged: run.stored?.merged,
    notices: [...new Set(run.notices)],
    ...{ startedAt: run.startedAt, state, endedAt, batch: run.batch },
    process: { pid: process.pid, host: hostname(), totals },
  };
}

type Output = NonNullable<Manifest['output']>;

/** @throws UserError (65) for a record that can no longer be read */
async function* outputLines<J extends StageJob>(stage: StageOutput<J>): AsyncGenerator<string> {
  const { run } = stage;
  for (const job of stage.rows) {
    if (summaryOf(stage, job) !== undefined) yield await stage.compose(job, run.journal.read(job.id));
  }
}

/**
 * Writes a file, unless no row has changed and the file on disk is already the same.
 * @param before what is known of a file that may be left unchanged
 * @throws UserError (74), and what the lines throw
 */
async function written(
  file: string,
  form: string,
  before: Output | undefined,
  lines: () => AsyncIterable<string>,
): Promise<Output> {
  const isThere = before?.form === form && (await sizeOf(file)) === before.bytes;
  if (isThere && (await sha256Of(file)) === before.sha256) return before;
  return { file, ...(await writeLines(file, lines())), form };
}

type Tally = ReturnType<typeof tallyOf>;

/** Totals are always computed from the rows, so that no interruption can make them drift. Each row is looked up once. */
function tallyOf<J extends StageJob>(stage: StageOutput<J>) {
  const { rows, between = [], absent } = stage;
  const all = [...rows, ...between];
  const domainOf = ({ domain }: StageJob) => domain;
  const summaries = new Map(all.map((job) => [job, summaryOf(stage, job)] as const));
  const found = rows.flatMap((job) => summaries.get(job) ?? []);
  const failed = found.filter(({ status }) => status === 'failed');
  const reasons: Record<string, string> = {};
  for (const { class: failure = 'unknown', reason } of failed) if (reason !== undefined) reasons[failure] ??= reason;
  // Counts each row once however often it is judged, including rows that cannot be asked: the denominator of coverage.
  const chosen = countBy(
    rows.filter(({ isFurther }) => !isFurther),
    domainOf,
  );
  for (const [domain, count] of Object.entries(absent)) chosen[domain] = (chosen[domain] ?? 0) + count;
  const unusable = Object.values(absent).reduce((sum, count) => sum + count, 0);
  const records = [...summaries].flatMap(([{ domain }, summary]) => (summary ? [[domain, summary] as const] : []));
  const tokens: Usage = {};
  for (const [, { usage }] of records) addUsage(tokens, usage);
  return {
    chosen,
    counts: {
      chosen: rows.length + unusable,
      ok: found.length - failed.length,
      failed: failed.length,
      notDone: rows.length - found.length,
      absent: unusable,
      failures: countBy(failed, ({ class: failure = 'unknown' }) => failure),
      flags: countBy(found.flatMap(({ flags }) => flags)),
    },
    /** Everything that should have a record: rows times repeats and judgements, and what must be asked before them. */
    totals: countBy(all, domainOf),
    tokens,
    /** The cost of the rows, by domain, over all their records. */
    costs: costsOf(records, stage.manifest.price),
    /** For each class of failure, the reason of its first row. */
    reasons,
    /** Whether no row needs asking again. */
    isDone: rows.every((job) => {
      const summary = summaries.get(job);
      return summary !== undefined && stage.isDone(job, summary);
    }),
  };
}

/** The cost of the rows of each domain, and the characters and tokens of their records that took one call. */
function costsOf(records: readonly (readonly [Domain, RowSummary])[], price: Price | undefined) {
  const costs: Record<Domain, DomainCost> = {};
  const sums = costsByDomain(records.map(([domain, summary]) => [domain, spentOn(summary, price)]));
  const ofDomain = groupBy(records, ([domain]) => domain);
  for (const [domain, { unpriced, ...cost }] of sums) {
    const counted = { rows: 0, chars: 0, promptTokens: 0 };
    for (const [, { chars, usage }] of ofDomain.get(domain) ?? []) {
      if (chars === undefined || usage.promptTokens === undefined) continue;
      counted.rows++;
      counted.chars += chars;
      counted.promptTokens += usage.promptTokens;
    }
    costs[domain] = { ...cost, ...(unpriced > 0 && { unpriced }), ...(counted.rows > 0 && { counted }) };
  }
  return costs;
}

/** The cost of a row's records, each priced by its own calls. A row that needed no call cost nothing. */
function spentOn({ taken }: RowSummary, price: Price | undefined) {
  const usage: Usage = {};
  let usd = taken.length === 0 ? 0 : undefined;
  for (const record of taken) {
    const counts = countsIn(record.usage);
    addUsage(usage, counts);
    usd = usdOfBoth(usd, price && costOf(counts, price, record.calls));
  }
  return { ...(taken.length > 0 && { log: { usage } }), usd };
}
