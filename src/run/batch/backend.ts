// A run that asks through batch files: its folder, and a backend that reads answers there and writes requests that no file holds yet.

import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pLimit from 'p-limit';
import { callsTogether } from '../../core/costs.js';
import { cannotCreate, codeOf, EXIT, identityDiffers, present, UserError, unavailable } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { differencesOf, fingerprintOf, type Identity } from '../../core/identity.js';
import { isObject } from '../../core/json.js';
import { shellLine } from '../../core/printable.js';
import type { Ask, AskSignals, BatchReport, Io, Job, ModelOutcome, Solve, WorkHooks } from '../../core/types.js';
import { makeFolders, sizeOf } from '../../disk/files.js';
import { lockFile } from '../../disk/lock.js';
import { INTERRUPTED } from '../../model/attempt.js';
import { type BackendOptions, type NamedEndpoints, type OpenBackend, openEndpoints } from '../../model/backend.js';
import { type AnswerOptions, type Answers, type Missing, openAnswers } from '../../model/batch/answers.js';
import { type Batch, type BatchFolder, folderAt, jobIn, jobName } from '../../model/batch/folder.js';
import { openDialect } from '../../model/endpoint/request.js';
import { readAddress } from '../../model/http/address.js';
import { flagsFor } from '../../settings/command-line.js';
import { type Run, setAside } from '../run.js';
import type { Stage, StageJob } from '../stage-contract.js';
import type { BatchSettings } from './options.js';

/** A run that asks through files in the folder `dir` (an absolute path). */
interface ByBatch {
  readonly dir: string;
  readonly run: Pick<Run, 'kind' | 'dir' | 'identity'>;
  readonly settings: BatchSettings;
  /** The command that asks through the files. */
  readonly command: Batch['command'];
  /** Answers the live request that settles the parameters, and everything asked live; if neither is needed, it needs no address. */
  readonly endpoints: NamedEndpoints;
}

/** The command of a stage in words, without server keys (no file may hold them) and without `--fresh` (it would start over). */
export function commandOf<J extends StageJob>({ io, run, options = {}, manifest }: Stage<J>): Batch['command'] {
  const { fresh: _, ...shown } = manifest.settings;
  return { cwd: io.cwd, words: [run.kind, ...flagsFor(options, shown)] };
}

/** Jobs whose results are read concurrently, so that their records reach the disk together. */
const AT_ONCE = 32;
const NOBODY = {
  models: [],
  contexts: async () => [],
  status: () => ({ inFlight: 0, limit: 0, pausedMs: 0, outages: [] }),
};

/**
 * @throws UserError: 73 if the folder cannot be used or another run is using it, 65 and 66 for bad or unreadable files in it, 78 if it
 * belongs to another run, 2 for a base URL or key that cannot be used
 */
