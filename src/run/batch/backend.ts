// The backend by batch files: answers are looked up in the folder's results, and questions that stand in no file go into the next one.

import { constants } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchReport } from '../../core/batch-report.js';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import { fingerprintOf } from '../../core/identity.js';
import { present } from '../../core/present.js';
import { hideKeys, keysIn, openRedaction } from '../../core/redaction.js';
import type { Ask, AskSignals, FileHooks, Job, ModelOutcome, Solve, WorkHooks } from '../../core/types.js';
import { callsTogether } from '../../core/usage.js';
import { lockFile } from '../../disk/lock.js';
import { makeFolders } from '../../disk/make-folder.js';
import { INTERRUPTED } from '../../model/attempt.js';
import { type BackendOptions, type NamedEndpoints, type OpenBackend, openEndpoints } from '../../model/backend.js';
import { type AnswerOptions, Answers, type Missing, Relearnt } from '../../model/batch/answers.js';
import {
  type Batch,
  clearRemains,
  readBatch,
  readSubmission,
  writeBatch,
  writeParts,
} from '../../model/batch/folder.js';
import { jobIn, jobName, type Requests, readCustomId, readRequests } from '../../model/batch/requests.js';
import { Results } from '../../model/batch/results.js';
import { openContextWatch } from '../../model/context.js';
import { openDialect } from '../../model/endpoint/request.js';
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
      throw new UserError(
        `cannot write ${dir} (${codeOf(error)}); mend its rights, or take another folder`,
        EXIT.cannotCreate,
      );
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

/** Whose jobs are solved, and how. */
interface Work<J extends Job> {
  readonly solve: Solve<J>;
  readonly signals: AskSignals;
  readonly hooks: WorkHooks<J>;
  /** Sessions give it, and nobody else asks by files. */
  readonly files: FileHooks<J>;
  isOver(): boolean;
}

/** What one look at the folder has shown. */
interface Look<J extends Job> {
  /** Jobs whose results have not all come, and the names of the requests that each waits for next, or that are still to be written. */
  readonly missing: ReadonlyMap<J, string>;
  /** Those that have not come to their end. */
  readonly left: readonly J[];
  /** Whether a result has shown that requests have to be made in another way; not every job was looked at then. */
  readonly isRelearnt: boolean;
}

class BatchBackend implements OpenBackend {
  #report: BatchReport | undefined;
  readonly #answers: AnswerOptions;
  /** What has no result is asked live. */
  readonly #isLive: boolean;

  constructor(
    private readonly by: ByBatch,
    private readonly options: BackendOptions & Required<Pick<BackendOptions, 'dialect'>>,
    private batch: Batch | undefined,
    private readonly live: OpenBackend | undefined,
    private readonly release: () => void,
  ) {
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
    await this.live?.close();
    this.release();
  }

  async work<J extends Job>(jobs: readonly J[], solve: Solve<J>, signals: AskSignals, hooks: WorkHooks<J> = {}) {
    const isOver = () => signals.stop.aborted || signals.abort.aborted;
    const work = { solve, signals, hooks, files: present(hooks.files), isOver };
    let rest = jobs;
    if (this.batch === undefined && this.live !== undefined && !this.#isLive) {
      rest = await this.#probe(this.live, jobs, work);
      if (isOver() || rest.length === 0) return;
    }
    for (;;) {
      const { left, isRelearnt } = await this.#pass(rest, work);
      if (!isRelearnt || isOver()) return;
      this.by.onDropped();
      rest = left;
      if (this.batch !== undefined) await this.#save({ ...this.batch, ...this.#learnt() });
    }
  }

