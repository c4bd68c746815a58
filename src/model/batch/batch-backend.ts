// The backend by batch files: requests are written, and the results that others put beside them are read in a later session.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { BatchReport } from '../../batch-report.js';
import { EXIT, UserError } from '../../errors.js';
import { makeFolders } from '../../files.js';
import { present } from '../../present.js';
import { hideKeys, keysIn, openRedaction } from '../../redaction.js';
import type { Ask, AskSignals, FileHooks, Job, ModelOutcome, Solve, WorkHooks } from '../../types.js';
import { callsTogether } from '../../usage.js';
import { INTERRUPTED } from '../attempt.js';
import type { BackendOptions, OpenBackend } from '../backend.js';
import { openContextWatch } from '../context.js';
import { openDialect } from '../endpoint/dialect.js';
import type { Way } from '../endpoint/request.js';
import { readAddress } from '../http/address.js';
import { type NamedEndpoints, openEndpoints } from '../http-backend.js';
import { type AnswerOptions, Answers, Missing, type NewRequest } from './answers.js';
import {
  type Batch,
  type BatchPart,
  type BatchRun,
  type BatchUrl,
  readBatch,
  unwritable,
  writeBatch,
} from './folder.js';
import { Left, reportOf, withVoid } from './left.js';
import { PartWriter } from './part-writer.js';
import { passOver } from './pass.js';
import { type Requests, readRequests } from './requests.js';
import { openResults, type Results } from './results.js';

export interface NamedBatch {
  readonly kind: 'batch';
  /** The folder, absolute. */
  readonly dir: string;
  /** Who answers the request by which parameters are decided, and what is asked live; no address is needed where neither is. */
  readonly endpoints: NamedEndpoints;
  /** The parameters are taken as they are given. */
  readonly assumes: boolean;
  /** What has no result is asked live. */
  readonly isLive: boolean;
  run(): BatchRun;
  /** The command that is asked by files. */
  command(): Promise<Batch['command']>;
  /** Another run may have begun in the folder since it was chosen. @throws UserError (78) for the batch of another run */
  requireOwn(batch: Batch): Promise<void>;
  /** Told before anything is written without a parameter that was sent before. @throws UserError (78) where the run cannot go on so */
  onDropped(): void;
  /** Told before requests are written. @throws UserError (75) where the run has spent what it may */
  onWrite(): void;
}

/** So many rows are tried live until one is answered. */
const MOST_PROBES = 3;

/** @throws UserError: 73 where the folder cannot be used, 65 and 66 for what lies in it, 2 for a base URL or key that cannot be used */
export async function openBatch(named: NamedBatch, options: BackendOptions): Promise<OpenBackend> {
  await makeFolders(named.dir).catch((error: unknown) => {
    throw unwritable(named.dir, error);
  });
  await access(named.dir, constants.W_OK).catch((error: unknown) => {
    throw unwritable(named.dir, error);
  });
  const batch = await readBatch(named.dir);
  if (batch !== undefined) await named.requireOwn(batch);
  const { allowParamDrop, onNotice = () => {} } = options;
  const dropped = [...new Set([...options.dropped, ...(batch?.dropped ?? [])])];
  const dialect = openDialect({ allowParamDrop, onNotice, dropped, isRenamed: batch?.isRenamed ?? false });
  const asksLive = named.isLive || (batch === undefined && !named.assumes);
  const live = asksLive ? await openEndpoints(named.endpoints, { ...options, dialect }) : undefined;
  return new BatchBackend(named, { ...options, dialect }, batch, live);
}

class BatchBackend implements OpenBackend {
  #batch: Batch | undefined;
  #report: BatchReport | undefined;
  #results: Results | undefined;
  readonly #answers: AnswerOptions;

  constructor(
    private readonly named: NamedBatch,
    private readonly options: BackendOptions & Required<Pick<BackendOptions, 'dialect'>>,
    batch: Batch | undefined,
    private readonly live: OpenBackend | undefined,
  ) {
    this.#batch = batch;
    this.#answers = answerOptions(named, options);
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
  }

