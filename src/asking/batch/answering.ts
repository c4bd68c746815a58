// Answering a batch folder here: every request without a result is asked by a live call, and its answer is a line of answers.jsonl.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, UserError } from '../../errors.js';
import { syncFolder } from '../../files.js';
import { splitLines } from '../../lines.js';
import { readCustomId } from '../../model/batch/custom-id.js';
import { type Batch, unreadable, unwritable } from '../../model/batch/folder.js';
import { type HttpAnswer, PassingEndpoint, resultLine } from '../../model/batch/passing-endpoint.js';
import { bodyIn, requestsIn, requireAsWritten } from '../../model/batch/requests.js';
import { namesWithResult } from '../../model/batch/results.js';
import { isLive, resultsToFetch, type Submission } from '../../model/batch/submission.js';
import type { NamedEndpoints } from '../../model/http-backend.js';
import { Pace } from '../../model/schedule/pace.js';
import { openPool } from '../../model/schedule/pool.js';
import { Appender } from '../../run/group-commit.js';
import type { AskSignals, Backend, Job, ModelOutcome, ModelRequest, Solve } from '../../types.js';
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

interface RequestsLeft {
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
      for await (const { id, bytes, offset } of requestsIn(dir, part)) {
        if (answered.has(readCustomId(id).name)) continue;
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

interface AnswersFile {
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

/** What a request came to. */
interface Answered {
  readonly part: string;
  readonly isReply: boolean;
  readonly tokens: number;
  /** Why it is no reply. */
  readonly reason: string;
}

interface Answering {
  readonly batch: Batch;
  readonly left: RequestsLeft;
  readonly file: AnswersFile;
  readonly named: NamedEndpoints;
  readonly settings: RunSettings;
  readonly signals: AskSignals;
  readonly onNotice: (text: string) => void;
  readonly onAnswered: (answered: Answered) => void;
}

/**
 * Opens whom to ask; `run` asks all that is left, and each answer is on the disk before its slot is used again. It throws a UserError
 * where no request would fare better (auth, an unknown model), and 69 where nobody answers any more.
 */
export function openAnswerer(options: Answering): { readonly backend: Backend; run(): Promise<void> } {
  const { batch, left, file, named, settings, signals, onNotice, onAnswered } = options;
  const { rpm, tpm, concurrency, maxAttempts, retryMinutes, waitReady, keepGoing, callTimeout } = settings;
  const answers = new WeakMap<ModelRequest, HttpAnswer>();
  const endpoints = named.baseUrls.map((baseUrl, index) => {
    const address = {
      baseUrl,
      apiKey: named.apiKey,
      proxy: named.proxies[index],
      path: batch.url.replace(/^\/v1/, ''),
    };
    return new PassingEndpoint({ ...address, model: batch.model, callTimeoutMs: callTimeout * 1000, answers });
  });
  const backend = openPool(endpoints, {
    concurrency: concurrency === 'adaptive' ? (named.own?.slots ?? concurrency) : concurrency,
    maxAttempts,
    retryMs: retryMinutes * 60_000,
    waitReadyMs: waitReady * 1000,
    keepGoing,
    onNotice,
    pace: new Pace({ rpm, tpm, onNotice }),
  });
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
    onAnswered({
      part: job.part,
      isReply: answer !== undefined && answer.status >= 200 && answer.status <= 299,
      tokens: (outcome.status === 'ok' && outcome.log.usage.completionTokens) || 0,
      reason: outcome.status === 'failed' ? outcome.reason : `HTTP ${answer?.status}`,
    });
  };
  return {
    backend,
    async run() {
      const lost = named.own?.lost;
      const abort = lost === undefined ? signals.abort : AbortSignal.any([signals.abort, lost]);
      await backend.work(left.jobs, solve, { stop: signals.stop, abort });
      lost?.throwIfAborted();
    },
  };
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