  /** Has the first rows answered live, until one is: it shows which parameters the server takes. @returns the jobs that are left */
  async #probe<J extends Job>(live: OpenBackend, jobs: readonly J[], { solve, signals, hooks, isOver }: Work<J>) {
    const latest: { outcome: ModelOutcome } = { outcome: INTERRUPTED };
    const watched: Solve<J> = (job, ask) =>
      solve(job, async (asking) => {
        latest.outcome = await ask(asking);
        return latest.outcome;
      });
    const most = Math.min(MOST_PROBES, jobs.length);
    let probes = 0;
    while (probes < most && latest.outcome.status !== 'ok' && !isOver()) {
      await live.work([present(jobs[probes++])], watched, signals, hooks);
    }
    if (latest.outcome.status === 'failed' && probes < jobs.length) {
      throw new UserError(
        `the first ${probes} rows were to show which parameters the server takes, and none was answered (${latest.outcome.reason}); nothing was written: mend that, or write the files untried with --assume-params`,
        EXIT.unavailable,
      );
    }
    return jobs.slice(probes);
  }

  /** Reads the results that are there, and has what is missing written, or asked live. */
  async #pass<J extends Job>(jobs: readonly J[], work: Work<J>): Promise<Look<J>> {
    const { dir } = this.by;
    const { solve, signals, hooks, files, isOver } = work;
    const requests = await readRequests(dir, this.batch?.parts ?? [], signals.stop);
    const results = await Results.open(dir, signals.stop);
    const answers = new Answers(this.#answers, requests, results, this.batch?.url);
    const awaited = new Set<string>();
    const written: string[] = [];
    const names = new Set(jobs.map((job) => jobName(files.kept(job).id)));
    let isWhole = false;
    try {
      const look = await lookAt(jobs, work, answers, requests);
      if (look.isRelearnt || isOver()) return look;
      isWhole = true;
      if (!this.#isLive) for (const name of look.missing.values()) if (requests.has(name)) awaited.add(name);
      await this.#withdraw(requests, results, awaited);
      const missing = jobs.filter((job) => {
        const name = look.missing.get(job);
        return name !== undefined && !awaited.has(name);
      });
      if (this.live !== undefined && this.#isLive && missing.length > 0) {
        const first: Solve<J> = (job, ask) => solve(job, answersFirst(answers, requests, files.kept(job), ask));
        await this.live.work(missing, first, signals, hooks);
      } else {
        const unlisted: string[] = [];
        const lines = this.#lines(missing, work, answers, unlisted);
        await writeParts(dir, this.batch?.parts ?? [], lines, async (part) => {
          const batch = present(this.batch);
          await this.#save({ ...batch, parts: [...batch.parts, part] });
          for (const { name, chars } of unlisted.splice(0, part.requests).map(readCustomId)) {
            requests.set(name, { part: part.file, chars });
            written.push(name);
            awaited.add(name);
          }
        });
      }
      return look;
    } finally {
      // Of what is not asked about now, results may come that a later command takes.
      const isOpen = (name: string) => !results.has(name) && (awaited.has(name) || !names.has(jobIn(name)));
      this.#report = {
        dir,
        model: this.batch?.model ?? this.by.endpoints.model,
        parts: partsReport(this.batch, requests, results, awaited),
        awaited: awaited.size,
        written: written.length,
        isLive: this.#isLive,
        isOver: isWhole && (this.#isLive || ![...requests.keys()].some(isOpen)),
        notes: results.notes((name) => requests.has(name)),
      };
    }
  }

  /**
   * Takes back the files that nobody has been given, as far as the folder shows, where they hold requests that are not awaited (any more):
   * what is still missing of them is written anew, or asked live.
   */
  async #withdraw(requests: Requests, results: Results, awaited: Set<string>): Promise<void> {
    const { dir } = this.by;
    const { sent = [] } = (await readSubmission(dir)) ?? {};
    const given = new Set(sent.map(({ part }) => part));
    const stale = new Set<string>();
    for (const [name, { part }] of requests) {
      if (results.has(name)) given.add(part);
      else if (!awaited.has(name)) stale.add(part);
    }
    for (const { file } of this.batch?.parts ?? []) {
      if (given.has(file) || !stale.has(file)) continue;
      const batch = present(this.batch);
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

  /**
   * The requests that the jobs are missing, as lines of a file. Each is made when its turn comes, so that no text is held.
   * @param ids takes the id of each
   */
  async *#lines<J extends Job>(
    jobs: readonly J[],
    { solve, files, isOver }: Work<J>,
    answers: Answers,
    ids: string[],
  ): AsyncGenerator<string> {
    const { run, settings } = this.by;
    for (const job of jobs) {
      if (isOver()) return;
      const missing = await missingOf(job, solve, answers.asker(files.kept(job), WAS_TOLD));
      if (missing === undefined) continue;
      const spent = reachedIn(run.ledger, settings);
      if (spent !== undefined) {
        throw new UserError(
          `${spent}, so nothing more was written; every result that has come is read, and the same command with a larger budget continues`,
          EXIT.later,
        );
      }
      const { id, body, way } = await missing.write();
      const url = `/v1${way.path}` as const;
      this.batch ??= await this.#begin(url);
      ids.push(id);
      yield `{"custom_id":"${id}","method":"POST","url":"${url}","body":${body}}\n`;
    }
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

  async #save(batch: Batch): Promise<void> {
    await writeBatch(this.by.dir, batch);
    this.batch = batch;
  }

  #learnt(): Pick<Batch, 'dropped' | 'isRenamed'> {
    const { dialect } = this.options;
    return { dropped: dialect.dropped(), isRenamed: dialect.isRenamed() || undefined };
  }
}

