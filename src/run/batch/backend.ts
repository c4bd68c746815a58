// The backend by batch files: answers are looked up in the folder's results, and questions that stand in no file go into the next one.

import { constants } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchReport } from '../../core/batch-report.js';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import { fingerprintOf } from '../../core/identity.js';
import { present } from '../../core/present.js';
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
import { jobIn, jobName, readRequests } from '../../model/batch/requests.js';
import { Results } from '../../model/batch/results.js';
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
const NOBODY = {
  models: [],
  contexts: async () => [],
  status: () => ({ inFlight: 0, limit: 0, pausedMs: 0, outages: [] }),
};

/**
 * @throws UserError: 73 where the folder cannot be used or another run works on it, 65 and 66 for what lies in it, 78 where it is another
 * run's, 2 for a base URL or key that cannot be used
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
  const busy = `another run works on its batch in ${dir}; give each run, and each part of one, a --batch-dir of its own`;
  const release = await lockFile(join(dir, '.batch.lock'), busy);
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
    const state: State = { batch, report: undefined };
    return {
      ...(live ?? NOBODY),
      dropped: () => dialect.dropped(),
      report: () => state.report,
      work: (jobs, solve, signals, hooks = {}) =>
        new BatchWork(by, { ...options, dialect }, live, state, solve, signals, hooks).askAll(jobs),
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

/** By its id, the file of each request that was written. */
type Requests = Map<string, string>;

/** What is kept from one call of `work` to the next. */
interface State {
  batch: Batch | undefined;
  report: BatchReport | undefined;
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

class BatchWork<J extends Job> {
  readonly #dir: string;
  /** What has no result is asked live. */
  readonly #isLive: boolean;
  /** Sessions give it, and nobody else asks by files. */
  readonly #files: FileHooks<J>;
  /** Map<string, string>, by this look. */
  #written = 0;

  constructor(
    private readonly by: ByBatch,
    private readonly options: AnswerOptions,
    private readonly live: OpenBackend | undefined,
    private readonly state: State,
    private readonly solve: Solve<J>,
    private readonly signals: AskSignals,
    private readonly hooks: WorkHooks<J>,
  ) {
    this.#dir = by.dir;
    this.#isLive = by.settings.finishOnline ?? false;
    this.#files = present(hooks.files);
  }

  async askAll(jobs: readonly J[]): Promise<void> {
    let rest = jobs;
    if (this.state.batch === undefined && this.live !== undefined && !this.#isLive) {
      rest = await this.#probe(this.live, jobs);
      if (this.#isOver || rest.length === 0) return;
    }
    for (;;) {
      const { left, isRelearnt } = await this.#pass(rest);
      if (!isRelearnt || this.#isOver) return;
      this.by.onDropped();
      rest = left;
      if (this.state.batch !== undefined) await this.#save({ ...this.state.batch, ...this.#learnt() });
    }
  }

  get #isOver(): boolean {
    return this.signals.stop.aborted || this.signals.abort.aborted;
  }

  /** Has the first rows answered live, until one is: it shows which parameters the server takes. @returns the jobs that are left */
  async #probe(live: OpenBackend, jobs: readonly J[]): Promise<readonly J[]> {
    const latest: { outcome: ModelOutcome } = { outcome: INTERRUPTED };
    const watched: Solve<J> = (job, ask) =>
      this.solve(job, async (asking) => {
        latest.outcome = await ask(asking);
        return latest.outcome;
      });
    const most = Math.min(MOST_PROBES, jobs.length);
    let probes = 0;
    while (probes < most && latest.outcome.status !== 'ok' && !this.#isOver) {
      await live.work([present(jobs[probes++])], watched, this.signals, this.hooks);
    }
    if (latest.outcome.status !== 'failed' || probes === jobs.length) return jobs.slice(probes);
    throw new UserError(
      `the first ${probes} rows were to show which parameters the server takes, and none was answered (${latest.outcome.reason}); nothing was written: mend that, or write the files untried with --assume-params`,
      EXIT.unavailable,
    );
  }