export async function openBatch(by: ByBatch, given: BackendOptions): Promise<OpenBackend> {
  const { dir, run, settings, endpoints } = by;
  await makeFolders(dir).catch((error: unknown) => {
    throw cannotCreate(`cannot write ${dir} (${codeOf(error)}); fix its permissions, or choose another folder`);
  });
  const busy = `another run is using ${dir} for its batch; give each run, and each part of one, its own --batch-dir`;
  const release = await lockFile(join(dir, '.batch.lock'), busy);
  const disk = folderAt(dir);
  try {
    await disk.clearRemains();
    const batch = await disk.batch.read();
    // Another run may have started in the folder since it was chosen.
    if (batch !== undefined) await requireOwn(batch, run, dir);
    const { allowParamDrop, onNotice = () => {} } = given;
    const dropped = [...new Set([...given.dropped, ...(batch?.dropped ?? [])])];
    const dialect = openDialect({ allowParamDrop, onNotice, dropped, isRenamed: batch?.isRenamed ?? false });
    const options = { ...given, dialect };
    const asksLive = settings.finishOnline || (batch === undefined && !settings.assumeParams);
    const live = asksLive ? await openEndpoints(endpoints, options) : undefined;
    const folder: Folder = { ...by, disk, options, live, batch, report: undefined };
    return {
      ...(live ?? NOBODY),
      dropped: () => dialect.dropped(),
      report: () => folder.report,
      work: (jobs, solve, signals, hooks = {}) => workOff(folder, jobs, solve, signals, hooks),
      async close() {
        await live?.close();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Maps the id of each written request to its file. */
type Requests = Map<string, string>;

/** An open folder, with the state kept between calls of `work`. */
interface Folder extends ByBatch {
  readonly disk: BatchFolder;
  readonly options: AnswerOptions;
  readonly live: OpenBackend | undefined;
  batch: Batch | undefined;
  report: BatchReport | undefined;
}

async function workOff<J extends Job>(
  folder: Folder,
  jobs: readonly J[],
  solve: Solve<J>,
  signals: AskSignals,
  hooks: WorkHooks<J>,
): Promise<void> {
  const { dir, disk, run, settings, endpoints, options, live } = folder;
  /** Jobs without a result are asked live. */
  const isLive = settings.finishOnline ?? false;
  // Sessions always pass it, and only sessions ask through files.
  const files = present(hooks.files);
  const isOver = () => signals.stop.aborted || signals.abort.aborted;
  const probes = folder.batch === undefined && !isLive ? live : undefined;
  const asked = probes === undefined ? jobs : await probe(probes);
  if (probes === undefined || (asked.length > 0 && !isOver())) await pass();

  /** Asks the first rows live until one is answered: this shows which parameters the server takes. @returns the jobs that are left */
  async function probe(server: OpenBackend): Promise<readonly J[]> {
    const latest: { outcome: ModelOutcome } = { outcome: INTERRUPTED };
    const watched: Solve<J> = (job, ask) =>
      solve(job, async (asking) => {
        latest.outcome = await ask(asking);
        return latest.outcome;
      });
    let tried = 0;
    // A row that fails for its own reasons says nothing about the others.
    while (tried < Math.min(3, jobs.length) && latest.outcome.status !== 'ok' && !isOver()) {
      await server.work([present(jobs[tried++])], watched, signals, hooks);
    }
    if (latest.outcome.status !== 'failed' || tried === jobs.length) return jobs.slice(tried);
    throw unavailable(
      `the first ${tried} rows should have shown which parameters the server takes, but none was answered (${latest.outcome.reason}); nothing was written: fix that, or write the files untried with --assume-params`,
    );
  }

  /** Reads the results that are there, then writes what is missing to files, or asks it live. */
  async function pass(): Promise<void> {
    const requests = await disk.readRequests(folder.batch?.parts ?? [], signals.stop);
    const results = await disk.results(signals.stop);
    const answers = openAnswers(folder, options, results);
    const awaited = new Set<string>();
    /** Requests written in this pass. */
    let written = 0;
    let isWhole = false;
    try {
      const waiting = await lookAtAll();
      if (isOver()) return;
      isWhole = true;
      if (!isLive) for (const name of waiting.values()) if (requests.has(name)) awaited.add(name);
      await withdraw();
      const missing = asked.filter((job) => {
        const name = waiting.get(job);
        return name !== undefined && !awaited.has(name);
      });
      if (!isLive) await write(missing);
      else if (missing.length > 0) {
        const first: Solve<J> = (job, ask) => solve(job, answersFirst(answers, requests, files.kept(job), ask));
        await live?.work(missing, first, signals, hooks);
      }
    } finally {
      folder.report = reportNow();
    }

    /**
     * Gives every job the answers that have arrived.
     * @returns the id of the request that each job waits for next, or that is still to be written
     * @throws what jobs throw, and UserError if the run must stop
     */
    async function lookAtAll(): Promise<Map<J, string>> {
      const missing = new Map<J, string>();
      const errors: unknown[] = [];
      const lookAtOne = async (job: J) => {
        if (errors.length > 0 || isOver()) return;
        const kept = files.kept(job);
        const end = await missingOf(
          job,
          answers.asker(kept, (cost) => files.replayed(job, cost)),
        );
        // A held job is not asked where it was not asked before: none of its results is newer than its record.
        const isToWait = end && (requests.has(end.id) || !kept.isHeld || end.log.batched !== kept.batched);
        if (isToWait) missing.set(job, end.id);
      };
      const slots = pLimit(AT_ONCE);
      await Promise.all(asked.map((job) => slots(() => lookAtOne(job).catch((error: unknown) => errors.push(error)))));
      if (errors.length > 0) throw errors[0];
      return missing;
    }

    /**
     * Withdraws files that, as far as the folder shows, were never submitted, if they hold requests that are not awaited (any more). What
     * is still missing of them is written again, or asked live.
     */
    async function withdraw(): Promise<void> {
      const { sent = [] } = (await disk.submission.read()) ?? {};
      for (const [file, names] of groupBy(requests.keys(), (name) => present(requests.get(name)))) {
        const isGiven = sent.some(({ part }) => part === file) || names.some(results.has);
        if (isGiven || names.every((name) => awaited.has(name))) continue;
        const batch = present(folder.batch);
        await save({ ...batch, parts: batch.parts.filter((part) => part.file !== file) });
        await rm(join(dir, file), { force: true });
        for (const name of names) {
          awaited.delete(name);
          // What is asked live now was still written to a file once, so a late result must not be read as that of a later request.
          if (!isLive) requests.delete(name);
        }
      }
    }

    /** Writes the requests that jobs are missing, creating each one only when its turn comes, so that no text stays in memory. */
    async function write(missing: readonly J[]): Promise<void> {
      const ids: string[] = [];
      await disk.writeParts(folder.batch?.parts ?? [], lines(missing, ids), async (part) => {
        const batch = present(folder.batch);
        await save({ ...batch, parts: [...batch.parts, part] });
        for (const id of ids.splice(0, part.requests)) {
          requests.set(id, part.file);
          awaited.add(id);
          written++;
        }
      });
    }

    /** @param ids receives the id of each request */
    async function* lines(missing: readonly J[], ids: string[]): AsyncGenerator<string> {
      for (const job of missing) {
        if (isOver()) return;
        const found = await missingOf(job, answers.asker(files.kept(job), WAS_TOLD));
        if (found === undefined) continue;
        const { id, body, way } = found;
        const url = `/v1${way.path}` as const;
        if (folder.batch === undefined) await save(begun(url));
        ids.push(id);
        yield `{"custom_id":"${id}","method":"POST","url":"${url}","body":${body}}\n`;
      }
    }

    function reportNow(): BatchReport {
      const jobsNow = new Set(asked.map((job) => jobName(files.kept(job).id)));
      // Jobs that are not asked about now may still get results, which a later command reads.
      const isOpen = (name: string) => !results.has(name) && (awaited.has(name) || !jobsNow.has(jobIn(name)));
      const names = groupBy(requests.keys(), (name) => requests.get(name));
      const parts = (folder.batch?.parts ?? []).map(({ file, requests, bytes }) => {
        const own = names.get(file) ?? [];
        const answered = own.filter(results.has).length;
        return { file, requests, bytes, answered, awaited: own.filter((name) => awaited.has(name)).length };
      });
      return {
        dir,
        model: folder.batch?.model ?? endpoints.model,
        parts,
        awaited: awaited.size,
        written,
        isLive,
        isOver: isWhole && (isLive || ![...requests.keys()].some(isOpen)),
        // An engine may already have received an earlier version of a file that has since been rewritten.
        notes: results.notes((id) => requests.has(id) || answers.taken.has(id)),
      };
    }
  }

  /** Solves a job as far as there are answers. @returns its first question without an answer; undefined if the job is finished */
  async function missingOf(job: J, { ask, found }: ReturnType<Answers['asker']>): Promise<Missing | undefined> {
    await solve(job, ask);
    return found.missing;
  }

  function begun(url: Batch['url']): Batch {
    const [address] = live === undefined ? [] : endpoints.baseUrls;
    return {
      run: { kind: run.kind, dir: run.dir, fingerprint: fingerprintOf(run.identity), identity: run.identity },
      model: endpoints.model,
      url,
      baseUrl: address && readAddress(address, endpoints.apiKey).baseUrl,
      dropped: options.dialect.dropped(),
      isRenamed: options.dialect.isRenamed() || undefined,
      command: folder.command,
      parts: [],
    };
  }

  async function save(batch: Batch): Promise<void> {
    await disk.batch.write(batch);
    folder.batch = batch;
  }
}

/** The cost of an answer was reported when it was first read. */
const WAS_TOLD = () => {};

/**
 * Asks live from the first question that has no answer in the folder. A result that arrives later belongs to an earlier request and is
 * ignored: a record says how many requests in files came before it.
 */
function answersFirst(answers: Answers, requests: Requests, kept: Parameters<Answers['asker']>[0], live: Ask): Ask {
  const { ask, found } = answers.asker(kept, WAS_TOLD);
  return async (asking) => {
    const isFirst = found.missing === undefined;
    const answered = isFirst ? await ask(asking) : INTERRUPTED;
    if (found.missing === undefined) return answered;
    const outcome = await live(asking);
    if (outcome.status === 'interrupted') return outcome;
    const { log, id } = found.missing;
    const batched = log.batched + (requests.has(id) ? 1 : 0);
    const all = isFirst && log.attempts > 0 ? callsTogether(log, outcome.log) : outcome.log;
    return { ...outcome, log: { ...all, ...(batched > 0 && { batched }) } };
  };
}

/**
 * Decides, before anything is asked or written, which folder the run asks through, and sets `run.batch` to it, or to undefined.
 * @throws UserError: 75 if results are awaited that these settings would not read; 78 for the folder of another run; 2, 65, 66 and 73 for a
 * folder that cannot be used
 */
export async function chooseBatch(
  run: Run,
  settings: BatchSettings & { readonly fresh: boolean },
  io: Pick<Io, 'cwd'>,
): Promise<void> {
  const { finishOnline, fresh } = settings;
  const before = run.stored?.batch?.dir;
  const named = settings.batchDir ?? (finishOnline ? before : undefined);
  const dir = named === undefined ? undefined : resolve(io.cwd, named);
  const batch = dir === undefined ? undefined : await folderAt(dir).batch.read();
  const isLost = batch === undefined && !finishOnline;
  if (before !== undefined && (dir !== before || isLost)) await requireNothingAwaited(run, before, batch);
  run.batch = dir === undefined ? undefined : { dir };
  if (finishOnline && (before ?? batch) === undefined) {
    // A run whose batch has ended may be repeated with the same flags.
    if (run.stored === undefined) {
      throw new UserError(
        `--finish-online ends a batch, but no run has started in ${run.dir}; leave it out, or give the flags of that run`,
      );
    }
    run.notices.push('--finish-online found no batch to end; the remaining rows were asked live');
  }
  if (dir === undefined) return;
  if (dir === run.dir) {
    throw new UserError(
      `--batch-dir is the folder of the run's own files, which would be read as results; choose another one, such as ${join(dir, 'batch')}`,
    );
  }
  if (batch !== undefined) await requireOwn(batch, run, dir);
  const [first] = batch === undefined ? await folderAt(dir).resultFiles() : [];
  if (first !== undefined) {
    throw cannotCreate(
      `${dir} contains ${first} but no batch.json, so that file would be read as results of this run; choose an empty folder`,
    );
  }
  if (batch !== undefined && fresh) {
    const paths = (await readdir(dir)).filter((name) => /\.jsonl?$/.test(name)).map((name) => join(dir, name));
    await setAside(dir, paths);
  }
}

/**
 * @param dir the previous folder
 * @param given the batch in the folder that is named now
 * @throws UserError (75, 66, 65)
 */
async function requireNothingAwaited(run: Run, dir: string, given: Batch | undefined): Promise<void> {
  const batch = await folderAt(dir).batch.read();
  // Moving a run moves its folder too; whether the folder belongs to this run is checked next.
  if (batch === undefined ? run.stored?.state !== 'awaiting' || given !== undefined : batch.parts.length === 0) return;
  const way =
    batch === undefined
      ? 'its batch.json is gone, so restore the folder, or set --batch-dir to its old or its new location'
      : `${shellLine(['--batch-dir', dir])} reads the results so far`;
  throw new UserError(
    `results are awaited in ${dir}, and asking another way would pay for them twice: ${way}; --finish-online asks the rest live, --fresh starts over`,
    EXIT.later,
  );
}

/** @throws UserError (78) for the folder of another run, listing the differences */
export async function requireOwn(
  { run: owner }: Batch,
  run: Pick<Run, 'kind' | 'dir' | 'identity'>,
  dir: string,
): Promise<void> {
  const differences =
    owner.kind === run.kind
      ? differencesOf(begunUnder(owner.identity), begunUnder(run.identity))
      : [`command: awb ${owner.kind} before, awb ${run.kind} now`];
  // A run that was moved is still the same run.
  const isElsewhere = owner.dir !== run.dir && (await sizeOf(owner.dir)) !== undefined;
  if (isElsewhere) differences.unshift(`output-dir: ${owner.dir} before, ${run.dir} now`);
  if (differences.length === 0) return;
  throw identityDiffers(
    [
      `the batch in ${dir} belongs to another run, and their results must not be mixed:`,
      ...differences.map((difference) => `  ${difference}`),
      'Give another --batch-dir, or the earlier settings.',
    ].join('\n'),
  );
}

/** Without the parts that only asking reveals. */
function begunUnder({ snapshot: _, sampling, ...identity }: Identity): Identity {
  return { ...identity, sampling: isObject(sampling) ? { ...sampling, dropped: undefined } : sampling };
}
