// Answering a batch folder here: every request without a result is asked by a live call, and its answer is a line of answers.jsonl.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import type { Backend, Io, Job, ModelOutcome, ModelRequest, Solve } from '../../core/types.js';
import { Appender } from '../../disk/group-commit.js';
import { splitLines } from '../../disk/lines.js';
import { syncFolder } from '../../disk/make-folder.js';
import { type Batch, unreadable, unwritable } from '../../model/batch/folder.js';
import { type HttpAnswer, PassingEndpoint, resultLine } from '../../model/batch/passing-endpoint.js';
import { bodyIn, requireAsWritten, unansweredIn } from '../../model/batch/requests.js';
import { namesWithResult } from '../../model/batch/results.js';
import { isLive, resultsToFetch, type Submission } from '../../model/batch/submission.js';
import type { NamedEndpoints } from '../../model/http-backend.js';
import { Pace } from '../../model/schedule/pace.js';
import { openPool } from '../../model/schedule/pool.js';
import { openProgress } from '../../run/progress.js';
import { drainOnInterrupt } from '../../run/session.js';
import { localTarget, targetAt } from '../../run/target.js';
import type { RunSettings } from './options.js';

/** The file of the folder that answers go to. */
export const ANSWERS = 'answers.jsonl';
/** Requests stand in the order of their prefixes: those that lie together go to one endpoint. */
const GROUP = 32;

/** A request to be asked. */
interface RequestJob extends Job {
  readonly id: string;
  /** The file of requests, and where the request's line lies in it. */
  readonly part: string;
  readonly handle: FileHandle;
  readonly offset: number;
  readonly length: number;
}

