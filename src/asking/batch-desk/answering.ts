// Answering a batch folder here: every request without a result is asked by a live call, and its answer is a line of answers.jsonl.

import { UserError } from '../../errors.js';
import { type HttpAnswer, resultLine } from '../../model/batch/answer.js';
import type { Batch } from '../../model/batch/folder.js';
import { answerIn, PassingEndpoint, requestOf } from '../../model/batch/passing-endpoint.js';
import { isLive, resultsToFetch, type Submission } from '../../model/batch/submission.js';
import type { NamedEndpoints } from '../../model/http-backend.js';
import { Pace } from '../../model/schedule/pace.js';
import { openPool } from '../../model/schedule/pool.js';
import { present } from '../../present.js';
import type { AskSignals, Backend, ModelOutcome, ModelRequest, Solve } from '../../types.js';
import type { AnswersFile } from './answers-file.js';
import type { RequestJob, RequestsLeft } from './requests-left.js';
import type { RunSettings } from './run-options.js';

/** What a request came to. */
export interface Answered {
  readonly part: string;
  /** Undefined for one that nobody answered. */
  readonly status: number | undefined;
  readonly tokens: number;
  /** Why it is no success. */
  readonly reason?: string;
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

/** Who answers a folder: the backend, and the answers that were no success. */
interface Answerer {
  readonly backend: Backend;
  /** @throws UserError where no request fares better (auth, an unknown model), and 69 where nobody answers any more */
  run(): Promise<void>;
}

export function openAnswerer(options: Answering): Answerer {
  const { batch, named, settings, onNotice } = options;
  const answers = new WeakMap<ModelRequest, HttpAnswer>();
  const { rpm, tpm, concurrency, maxAttempts, retryMinutes, waitReady, keepGoing, callTimeout } = settings;
  const endpoints = named.baseUrls.map(
    (baseUrl, index) =>
      new PassingEndpoint({
        baseUrl,
        apiKey: named.apiKey,
        proxy: named.proxies[index],
        path: batch.url.replace(/^\/v1/, ''),
        model: batch.model,
        callTimeoutMs: callTimeout * 1000,
        answers,
      }),
  );
  const backend = openPool(endpoints, {
    concurrency: concurrency === 'adaptive' ? (named.own?.slots ?? concurrency) : concurrency,
    maxAttempts,
    retryMs: retryMinutes * 60_000,
    waitReadyMs: waitReady * 1000,
    keepGoing,
    onNotice,
    pace: new Pace({ rpm, tpm, onNotice }),
  });
  return { backend, run: () => answerAll(options, backend, answers) };
}

async function answerAll(
  { left, file, named, signals, onAnswered }: Answering,
  backend: Backend,
  answers: WeakMap<ModelRequest, HttpAnswer>,
): Promise<void> {
  const lost = named.own?.lost;
  const abort = lost === undefined ? signals.abort : AbortSignal.any([signals.abort, lost]);
  const solve: Solve<RequestJob> = async (job, ask) => {
    let made: { readonly id: string; readonly request: ModelRequest } | undefined;
    const outcome = await ask({
      async make() {
        const { id, body } = await left.read(job);
        made = { id, request: requestOf(body) };
        return made.request;
      },
    });
    if (outcome.status === 'interrupted') return;
    const { id, request } = present(made);
    const answer = outcome.status === 'ok' ? answerIn(outcome.content) : answers.get(request);
    await file.append(resultLine(id, answer ?? noAnswer(outcome)));
    onAnswered({ part: job.part, ...toldOf(outcome, answer) });
  };
  await backend.work(left.jobs, solve, { stop: signals.stop, abort });
  lost?.throwIfAborted();
}

function noAnswer(outcome: ModelOutcome) {
  if (outcome.status !== 'failed') throw new TypeError('a request that was answered has an answer');
  return { code: outcome.class.replaceAll('-', '_'), message: outcome.reason };
}

function toldOf(outcome: ModelOutcome, answer: HttpAnswer | undefined): Omit<Answered, 'part'> {
  const tokens = outcome.status === 'ok' ? (outcome.log.usage.completionTokens ?? 0) : 0;
  const reason = outcome.status === 'failed' ? outcome.reason : `HTTP ${answer?.status}`;
  return { status: answer?.status, tokens, reason };
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
