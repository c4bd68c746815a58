// What infer and judge share: a run folder opened or continued, its rows asked, journalled, and assembled into one file.

import { existsSync } from 'node:fs';
import { mkdir, rename, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { EXIT, type ExitCode, interruption, UserError } from '../errors.js';
import { isObject } from '../json.js';
import { clearRemains, sha256Of, writeLines } from '../run/files.js';
import { type Journal, type JournalRecord, openJournal } from '../run/journal.js';
import {
  type Counts,
  fingerprintOf,
  type Identity,
  type Manifest,
  readManifest,
  requireSameIdentity,
  writeManifest,
} from '../run/manifest.js';
import { openProgress, type Progress } from '../run/progress.js';
import { toolVersion } from '../settings/version.js';
import { lockFile } from '../store/lock.js';
import type { Backend, Domain, Io, Job, ModelOutcome, ModelRequest, Usage } from '../types.js';
import { addUsage } from '../usage.js';

/** One row to be asked once: a row of the data, in one of its repeats. */
export interface StageJob extends Job {
  /** The journal's id of the row and repeat. */
  readonly id: string;
  readonly domain: Domain;
}

/** What stays in memory of a finished row. */
export interface RowSummary {
  readonly status: 'ok' | 'failed';
  readonly class?: string;
  /** Of a failed row. */
  readonly reason?: string;
  readonly flags: readonly string[];
  readonly usage: Usage;
  /** The stage's own mark of what the record was made from or with (see `Stage.isStale`). */
  readonly stamp?: string;
}

/** An open run folder: locked, its journal loaded, its identity checked. */
export interface Run {
  readonly kind: Manifest['kind'];
  readonly outputPath: string;
  readonly journalPath: string;
  readonly manifestPath: string;
  readonly journal: Journal<RowSummary>;
  /** The manifest found on opening. */
  readonly stored: Manifest | undefined;
  /** Rewritten where the run learns what belongs to its identity only while asking (a dropped parameter, the judge's snapshot). */
  identity: Identity;
  readonly notices: string[];
  readonly servedModels: Set<string>;
  /** What `awb serve` said of its models, by the file's SHA-256. */
  readonly models: Map<string, Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

/**
 * Opens `<dir>/<name>.jsonl` with its journal and manifest for this process alone.
 * `identity` is given the stored manifest, from which it may take over what only asking can find out.
 * @throws UserError 73 (folder, lock), 78 (begun under another identity), 65 (manifest unreadable).
 */
export async function openRun(options: {
  readonly kind: Manifest['kind'];
  readonly dir: string;
  readonly name: string;
  readonly fresh: boolean;
  readonly identity: (stored: Manifest | undefined) => Identity;
  readonly summarise: (record: JournalRecord) => RowSummary;
}): Promise<Run> {
  const { kind, dir, name } = options;
  const outputPath = join(dir, `${name}.jsonl`);
  const journalPath = join(dir, `${name}.journal.jsonl`);
  const manifestPath = join(dir, `${name}.manifest.json`);
  await makeFolder(dir);
  const release = await lockFile(join(dir, `.${name}.lock`), await describeHolder(manifestPath, dir));
  let close = async () => {};
  try {
    for (const path of [outputPath, manifestPath]) await clearRemains(path);
    if (options.fresh) await setAside(dir, [outputPath, journalPath, manifestPath]);
    const found = await readManifest(manifestPath);
    if (found === undefined) await requireNoStray([outputPath, journalPath]);
    const journal = await openJournal(journalPath, (record) => requireSummary(options.summarise(record)));
    close = () => journal.close();
    // A run that holds nothing yet binds nobody: after a mistyped model the command is simply given again.
    const isBegun = journal.entries.size > 0 || ((await sizeOf(outputPath)) ?? 0) > 0;
    const stored = isBegun ? found : undefined;
    const identity = options.identity(stored);
    if (stored !== undefined) requireSameIdentity(stored.identity, identity, manifestPath);
    return {
      kind,
      outputPath,
      journalPath,
      manifestPath,
      journal,
      stored,
      identity,
      notices: [...(stored?.notices ?? []), ...(journal.repaired === undefined ? [] : [journal.repaired])],
      servedModels: new Set(stored?.servedModels ?? []),
      models: new Map((stored?.models ?? []).map((model) => [String(model.sha256), model])),
      async close() {
        await journal.close();
        release();
      },
    };
  } catch (error) {
    await close();
    release();
    throw error;
  }
}

/** @throws TypeError for what no stage writes; records of earlier versions have no checksum that would tell. */
function requireSummary(summary: RowSummary): RowSummary {
  const { status, class: failure, reason, flags, usage, stamp } = summary;
  const texts = [failure, reason, stamp].filter((text) => text !== undefined);
  const counts = isObject(usage) ? Object.values(usage) : [undefined];
  const isSound =
    (status === 'ok' || status === 'failed') &&
    [...texts, ...flags].every((text) => typeof text === 'string') &&
    counts.every((count) => count === null || typeof count === 'number');
  if (!isSound) throw new TypeError('a record of this kind is never written');
  return summary;
}

export interface Stage<J extends StageJob> {
  readonly io: Io;
  readonly run: Run;
  readonly settings: {
    readonly quiet: boolean;
    readonly verbose: boolean;
    readonly color: boolean;
    readonly fresh: boolean;
  };
  /** Every row that the run chose or has a record of, in output order. */
  readonly rows: readonly J[];
  /** The chosen ones in the order of asking. */
  readonly order: readonly J[];
  /** Whether a record was made from something that has changed since: it then counts as not there. */
  isStale(job: J, summary: RowSummary): boolean;
  /** Whether a row with this record need not be asked again when the command is repeated. */
  isDone(job: J, summary: RowSummary): boolean;
  /** The record of a row that needs no model, or undefined where it has to be asked. */
  settleAlone(job: J): Promise<JournalRecord | undefined>;
  /** Opened only when a row has to be asked. */
  openBackend(notice: (text: string) => void): Promise<Backend>;
  request(job: J): Promise<ModelRequest>;
  /** The record of an outcome, or undefined to have the row asked again at once. */
  settle(job: J, outcome: Exclude<ModelOutcome, { status: 'interrupted' }>): Promise<JournalRecord | undefined>;
  /** The output line of a row. */
  compose(job: J, record: JournalRecord): Promise<string>;
  /** Changes of these make the output be written again although no row was asked. */
  readonly outputForm: Readonly<Record<string, unknown>>;
  /** What the manifest holds beside the counts. */
  readonly manifest: Pick<Manifest, 'meta' | 'settings' | 'data' | 'endpoints' | 'label' | 'predictions'>;
  /** Chosen rows that cannot be asked at all, by domain: unusable lines of the data, rows without a prediction. */
  readonly absent: Readonly<Record<string, number>>;
}

export interface StageResult {
  readonly manifest: Manifest;
  readonly exitCode: ExitCode;
  /** For each class of failure the reason of its first row. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Rows settled in this session, and its wall time. */
  readonly asked: number;
  readonly seconds: number;
}

/** How long calls in flight may go on after the first interrupt. */
const DRAIN_MS = 3_000;
/** Rows settled without a model are made durable together. */
const ALONE_AT_ONCE = 64;

/**
 * Asks whatever is not done, then assembles the output file and writes the manifest. Whatever ends the asking, finished rows are
 * in the journal, and the same command continues.
 * @throws UserError where the run had to stop (auth, unknown model, endpoint gone, disk full), after saving.
 */
export async function runStage<J extends StageJob>(stage: Stage<J>): Promise<StageResult> {
  const started = performance.now();
  const startedAt = stage.run.stored?.startedAt ?? new Date().toISOString();
  const todo = stage.order.filter((job) => !isDone(stage, job));
  let asked = 0;
  let state: Manifest['state'] = 'complete';
  let stopped: unknown;
  if (todo.length > 0) {
    const save = () => writeManifest(stage.run.manifestPath, manifestOf(stage, { startedAt, state: 'running' }));
    // From here on the manifest names no output, so a run killed before the end is assembled anew.
    await save();
    try {
      await askAll(stage, todo, save, () => asked++);
    } catch (error) {
      stopped = error;
    }
    if (stopped !== undefined) state = 'stopped';
    else if (stage.io.stop.aborted) state = 'interrupted';
  }
  const endedAt = todo.length > 0 ? new Date().toISOString() : stage.run.stored?.endedAt;
  let output: Manifest['output'];
  try {
    output = await assemble(stage, asked > 0);
  } catch (error) {
    stopped ??= error;
    state = 'stopped';
  }
  if (state === 'complete' && !isComplete(stage)) state = 'incomplete';
  const manifest = {
    ...manifestOf(stage, { startedAt, state, ...(endedAt === undefined ? {} : { endedAt }) }),
    ...(output === undefined ? {} : { output }),
  };
  try {
    await writeManifest(stage.run.manifestPath, manifest);
  } catch (error) {
    stopped ??= error;
  }
  if (stopped !== undefined) throw stopped;
  const seconds = (performance.now() - started) / 1000;
  return { manifest, exitCode: exitCodeOf(stage, state), reasons: reasonsOf(stage), asked, seconds };
}

/** Whether every chosen row is there and need not be asked again. */
function isComplete<J extends StageJob>(stage: Stage<J>): boolean {
  return Object.values(stage.absent).every((count) => count === 0) && stage.rows.every((job) => isDone(stage, job));
}

function exitCodeOf<J extends StageJob>(stage: Stage<J>, state: Manifest['state']): ExitCode {
  if (state === 'interrupted') return interruption(stage.io.stop);
  return state === 'complete' ? EXIT.done : EXIT.incomplete;
}

function isDone<J extends StageJob>(stage: Stage<J>, job: J): boolean {
  const summary = summaryOf(stage, job);
  return summary !== undefined && stage.isDone(job, summary);
}

/** The row's record in short; undefined where it has none, or a stale one. */
function summaryOf<J extends StageJob>(stage: Stage<J>, job: J): RowSummary | undefined {
  const summary = stage.run.journal.entries.get(job.id)?.summary;
  return summary === undefined || stage.isStale(job, summary) ? undefined : summary;
}

async function askAll<J extends StageJob>(
  stage: Stage<J>,
  todo: readonly J[],
  save: () => Promise<void>,
  onSettled: () => void,
): Promise<void> {
  const { io, run } = stage;
  const progress = startProgress(stage, todo);
  const notice = (text: string) => {
    run.notices.push(text);
    progress.notice(text);
  };
  if (run.journal.repaired !== undefined) progress.notice(run.journal.repaired);
  let backend: Backend | undefined;
  const abort = new AbortController();
  let drain: NodeJS.Timeout | undefined;
  io.setLastWords(`ended at once: all finished rows are saved; ${sameCommand(stage.settings.fresh)} continues`);
  const onStop = () => {
    progress.notice(`stopping: ${DRAIN_MS / 1000} s for calls in flight; interrupt again to end at once`);
    drain = setTimeout(() => abort.abort(), DRAIN_MS);
  };
  io.stop.addEventListener('abort', onStop, { once: true });
  // What a row was asked with is on the disk before the row is: otherwise a killed run would not know its own rows again.
  let saved = run.identity;
  let saving = Promise.resolve();
  const saveIdentity = (): Promise<void> => {
    if (run.identity !== saved) {
      saved = run.identity;
      saving = saving.then(save);
    }
    return saving;
  };
  const record = async (job: J, made: JournalRecord) => {
    await run.journal.append(made);
    onSettled();
    const summary = run.journal.entries.get(job.id)?.summary as RowSummary;
    progress.settled(job.domain, {
      status: summary.status,
      flags: summary.flags,
      tokens: summary.usage.completionTokens ?? 0,
      ...(summary.status === 'ok' ? {} : { reason: failureLine(job, summary) }),
    });
  };
  try {
    let pass = await settleAlone(stage, todo, record);
    while (pass.length > 0 && !io.stop.aborted) {
      backend ??= await stage.openBackend(notice);
      progress.watch(backend);
      await backend.ask(
        pass,
        {
          request: (job) => stage.request(job),
          async settle(job, outcome) {
            if (outcome.status === 'interrupted') return 'done';
            if (outcome.status === 'ok' && outcome.servedModel !== undefined) run.servedModels.add(outcome.servedModel);
            const made = await stage.settle(job, outcome);
            await saveIdentity();
            if (made === undefined) return 'again';
            await record(job, made);
            return 'done';
          },
        },
        { stop: io.stop, abort: abort.signal },
      );
      // Rows whose records have become stale meanwhile are asked again in a pass of their own.
      pass = todo.filter((job) => summaryOf(stage, job) === undefined);
    }
  } finally {
    clearTimeout(drain);
    io.stop.removeEventListener('abort', onStop);
    progress.finish();
    await backend?.close();
  }
}

/** What to type to continue: `--fresh` would start over once more. */
export function sameCommand(fresh: boolean): string {
  return fresh ? 'the same command without --fresh' : 'the same command';
}

function failureLine(job: StageJob, { class: failure = 'unknown', reason }: RowSummary): string {
  return [job.domain, job.id, failure, ...(reason === undefined ? [] : [reason])].join(' ');
}

/** Settles the rows that need no model; the others are returned in their order. */
async function settleAlone<J extends StageJob>(
  stage: Stage<J>,
  todo: readonly J[],
  record: (job: J, made: JournalRecord) => Promise<void>,
): Promise<J[]> {
  const rest: J[] = [];
  for (let at = 0; at < todo.length && !stage.io.stop.aborted; at += ALONE_AT_ONCE) {
    const settling = todo.slice(at, at + ALONE_AT_ONCE).map(async (job) => {
      const made = await stage.settleAlone(job);
      if (made !== undefined) await record(job, made);
      return made === undefined ? [job] : [];
    });
    rest.push(...(await Promise.all(settling)).flat());
  }
  return rest;
}

function startProgress<J extends StageJob>(stage: Stage<J>, todo: readonly J[]): Progress {
  const waiting = new Set(todo.map((job) => job.id));
  const totals = new Map<Domain, number>();
  const already = new Map<Domain, number>();
  for (const job of stage.rows) {
    totals.set(job.domain, (totals.get(job.domain) ?? 0) + 1);
    if (!waiting.has(job.id)) already.set(job.domain, (already.get(job.domain) ?? 0) + 1);
  }
  return openProgress(stage.io.stderr, {
    title: stage.run.kind,
    totals,
    already,
    quiet: stage.settings.quiet,
    verbose: stage.settings.verbose,
    color: stage.settings.color,
  });
}

/** Writes the output file from the journal, in output order; skipped where the one on disk is already that. */
async function assemble<J extends StageJob>(
  stage: Stage<J>,
  changed: boolean,
): Promise<NonNullable<Manifest['output']>> {
  const { run } = stage;
  const before = run.stored?.output;
  const form = fingerprintOf({ ...stage.outputForm, rows: stage.rows.length });
  if (!changed && before?.form === form && (await isAsWritten(run.outputPath, before))) return before;
  const lines = async function* () {
    for (const job of stage.rows) {
      if (summaryOf(stage, job) !== undefined) yield await stage.compose(job, run.journal.read(job.id));
    }
  };
  return { file: run.outputPath, ...(await writeLines(run.outputPath, lines())), form };
}

async function isAsWritten(path: string, { bytes, sha256 }: NonNullable<Manifest['output']>): Promise<boolean> {
  // Earlier versions kept no hash.
  return (await sizeOf(path)) === bytes && (sha256 === undefined || (await sha256Of(path)) === sha256);
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

function manifestOf<J extends StageJob>(
  stage: Stage<J>,
  times: Pick<Manifest, 'startedAt' | 'state' | 'endedAt'>,
): Manifest {
  const { run } = stage;
  const label = stage.manifest.label ?? run.stored?.label;
  return {
    schema: 'awb.manifest/1',
    kind: run.kind,
    tool: { name: 'agentworldbench', version: toolVersion() },
    ...(label === undefined ? {} : { label }),
    meta: { ...run.stored?.meta, ...stage.manifest.meta },
    identity: run.identity,
    fingerprint: fingerprintOf(run.identity),
    settings: stage.manifest.settings,
    endpoints: stage.manifest.endpoints,
    servedModels: [...run.servedModels],
    ...(run.models.size === 0 ? {} : { models: [...run.models.values()] }),
    data: stage.manifest.data,
    ...(stage.manifest.predictions === undefined ? {} : { predictions: stage.manifest.predictions }),
    chosen: chosenOf(stage),
    counts: countRows(stage),
    tokens: tokensOf(stage),
    notices: [...new Set(run.notices)],
    ...times,
    process: { pid: process.pid, host: hostname() },
  };
}

function chosenOf<J extends StageJob>(stage: Stage<J>): Record<string, number> {
  const chosen: Record<string, number> = {};
  for (const job of stage.rows) chosen[job.domain] = (chosen[job.domain] ?? 0) + 1;
  for (const [domain, count] of Object.entries(stage.absent)) chosen[domain] = (chosen[domain] ?? 0) + count;
  return chosen;
}

/** Totals come from the rows themselves, every time, so that no interruption can make them drift. */
function countRows<J extends StageJob>(stage: Stage<J>): Counts {
  const failures: Record<string, number> = {};
  const flags: Record<string, number> = {};
  let ok = 0;
  let failed = 0;
  for (const job of stage.rows) {
    const summary = summaryOf(stage, job);
    if (summary === undefined) continue;
    if (summary.status === 'ok') ok++;
    else {
      failed++;
      failures[summary.class ?? 'unknown'] = (failures[summary.class ?? 'unknown'] ?? 0) + 1;
    }
    for (const flag of summary.flags) flags[flag] = (flags[flag] ?? 0) + 1;
  }
  const absent = Object.values(stage.absent).reduce((sum, count) => sum + count, 0);
  const notDone = stage.rows.length - ok - failed;
  return { chosen: stage.rows.length + absent, ok, failed, notDone, absent, failures, flags };
}

function reasonsOf<J extends StageJob>(stage: Stage<J>): Record<string, string> {
  const reasons: Record<string, string> = {};
  for (const job of stage.rows) {
    const { class: failure, reason } = summaryOf(stage, job) ?? {};
    if (failure !== undefined && reason !== undefined) reasons[failure] ??= reason;
  }
  return reasons;
}

function tokensOf<J extends StageJob>(stage: Stage<J>): Usage {
  const total: Usage = {};
  for (const job of stage.rows) addUsage(total, summaryOf(stage, job)?.usage);
  return total;
}

/** Folder by folder, since Node's recursive way never ends where a parent denies its children's existence (/proc). */
async function makeFolder(dir: string): Promise<void> {
  try {
    await mkdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !existsSync(dirname(dir))) {
      await makeFolder(dirname(dir));
      await makeFolder(dir);
    } else if (code !== 'EEXIST') {
      throw new UserError(`cannot create the folder ${dir} (${code}); choose another --output-dir`, EXIT.cannotCreate);
    }
  }
}

/** Rows without a manifest are somebody else's work, or nobody knows how they were made: they are neither written over nor mixed. */
async function requireNoStray(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (((await sizeOf(path)) ?? 0) === 0) continue;
    throw new UserError(
      `${path} was not made by a run in this folder (it has no manifest beside it), and would be written over; choose another --output-dir, or --fresh to keep it aside`,
      EXIT.cannotCreate,
    );
  }
}

async function setAside(dir: string, paths: readonly string[]): Promise<void> {
  const present = [];
  for (const path of paths) if ((await sizeOf(path)) !== undefined) present.push(path);
  if (present.length === 0) return;
  const aside = join(dir, `before-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  await makeFolder(aside);
  for (const path of present) await rename(path, join(aside, path.slice(dir.length + 1)));
}

async function describeHolder(manifestPath: string, dir: string): Promise<string> {
  const holder = await readManifest(manifestPath).catch(() => undefined);
  const who = holder?.state === 'running' ? ` (process ${holder.process?.pid} on ${holder.process?.host})` : '';
  return `another awb works in ${dir}${who}; wait for it to end, or choose another --output-dir`;
}