  async work<J extends Job>(
    jobs: readonly J[],
    solve: Solve<J>,
    signals: AskSignals,
    hooks: WorkHooks<J> = {},
  ): Promise<void> {
    const isOver = () => signals.stop.aborted || signals.abort.aborted;
    // Sessions give it, and nobody else asks by files.
    const files = present(hooks.files);
    let rest = jobs;
    if (this.#batch === undefined && this.live !== undefined && !this.named.isLive) {
      rest = await this.#probe(this.live, jobs, solve, signals, hooks);
      if (isOver() || rest.length === 0) return;
    }
    for (;;) {
      const { done, isRelearnt, isWhole, left, answers } = await this.#pass(rest, solve, files, signals);
      if (isWhole && this.live !== undefined && left.kept.length > 0) {
        const kept = left.kept.map((place) => present(rest[place]));
        await this.live.work(
          kept,
          (job, ask) => solve(job, answersFirst(answers, files.kept(job), ask)),
          signals,
          hooks,
        );
      }
      if (!isRelearnt || isOver()) return;
      this.named.onDropped();
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

  async #pass<J extends Job>(jobs: readonly J[], solve: Solve<J>, hooks: FileHooks<J>, signals: AskSignals) {
    const { dir, isLive } = this.named;
    const parts = this.#batch?.parts ?? [];
    await this.#results?.close();
    const requests = await readRequests(dir, parts, signals.stop);
    const results = await openResults(dir, requests, signals.stop);
    this.#results = results;
    const left = new Left(parts.length);
    const writer = new PartWriter(dir, parts.length + 1, (part) => this.#list(part));
    let isWhole = false;
    try {
      const answers = new Answers(this.#answers, requests, results, this.#batch?.url);
      const end = await passOver(jobs, solve, answers, hooks, signals, async ({ place, missing, isHeld }) => {
        const { request } = missing;
        const isWritten = typeof request === 'number';
        if (!isWritten && isHeld) return;
        if (isLive) left.kept.push(place);
        else if (isWritten) {
          requests.await(request);
          left.awaitedOf(requests.partOf(request));
        } else await this.#write(request, writer);
      });
      isWhole = end.isWhole;
      if (isWhole) {
        await writer.end();
        for (const id of hooks.alone()) requests.look(id);
        await this.#noteVoid(parts.length, requests, results);
      }
      return { ...end, left, answers };
    } finally {
      await writer.discard();
      this.#report = { ...reportOf(this.named, this.#batch, { requests, results, left }), isWhole };
    }
  }

  async #write({ id, body, way }: NewRequest, writer: PartWriter): Promise<void> {
    this.named.onWrite();
    const url = urlOf(way);
    this.#batch ??= await this.#begin(url);
    if (this.#batch.url !== url) throw new Error(`${url} beside ${this.#batch.url} in one batch`);
    await writer.add([`{"custom_id":"${id}","method":"POST","url":"${url}","body":`, body, '}\n']);
  }

  async #begin(url: BatchUrl): Promise<Batch> {
    const { endpoints, dir, run } = this.named;
    const [address] = this.live === undefined ? [] : endpoints.baseUrls;
    const command = await this.named.command();
    const batch: Batch = {
      run: run(),
      model: endpoints.model,
      url,
      ...(address !== undefined && { baseUrl: readAddress(address, endpoints.apiKey).baseUrl }),
      ...this.#learnt(),
      ...(command !== undefined && { command }),
      parts: [],
    };
    await writeBatch(dir, batch, true);
    return batch;
  }

  async #list(part: BatchPart): Promise<void> {
    // A part is written behind `#begin`.
    const batch = present(this.#batch);
    await this.#save({ ...batch, parts: [...batch.parts, part] });
  }

  /**
   * Has batch.json say which requests need no answer any more. Where the rest is asked live it says so before: whoever submits the folder
   * meanwhile, or behind a kill, pays for none of it twice.
   */
  async #noteVoid(before: number, requests: Requests, results: Results): Promise<void> {
    const batch = this.#batch;
    if (batch === undefined) return;
    const parts = await withVoid(batch.parts.slice(0, before), requests, results, this.named.isLive);
    if (parts.every((part, place) => part.void === batch.parts[place]?.void)) return;
    await this.#save({ ...batch, parts: [...parts, ...batch.parts.slice(before)] });
  }

  async #save(batch: Batch): Promise<void> {
    await writeBatch(this.named.dir, batch);
    this.#batch = batch;
  }

  #learnt(): Pick<Batch, 'dropped' | 'isRenamed'> {
    const { dialect } = this.options;
    return { dropped: dialect.dropped(), ...(dialect.isRenamed() && { isRenamed: true as const }) };
  }
}

/**
 * Asks live from the first question on that has no answer in the folder. A result that comes later is that of an earlier request, and is
 * passed over: a record says how many requests in files went before it.
 */
function answersFirst(answers: Answers, kept: Parameters<Answers['asker']>[0], live: Ask): Ask {
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
    const { log, request } = answered;
    const batched = log.batched + (typeof request === 'number' ? 1 : 0);
    const all = isFirst && log.attempts > 0 ? callsTogether(log, outcome.log) : outcome.log;
    return { ...outcome, log: { ...all, ...(batched > 0 && { batched }) } };
  };
}

function urlOf(way: Way): BatchUrl {
  if ('isScored' in way) throw new Error('scores are not asked for by batch files');
  return `/v1${way.path}`;
}

function answerOptions(
  { dir, endpoints: { model, apiKey, prefix: flagPrefix, baseUrls } }: NamedBatch,
  options: BackendOptions & Required<Pick<BackendOptions, 'dialect'>>,
): AnswerOptions {
  const { sampling, responseFormat, dialect, fitMaxTokens, maxAttempts, onNotice = () => {} } = options;
  const keys = [apiKey, ...keysIn(sampling.extraBody)];
  const redact = openRedaction([...keys, ...baseUrls.flatMap((url) => readAddress(url, apiKey).secrets)]);
  const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
  const isHeld = responseFormat !== undefined;
  return {
    asked: { model, sampling: hideKeys(sampling), stream: false, dialect, ...(isHeld && { responseFormat }) },
    fitMaxTokens,
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