  /** Reads the results that are there, and has what is missing written, or asked live. */
  async #pass(jobs: readonly J[]): Promise<Look<J>> {
    const { stop } = this.signals;
    const requests = await readRequests(this.#dir, this.state.batch?.parts ?? [], stop);
    const results = await Results.open(this.#dir, stop);
    const answers = new Answers(this.by, this.options, results);
    const awaited = new Set<string>();
    this.#written = 0;
    let isWhole = false;
    try {
      const look = await this.#lookAt(jobs, answers, requests);
      if (look.isRelearnt || this.#isOver) return look;
      isWhole = true;
      if (!this.#isLive) for (const name of look.missing.values()) if (requests.has(name)) awaited.add(name);
      await this.#withdraw(requests, results, awaited);
      const missing = jobs.filter((job) => {
        const name = look.missing.get(job);
        return name !== undefined && !awaited.has(name);
      });
      if (!this.#isLive) await this.#write(missing, answers, requests, awaited);
      else if (missing.length > 0) {
        const first: Solve<J> = (job, ask) =>
          this.solve(job, answersFirst(answers, requests, this.#files.kept(job), ask));
        await this.live?.work(missing, first, this.signals, this.hooks);
      }
      return look;
    } finally {
      this.state.report = this.#reportOf(jobs, answers, requests, results, awaited, isWhole);
    }
  }

  /** Gives every job the answers that have come. @throws what jobs throw, and UserError where the run must stop */
  async #lookAt(jobs: readonly J[], answers: Answers, requests: Requests): Promise<Look<J>> {
    const left = new Set(jobs);
    const missing = new Map<J, string>();
    const errors: unknown[] = [];
    const lookAtOne = async (job: J) => {
      const kept = this.#files.kept(job);
      const ask = answers.asker(kept, (cost) => this.#files.replayed(job, cost));
      const end = await this.#missingOf(job, ask);
      if (end === undefined) left.delete(job);
      // What is held is not to be asked where it was not: none of its results is newer than its record.
      else if (requests.has(end.id) || !kept.isHeld || end.log.batched !== kept.batched) missing.set(job, end.id);
    };
    const queue = jobs.values();
    const worker = async () => {
      for (const job of queue) {
        if (errors.length > 0 || this.#isOver) return;
        await lookAtOne(job).catch((error: unknown) => errors.push(error));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    for (const error of errors) if (!(error instanceof Relearnt)) throw error;
    return { missing, left: [...left], isRelearnt: errors.length > 0 };
  }

  /** Solves a job as far as answers go. @returns its first question without one; undefined where it has come to its end */
  async #missingOf(job: J, ask: ReturnType<Answers['asker']>): Promise<Missing | undefined> {
    const ends: Missing[] = [];
    await this.solve(job, async (asking) => {
      const answered = await ask(asking);
      if (answered.status !== 'missing') return answered;
      ends.push(answered);
      return INTERRUPTED;
    });
    return ends[0];
  }

  /**
   * Takes back the files that nobody has been given, as far as the folder shows, where they hold requests that are not awaited (any more):
   * what is still missing of them is written anew, or asked live.
   */
  async #withdraw(requests: Requests, results: Results, awaited: Set<string>): Promise<void> {
    const { sent = [] } = (await readSubmission(this.#dir)) ?? {};
    const given = new Set(sent.map(({ part }) => part));
    const stale = new Set<string>();
    for (const [name, part] of requests) {
      if (results.has(name)) given.add(part);
      else if (!awaited.has(name)) stale.add(part);
    }
    for (const { file } of this.state.batch?.parts ?? []) {
      if (given.has(file) || !stale.has(file)) continue;
      const batch = present(this.state.batch);
      await this.#save({ ...batch, parts: batch.parts.filter((part) => part.file !== file) });
      await rm(join(this.#dir, file), { force: true });
      for (const [name, part] of requests) {
        if (part !== file) continue;
        awaited.delete(name);
        // What is asked live now went into a file all the same: later results are not those of a later request.
        if (!this.#isLive) requests.delete(name);
      }
    }
  }

  /** Writes the requests that the jobs are missing. Each is made when its turn comes, so that no text is held. */
  async #write(jobs: readonly J[], answers: Answers, requests: Requests, awaited: Set<string>): Promise<void> {
    const ids: string[] = [];
    await writeParts(this.#dir, this.state.batch?.parts ?? [], this.#lines(jobs, answers, ids), async (part) => {
      const batch = present(this.state.batch);
      await this.#save({ ...batch, parts: [...batch.parts, part] });
      for (const id of ids.splice(0, part.requests)) {
        requests.set(id, part.file);
        awaited.add(id);
        this.#written++;
      }
    });
  }

  /** @param ids takes the id of each */
  async *#lines(jobs: readonly J[], answers: Answers, ids: string[]): AsyncGenerator<string> {
    const { run, settings } = this.by;
    for (const job of jobs) {
      if (this.#isOver) return;
      const missing = await this.#missingOf(job, answers.asker(this.#files.kept(job), WAS_TOLD));
      if (missing === undefined) continue;
      const spent = reachedIn(run.ledger, settings);
      if (spent !== undefined) {
        throw new UserError(
          `${spent}, so nothing more was written; every result that has come is read, and the same command with a larger budget continues`,
          EXIT.later,
        );
      }
      const { id, body, way } = missing;
      const url = `/v1${way.path}` as const;
      if (this.state.batch === undefined) await this.#save(this.#begun(url));
      ids.push(id);
      yield `{"custom_id":"${id}","method":"POST","url":"${url}","body":${body}}\n`;
    }
  }

  #begun(url: Batch['url']): Batch {
    const { command, endpoints, run } = this.by;
    const [address] = this.live === undefined ? [] : endpoints.baseUrls;
    return {
      run: { kind: run.kind, dir: run.dir, fingerprint: fingerprintOf(run.identity), identity: run.identity },
      model: endpoints.model,
      url,
      baseUrl: address && readAddress(address, endpoints.apiKey).baseUrl,
      ...this.#learnt(),
      command,
      parts: [],
    };
  }

  async #save(batch: Batch): Promise<void> {
    await writeBatch(this.#dir, batch);
    this.state.batch = batch;
  }

  #learnt(): Pick<Batch, 'dropped' | 'isRenamed'> {
    const { dialect } = this.options;
    return { dropped: dialect.dropped(), isRenamed: dialect.isRenamed() || undefined };
  }

  #reportOf(
    jobs: readonly J[],
    { taken }: Answers,
    requests: Requests,
    results: Results,
    awaited: ReadonlySet<string>,
    isWhole: boolean,
  ): BatchReport {
    const { batch } = this.state;
    const names = new Set(jobs.map((job) => jobName(this.#files.kept(job).id)));
    // Of what is not asked about now, results may come that a later command takes.
    const isOpen = (name: string) => !results.has(name) && (awaited.has(name) || !names.has(jobIn(name)));
    const countIn = (file: string, isIt: (name: string) => boolean) =>
      [...requests].filter(([id, part]) => part === file && isIt(id)).length;
    const parts = (batch?.parts ?? []).map(({ file, requests, bytes }) => ({
      file,
      requests,
      bytes,
      answered: countIn(file, (name) => results.has(name)),
      awaited: countIn(file, (name) => awaited.has(name)),
    }));
    return {
      dir: this.#dir,
      model: batch?.model ?? this.by.endpoints.model,
      parts,
      awaited: awaited.size,
      written: this.#written,
      isLive: this.#isLive,
      isOver: isWhole && (this.#isLive || ![...requests.keys()].some(isOpen)),
      // A file that was written anew meanwhile may have been given to an engine before.
      notes: results.notes((id) => requests.has(id) || taken.has(id)),
    };
  }
}

/** What an answer cost was told when it was first read. */
const WAS_TOLD = () => {};

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
    const { log, id } = answered;
    const batched = log.batched + (requests.has(id) ? 1 : 0);
    const all = isFirst && log.attempts > 0 ? callsTogether(log, outcome.log) : outcome.log;
    return { ...outcome, log: { ...all, ...(batched > 0 && { batched }) } };
  };
}
