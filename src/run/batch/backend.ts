// The backend by batch files: requests are written, and the results that others put beside them are read in a later session.

import { constants } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { BatchReport } from '../../core/batch-report.js';
import { EXIT, UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { fingerprintOf } from '../../core/identity.js';
import { present } from '../../core/present.js';
import { hideKeys, keysIn, openRedaction } from '../../core/redaction.js';
import type { Ask, AskSignals, FileHooks, Job, ModelOutcome, Solve, WorkHooks } from '../../core/types.js';
import { callsTogether } from '../../core/usage.js';
import { lockFile } from '../../disk/lock.js';
import { makeFolders } from '../../disk/make-folder.js';
import { INTERRUPTED } from '../../model/attempt.js';
import { type BackendOptions, type NamedEndpoints, type OpenBackend, openEndpoints } from '../../model/backend.js';
import { type AnswerOptions, Answers, Missing, Relearnt } from '../../model/batch/answers.js';
import { jobIn, jobName } from '../../model/batch/custom-id.js';
import {
  type Batch,
  type BatchPart,
  clearRemains,
  readBatch,
  unwritable,
  writeBatch,
  writeParts,
} from '../../model/batch/folder.js';
import { readRequests } from '../../model/batch/requests.js';
import { openResults, type Results } from '../../model/batch/results.js';
import { readSubmission } from '../../model/batch/submission.js';
import { openContextWatch } from '../../model/context.js';
import { openDialect, type Way } from '../../model/endpoint/request.js';
import { readAddress } from '../../model/http/address.js';
import { wordsOf } from '../../settings/words.js';
import { reachedIn } from '../budget.js';
import type { BudgetSettings } from '../options.js';
import type { Run } from '../run.js';
import type { Stage, StageJob } from '../stage-contract.js';
import type { BatchSettings } from './options.js';
import { requireOwn } from './run-batch.js';

/** A run that is asked by files. */
interface ByBatch {
  /** The folder of the files, absolute. */
  readonly dir: string;
  readonly run: Pick<Run, 'kind' | 'dir' | 'identity' | 'ledger'>;
  readonly settings: BatchSettings & BudgetSettings;
  /** The command that is asked by files. */
  readonly command: Batch['command'];
  /** Who answers the request by which parameters are decided, and what is asked live; no address is needed where neither is. */
  readonly endpoints: NamedEndpoints;
  /** Told before anything is written without a parameter that was sent before. @throws UserError (78) where the run cannot go on so */
  onDropped(): void;
}

/** The command of a stage in words, without the keys of servers, which no file holds, and without `--fresh`, which would start over. */
export function commandOf<J extends StageJob>({ io, run, options = {}, manifest }: Stage<J>): Batch['command'] {
  const { fresh: _, ...shown } = manifest.settings;
  return { cwd: io.cwd, words: [run.kind, ...wordsOf(options, shown)] };
}

/** So many rows are tried live until one is answered. */
const MOST_PROBES = 3;
/** Jobs whose results are read at once: their records reach the disk together. */
const AT_ONCE = 32;

/**
 * @throws UserError: 73 where the folder cannot be used, 65 and 66 for what lies in it, 78 where another run works on it, 2 for a base URL
 * or key that cannot be used
 */
export async function openBatch(by: ByBatch, options: BackendOptions): Promise<OpenBackend> {
  const { dir, run, settings, endpoints } = by;
  await makeFolders(dir)
    .then(() => access(dir, constants.W_OK))
    .catch((error: unknown) => {
      throw unwritable(dir, error);
    });
  const release = await lockFolder(dir);
  try {
    await clearRemains(dir);
    const batch = await readBatch(dir);
    // Another run may have begun in the folder since it was chosen.
    if (batch !== undefined) await requireOwn(batch, run, dir);
    const { allowParamDrop, onNotice = () => {} } = options;
    const dropped = [...new Set([...options.dropped, ...(batch?.dropped ?? [])])];
    const dialect = openDialect({ allowParamDrop, onNotice, dropped, isRenamed: batch?.isRenamed ?? false });
    const asksLive = settings.finishOnline || (batch === undefined && !settings.assumeParams);
    const live = asksLive ? await openEndpoints(endpoints, { ...options, dialect }) : undefined;
    return new BatchBackend(by, { ...options, dialect }, batch, live, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function lockFolder(dir: string): Promise<() => void> {
  const busy = `another run has begun its batch in ${dir} meanwhile; give each run, and each part of one, a --batch-dir of its own`;
  try {
    return await lockFile(join(dir, '.batch.lock'), busy);
  } catch (error) {
    throw error instanceof UserError && error.message === busy ? new UserError(busy, EXIT.identityDiffers) : error;
  }
}

type Requests = Awaited<ReturnType<typeof readRequests>>;

/** What one look at the folder has shown of each job. */
interface Look {
  /** The places of the jobs that have come to their end. */
  readonly done: ReadonlySet<number>;
  /** By the places of the other jobs, the names of the requests whose results they wait for, or that are still to be written. */
  readonly missing: ReadonlyMap<number, string>;
  /** The names of all jobs. */
  readonly jobs: ReadonlySet<string>;
  /** Whether a result has shown that requests have to be made in another way. */
  readonly isRelearnt: boolean;
  /** Whether every job was looked at. */
  readonly isWhole: boolean;
}

class BatchBackend implements OpenBackend {
  #batch: Batch | undefined;
  #report: BatchReport | undefined;
  #results: Results | undefined;
  readonly #answers: AnswerOptions;
  /** What has no result is asked live. */
  readonly #isLive: boolean;

  constructor(
    private readonly by: ByBatch,
    private readonly options: BackendOptions & Required<Pick<BackendOptions, 'dialect'>>,
    batch: Batch | undefined,
    private readonly live: OpenBackend | undefined,
    private readonly release: () => void,
  ) {
    this.#batch = batch;
    this.#answers = answerOptions(by, options);
    this.#isLive = by.settings.finishOnline ?? false;
  }

  get models() {
    return this.live?.models ?? [];
  }

  async contexts() {
    return this.live?.contexts() ?? [];
  }

  dropped() {
    return this.options.dialect.dropped();
  }

  report() {
    return this.#report;
  }

  status() {
    return this.live?.status() ?? { inFlight: 0, limit: 0, pausedMs: 0, outages: [] };
  }

  async close() {
    await this.#results?.close();
    await this.live?.close();
    this.release();
  }

  async work<J extends Job>(
    jobs: readonly J[],
    solve: Solve<J>,
    signals: AskSignals,
    hooks: WorkHooks<J> = {},
  ): Promise<void> {
    const isOver = () => signals.stop.aborted || signals.abort.aborted;
    let rest = jobs;
    if (this.#batch === undefined && this.live !== undefined && !this.#isLive) {
      rest = await this.#probe(this.live, jobs, solve, signals, hooks);
      if (isOver() || rest.length === 0) return;
    }
    for (;;) {
      const { done, isRelearnt } = await this.#pass(rest, solve, signals, hooks);
      if (!isRelearnt || isOver()) return;
      this.by.onDropped();
      rest = rest.filter((_, place) => !done.has(place));
      if (this.#batch !== undefined) await this.#save({ ...this.#batch, ...this.#learnt() });
    }
  }

  /** Has the first rows answered live, until one is: it shows which parameters the server takes. @returns the jobs that are left */
  async #probe<J extends Job>(
    live: OpenBackend,
    jobs: readonly J[],
    solve: Solve<J>,
    signals: AskSignals,
    hooks: WorkHooks<J>,
  ) {
    const latest: { outcome: ModelOutcome } = { outcome: INTERRUPTED };
    const watched: Solve<J> = (job, ask) =>
      solve(job, async (asking) => {
        latest.outcome = await ask(asking);
        return latest.outcome;
      });
    const most = Math.min(MOST_PROBES, jobs.length);
    let probes = 0;
    while (probes < most && latest.outcome.status !== 'ok' && !signals.stop.aborted && !signals.abort.aborted) {
      await live.work([present(jobs[probes++])], watched, signals, hooks);
    }
    if (latest.outcome.status === 'failed' && probes < jobs.length) throw vainProbes(probes, latest.outcome.reason);
    return jobs.slice(probes);
  }

  /** Reads the results that are there, and has what is missing written, or asked live. */
  async #pass<J extends Job>(
    jobs: readonly J[],
    solve: Solve<J>,
    signals: AskSignals,
    hooks: WorkHooks<J>,
  ): Promise<Look> {
    const { dir } = this.by;
    const isLive = this.#isLive;
    // Sessions give it, and nobody else asks by files.
    const files = present(hooks.files);
    const stored = this.#batch?.parts ?? [];
    await this.#results?.close();
    const requests = await readRequests(dir, stored, signals.stop);
    const results = await openResults(dir, signals.stop);
    this.#results = results;
    const answers = new Answers(this.#answers, requests, results, this.#batch?.url);
    const awaited = new Set<string>();
    let look: Look | undefined;
    try {
      look = await lookAt(jobs, solve, answers, requests, files, signals);
      const { missing: names, isWhole } = look;
      if (!isWhole) return look;
      if (!isLive) for (const name of names.values()) if (requests.has(name)) awaited.add(name);
      await this.#withdraw(requests, awaited);
      const missing = jobs.filter((_, place) => {
        const name = names.get(place);
        return name !== undefined && !awaited.has(name);
      });
      if (!isLive) {
        const lines = this.#lines(missing, solve, answers, files, signals);
        await writeParts(dir, this.#batch?.parts ?? [], lines, (part) => this.#list(part));
      } else if (this.live !== undefined && missing.length > 0) {
        const first: Solve<J> = (job, ask) => solve(job, answersFirst(answers, requests, files.kept(job), ask));
        await this.live.work(missing, first, signals, hooks);
      }
      return look;
    } finally {
      this.#report = this.#reportOf(stored, requests, awaited, look);
    }
  }

  /**
   * Takes back the files that nobody has been given, as far as the folder shows, where they hold requests that are not awaited (any more):
   * what is still missing of them is written anew, or asked live.
   */
  async #withdraw(requests: Requests, awaited: Set<string>): Promise<void> {
    const { dir } = this.by;
    const { sent = [] } = (await readSubmission(dir, dir)) ?? {};
    const given = new Set(sent.map(({ part }) => part));
    const stale = new Set<string>();
    for (const [name, { part }] of requests) {
      if (this.#results?.has(name)) given.add(part);
      else if (!awaited.has(name)) stale.add(part);
    }
    for (const { file } of this.#batch?.parts ?? []) {
      if (given.has(file) || !stale.has(file)) continue;
      const batch = present(this.#batch);
      await this.#save({ ...batch, parts: batch.parts.filter((part) => part.file !== file) });
      await rm(join(dir, file), { force: true });
      for (const [name, { part }] of requests) {
        if (part !== file) continue;
        awaited.delete(name);
        // What is asked live now went into a file all the same: later results are not those of a later request.
        if (!this.#isLive) requests.delete(name);
      }
    }
  }

  /** The requests that the jobs are missing, as lines of a file. Each is made when its turn comes, so that no text is held. */
  async *#lines<J extends Job>(
    jobs: readonly J[],
    solve: Solve<J>,
    answers: Answers,
    files: FileHooks<J>,
    { stop, abort }: AskSignals,
  ): AsyncGenerator<string> {
    for (const job of jobs) {
      if (stop.aborted || abort.aborted) return;
      // What the answers cost was told when they were read.
      const ask = answers.asker(files.kept(job), () => {});
      const lines: string[] = [];
      await solve(job, async (asking) => {
        const answered = await ask(asking);
        if (!(answered instanceof Missing)) return answered;
        lines.push(await this.#lineOf(answered));
        return INTERRUPTED;
      });
      yield* lines;
    }
  }

  async #lineOf(missing: Missing): Promise<string> {
    const { run, settings } = this.by;
    const spent = reachedIn(run.ledger, settings);
    if (spent !== undefined) throw overBudget(spent);
    const { id, body, way } = await missing.write();
    const url = urlOf(way);
    this.#batch ??= await this.#begin(url);
    if (this.#batch.url !== url) throw new Error(`${url} beside ${this.#batch.url} in one batch`);
    return `{"custom_id":"${id}","method":"POST","url":"${url}","body":${body}}\n`;
  }

  async #begin(url: Batch['url']): Promise<Batch> {
    const { command, endpoints, dir, run } = this.by;
    const [address] = this.live === undefined ? [] : endpoints.baseUrls;
    const batch: Batch = {
      run: { kind: run.kind, dir: run.dir, fingerprint: fingerprintOf(run.identity), identity: run.identity },
      model: endpoints.model,
      url,
      baseUrl: address && readAddress(address, endpoints.apiKey).baseUrl,
      ...this.#learnt(),
      command,
      parts: [],
    };
    await writeBatch(dir, batch);
    return batch;
  }

  async #list(part: BatchPart): Promise<void> {
    // A part is written behind `#begin`.
    const batch = present(this.#batch);
    await this.#save({ ...batch, parts: [...batch.parts, part] });
  }

  async #save(batch: Batch): Promise<void> {
    await writeBatch(this.by.dir, batch);
    this.#batch = batch;
  }

  #learnt(): Pick<Batch, 'dropped' | 'isRenamed'> {
    const { dialect } = this.options;
    return { dropped: dialect.dropped(), isRenamed: dialect.isRenamed() || undefined };
  }

  /**
   * What has come of the folder, and what is left.
   * @param stored the parts that were there before
   */
  #reportOf(
    stored: readonly BatchPart[],
    requests: Requests,
    awaited: ReadonlySet<string>,
    look: Look | undefined,
  ): BatchReport {
    const { dir, endpoints } = this.by;
    const isLive = this.#isLive;
    const results = present(this.#results);
    const names = groupBy([...requests.keys()], (name) => present(requests.get(name)).part);
    const parts = (this.#batch?.parts ?? []).map((part) => {
      const own = names.get(part.file) ?? [];
      return {
        file: part.file,
        requests: part.requests,
        bytes: part.bytes,
        answered: own.filter((name) => results.has(name)).length,
        awaited: stored.includes(part) ? own.filter((name) => awaited.has(name)).length : part.requests,
      };
    });
    const fresh = this.#batch?.parts.filter((part) => !stored.includes(part)) ?? [];
    const written = fresh.reduce((sum, part) => sum + part.requests, 0);
    const isOpen = (name: string) => !results.has(name) && (awaited.has(name) || !look?.jobs.has(jobIn(name)));
    return {
      dir,
      model: this.#batch?.model ?? endpoints.model,
      parts,
      awaited: parts.reduce((sum, part) => sum + part.awaited, 0),
      written,
      isLive,
      isOver: look?.isWhole === true && (isLive || (written === 0 && ![...requests.keys()].some(isOpen))),
      notes: results.notes((name) => requests.has(name)),
    };
  }
}

/** Gives every job the answers that have come. @throws what jobs throw, and UserError where the run must stop */
async function lookAt<J extends Job>(
  jobs: readonly J[],
  solve: Solve<J>,
  answers: Answers,
  requests: Requests,
  files: FileHooks<J>,
  { stop, abort }: AskSignals,
): Promise<Look> {
  const done = new Set<number>();
  const missing = new Map<number, string>();
  const names = new Set<string>();
  let [isRelearnt, isBroken] = [false, false];
  const isOver = () => isBroken || isRelearnt || stop.aborted || abort.aborted;
  const lookAtOne = async (job: J, place: number) => {
    if (isOver()) return;
    const kept = files.kept(job);
    names.add(jobName(kept.id));
    const ask = answers.asker(kept, (cost) => files.replayed(job, cost));
    const ends: (Missing | undefined)[] = [];
    await solve(job, async (asking) => {
      const answered = isOver() ? undefined : await ask(asking);
      if (answered !== undefined && !(answered instanceof Missing)) return answered;
      ends.push(answered);
      return INTERRUPTED;
    });
    const [end] = ends;
    if (ends.length === 0) done.add(place);
    // What is held is not to be asked where it was not: none of its results is newer than its record.
    else if (end !== undefined && (requests.has(end.name) || !kept.isHeld || end.log.batched !== kept.batched)) {
      missing.set(place, end.name);
    }
  };
  const slots = pLimit(AT_ONCE);
  const looking = jobs.map((job, place) =>
    slots(() =>
      lookAtOne(job, place).catch((error: unknown) => {
        isRelearnt ||= error instanceof Relearnt;
        isBroken ||= !isRelearnt;
        if (!(error instanceof Relearnt)) throw error;
      }),
    ),
  );
  await Promise.allSettled(looking);
  await Promise.all(looking);
  return { done, missing, jobs: names, isRelearnt, isWhole: !isOver() };
}

/**
 * Asks live from the first question on that has no answer in the folder. A result that comes later is that of an earlier request, and is
 * passed over: a record says how many requests in files went before it.
 */
function answersFirst(answers: Answers, requests: Requests, kept: Parameters<Answers['asker']>[0], live: Ask): Ask {
  // What the answers cost was told when they were read.
  const ask = answers.asker(kept, () => {});
  let missing: Missing | undefined;
  return async (asking) => {
    const answered = missing ?? (await ask(asking));
    if (!(answered instanceof Missing)) return answered;
    const isFirst = missing === undefined;
    missing = answered;
    const outcome = await live(asking);
    if (outcome.status === 'interrupted') return outcome;
    const { log, name } = answered;
    const batched = log.batched + (requests.has(name) ? 1 : 0);
    const all = isFirst && log.attempts > 0 ? callsTogether(log, outcome.log) : outcome.log;
    return { ...outcome, log: { ...all, ...(batched > 0 && { batched }) } };
  };
}

function urlOf(way: Way): Batch['url'] {
  if ('isScored' in way) throw new Error('scores are not asked for by batch files');
  return `/v1${way.path}`;
}

function answerOptions(
  { dir, endpoints: { model, apiKey, prefix: flagPrefix, baseUrls } }: ByBatch,
  options: BackendOptions & Required<Pick<BackendOptions, 'dialect'>>,
): AnswerOptions {
  const { sampling, responseFormat, dialect, fitMaxTokens, maxAttempts, onNotice = () => {} } = options;
  const keys = [apiKey, ...keysIn(sampling.extraBody)];
  const redact = openRedaction([...keys, ...baseUrls.flatMap((url) => readAddress(url, apiKey).secrets)]);
  const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
  const isHeld = responseFormat !== undefined;
  return {
    asked: { model, sampling: hideKeys(sampling), stream: false, dialect, ...(isHeld && { responseFormat }) },
    maxAttempts,
    context: openContextWatch({ maxTokens: sampling.maxTokens, fits: fitMaxTokens, onNotice }),
    known: { host: `the results in ${dir}`, model, flagPrefix, hasKey, isHeld, redact },
    redact,
  };
}

function vainProbes(probes: number, reason: string): UserError {
  return new UserError(
    `the first ${probes} rows were to show which parameters the server takes, and none was answered (${reason}); nothing was written: mend that, or write the files untried with --assume-params`,
    EXIT.unavailable,
  );
}

function overBudget(reason: string): UserError {
  return new UserError(
    `${reason}, so nothing more was written; every result that has come is read, and the same command with a larger budget continues`,
    EXIT.later,
  );
}