function partsReport(batch: Batch | undefined, requests: Requests, results: Results, awaited: ReadonlySet<string>) {
  const parts = new Map(
    batch?.parts.map(({ file, requests, bytes }) => [file, { file, requests, bytes, answered: 0, awaited: 0 }]),
  );
  for (const [name, { part: file }] of requests) {
    const part = parts.get(file);
    if (part !== undefined && results.has(name)) part.answered++;
    if (part !== undefined && awaited.has(name)) part.awaited++;
  }
  return [...parts.values()];
}

/** What an answer cost was told when it was first read. */
const WAS_TOLD = () => {};

/** Solves a job as far as answers go. @returns its first question without one; undefined where it has come to its end */
async function missingOf<J extends Job>(
  job: J,
  solve: Solve<J>,
  ask: ReturnType<Answers['asker']>,
): Promise<Missing | undefined> {
  const ends: Missing[] = [];
  await solve(job, async (asking) => {
    const answered = await ask(asking);
    if (answered.status !== 'missing') return answered;
    ends.push(answered);
    return INTERRUPTED;
  });
  return ends[0];
}

/** Gives every job the answers that have come. @throws what jobs throw, and UserError where the run must stop */
async function lookAt<J extends Job>(
  jobs: readonly J[],
  { solve, files, isOver }: Work<J>,
  answers: Answers,
  requests: Requests,
): Promise<Look<J>> {
  const left = new Set(jobs);
  const missing = new Map<J, string>();
  const errors: unknown[] = [];
  const lookAtOne = async (job: J) => {
    const kept = files.kept(job);
    const end = await missingOf(
      job,
      solve,
      answers.asker(kept, (cost) => files.replayed(job, cost)),
    );
    if (end === undefined) left.delete(job);
    // What is held is not to be asked where it was not: none of its results is newer than its record.
    else if (requests.has(end.name) || !kept.isHeld || end.log.batched !== kept.batched) missing.set(job, end.name);
  };
  const queue = jobs.values();
  const worker = async () => {
    for (const job of queue) {
      if (errors.length > 0 || isOver()) return;
      await lookAtOne(job).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const error of errors) if (!(error instanceof Relearnt)) throw error;
  return { missing, left: [...left], isRelearnt: errors.length > 0 };
}

/**
 * Asks live from the first question on that has no answer in the folder. A result that comes later is that of an earlier request, and is
 * passed over: a record says how many requests in files went before it.
 */
function answersFirst(answers: Answers, requests: Requests, kept: Parameters<Answers['asker']>[0], live: Ask): Ask {
  const ask = answers.asker(kept, WAS_TOLD);
  let missing: Missing | undefined;
  return async (asking) => {
    const answered = missing ?? (await ask(asking));
    if (answered.status !== 'missing') return answered;
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