export interface RequestsLeft {
  readonly jobs: readonly RequestJob[];
  /** How many requests there are in each part, and how many of these have a result. */
  readonly totals: ReadonlyMap<string, number>;
  readonly already: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/**
 * The requests that have no result yet.
 * @throws UserError: 65 for a part that is not as it was written, or a line that is no request, 66 where a file cannot be read
 */
export async function requestsLeft(dir: string, { parts }: Batch): Promise<RequestsLeft> {
  const answered = await namesWithResult(dir);
  const jobs: RequestJob[] = [];
  const already = new Map<string, number>();
  const handles: FileHandle[] = [];
  const close = async () => void (await Promise.all(handles.map((handle) => handle.close())));
  try {
    for (const part of parts) {
      await requireAsWritten(dir, part);
      const path = join(dir, part.file);
      const handle = await open(path, 'r').catch((error: unknown) => {
        throw unreadable(path, error);
      });
      handles.push(handle);
      const before = jobs.length;
      for await (const { id, bytes, offset } of unansweredIn(dir, part, answered)) {
        const group = String(Math.floor(jobs.length / GROUP));
        jobs.push({ group, id, part: part.file, handle, offset, length: bytes.length });
      }
      already.set(part.file, part.requests - (jobs.length - before));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { jobs, totals: new Map(parts.map(({ file, requests }) => [file, requests])), already, close };
}

async function bodyOf({ part, handle, offset, length }: RequestJob): Promise<string> {
  const bytes = Buffer.allocUnsafe(length);
  await handle.read(bytes, 0, length, offset);
  const body = bodyIn(bytes.toString());
  if (body !== undefined) return body;
  throw new UserError(`${part} holds a line that is no request of a batch; restore the file`, EXIT.badData);
}

export interface AnswersFile {
  /** Resolves when the line is on the disk. */
  append(line: Buffer): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens answers.jsonl, or makes it. A torn last line, as a kill leaves it, is cut off: its request is asked again. */
export async function openAnswers(dir: string): Promise<AnswersFile> {
  const path = join(dir, ANSWERS);
  let handle: FileHandle | undefined;
  try {
    // Like 'r+', but makes the file, and follows no link: a folder of somebody else's must not name a file of ours.
    handle = await open(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0));
    for await (const { offset, ended } of splitLines(handle.createReadStream({ start: 0, autoClose: false }))) {
      if (!ended) await handle.truncate(offset);
    }
    await syncFolder(dir);
    const { size } = await handle.stat();
    const file = handle;
    const appender = new Appender(file, path, size);
    return {
      append: (line) => appender.append(line),
      async close() {
        await appender.idle();
        await file.close();
      },
    };
  } catch (error) {
    await handle?.close();
    throw unwritable(path, error);
  }
}

/** How many requests were answered now, and how many of them otherwise than by a reply. */
export interface AnswerTally {
  answered: number;
  refused: number;
}

/**
 * Asks all that is left; each answer is on the disk before its slot is used again.
 * @throws UserError where no request would fare better (auth, an unknown model), and 69 where nobody answers any more
 */
export async function answerAll(
  { url, model }: Batch,
  left: RequestsLeft,
  file: AnswersFile,
  settings: RunSettings,
  io: Io,
): Promise<AnswerTally> {
  const { local, modelBaseUrl: baseUrls, modelApiKey: apiKey } = settings;
  const tally = { answered: 0, refused: 0 };
  const answers = new WeakMap<ModelRequest, HttpAnswer>();
  const { named, close } =
    local === undefined
      ? targetAt({ prefix: 'model', baseUrls, model, apiKey }, io)
      : await localTarget('model', local, { ...settings, alias: model }, io);
  const onNotice = (text: string) => progress.notice(text);
  const drain = drainOnInterrupt(io, onNotice);
  let pool: Backend | undefined;
  const progress = openProgress(io, {
    ...settings,
    title: 'batch run',
    unit: 'requests',
    totals: left.totals,
    already: left.already,
    status: () => pool?.status(),
  });
  io.setLastWords('ended at once: every answer that was written is kept; the same command goes on');
  const solve: Solve<RequestJob> = async (job, ask) => {
    let request: ModelRequest | undefined;
    const outcome = await ask({
      async make() {
        request = { prompt: await bodyOf(job), seedOffset: 0 };
        return request;
      },
    });
    if (outcome.status === 'interrupted') return;
    const answer = request && answers.get(request);
    await file.append(resultLine(job.id, answer ?? noAnswer(outcome)));
    const isReply = answer !== undefined && answer.status >= 200 && answer.status <= 299;
    tally.answered++;
    if (!isReply) tally.refused++;
    progress.settled(job.part, {
      status: isReply ? 'ok' : 'failed',
      tokens: (outcome.status === 'ok' && outcome.log.usage.completionTokens) || 0,
      reason: outcome.status === 'failed' ? outcome.reason : `HTTP ${answer?.status}`,
    });
  };
  try {
    const path = url.replace(/^\/v1/, '');
    pool = poolOver(named, settings, { path, model, answers }, onNotice);
    const { lost } = named.own ?? {};
    const abort = lost === undefined ? drain.over : AbortSignal.any([drain.over, lost]);
    await pool.work(left.jobs, solve, { stop: io.stop, abort });
    lost?.throwIfAborted();
  } finally {
    drain.close();
    progress.finish();
    await pool?.close();
    await close();
  }
  return tally;
}

function poolOver(
  { baseUrls, apiKey, proxies, own }: NamedEndpoints,
  settings: RunSettings,
  requests: Pick<ConstructorParameters<typeof PassingEndpoint>[0], 'path' | 'model' | 'answers'>,
  onNotice: (text: string) => void,
): Backend {
  const { rpm, tpm, concurrency, maxAttempts, retryMinutes, waitReady, keepGoing, callTimeout } = settings;
  const callTimeoutMs = callTimeout * 1000;
  const endpoints = baseUrls.map(
    (baseUrl, index) => new PassingEndpoint({ baseUrl, apiKey, proxy: proxies[index], callTimeoutMs, ...requests }),
  );
  return openPool(endpoints, {
    concurrency: concurrency === 'adaptive' ? (own?.slots ?? concurrency) : concurrency,
    maxAttempts,
    retryMs: retryMinutes * 60_000,
    waitReadyMs: waitReady * 1000,
    keepGoing,
    onNotice,
    pace: new Pace({ rpm, tpm, onNotice }),
  });
}

function noAnswer(outcome: ModelOutcome) {
  if (outcome.status !== 'failed') throw new TypeError('a request that was answered has an answer');
  return { code: outcome.class.replaceAll('-', '_'), message: outcome.reason };
}

/** Whoever answers here what a server works on pays for it twice. @throws UserError (2) where batches are awaited */
export function requireNotAwaited(submission: Submission | undefined, shown: string): void {
  const isAwaited = submission?.sent.some(
    (sent) => isLive(sent) || sent.isOpen === true || resultsToFetch(sent).length > 0,
  );
  if (!isAwaited) return;
  throw new UserError(
    `batches of ${shown} are at ${submission?.baseUrl} and not fetched yet, and would be paid for twice; awb batch fetch ${shown} gets what has come, awb batch cancel ${shown} ends them`,
  );
}
