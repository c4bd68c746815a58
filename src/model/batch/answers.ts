// Answers questions from a batch folder as an endpoint would: try after try, by the same rules.

import { addUsage, callsCounted, costOfBoth } from '../../core/costs.js';
import { EXIT, UserError } from '../../core/errors.js';
import { hideKeys, keysIn, openRedaction } from '../../core/redaction.js';
import {
  type Asking,
  type CallCost,
  type CallLog,
  charactersOf,
  type FileHooks,
  type ModelOutcome,
  type Usage,
} from '../../core/types.js';
import {
  type Attempt,
  type AttemptFailure,
  type AttemptReply,
  costOfTry,
  INTERRUPTED,
  TRIED_AGAIN,
} from '../attempt.js';
import type { BackendOptions, NamedEndpoints } from '../backend.js';
import { openContextWatch } from '../context.js';
import { Reading } from '../endpoint/reading.js';
import { type Asked, type Body, bodyText, budgetOf, requestBody, type Way, wayOf } from '../endpoint/request.js';
import { classify } from '../failures/classify.js';
import { readAddress } from '../http/address.js';
import { cleaned } from '../http/wording.js';
import { isGood, type Results, requestId } from './folder.js';

export type AnswerOptions = BackendOptions & Required<Pick<BackendOptions, 'dialect'>>;

/** A question without an answer yet: the request to write, and the cost of the tries before it. */
export type Missing = Readonly<{ id: string; way: Way; body: string; log: CallLog & { readonly batched: number } }>;

/** Time limits do not apply to a reply in a file. */
const NO_CLOCKS = { progress() {}, tail() {}, firstTokenMs: undefined };
/** Replaces the server's host in a record. */
const HOST = 'batch';

export type Answers = ReturnType<typeof openAnswers>;

export function openAnswers(
  { dir, endpoints }: { readonly dir: string; readonly endpoints: NamedEndpoints },
  options: AnswerOptions,
  results: Results,
) {
  const { model, apiKey, prefix: flagPrefix, baseUrls } = endpoints;
  const { sampling, responseFormat, dialect, fitMaxTokens: fits, maxAttempts, onNotice = () => {} } = options;
  const keys = [apiKey, ...keysIn(sampling.extraBody)];
  const redact = openRedaction([...keys, ...baseUrls.flatMap((url) => readAddress(url, apiKey).secrets)]);
  const context = openContextWatch({ maxTokens: sampling.maxTokens, fits, onNotice });
  const host = `the results in ${dir}`;
  const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
  const isHeld = responseFormat !== undefined;
  const asked: Asked = { model, sampling: hideKeys(sampling), stream: false, responseFormat, dialect };
  /** The ids of requests whose results were asked for. */
  const taken = new Set<string>();

  /** The first usable result, or else the first failure; undefined if nobody has worked on the request. */
  const resultOf = (id: string, way: Way, body: Body): AttemptReply | AttemptFailure | undefined => {
    let failure: AttemptFailure | undefined;
    const known = { host, model, flagPrefix, hasKey, isHeld, redact, asked: way.words, nowMs: Date.now() };
    const situation = () => ({ ...known, sent: Object.keys(body) });
    for (const { result, path } of results.of(id)) {
      if (result === 'unasked') continue;
      const { status, body: said } = result;
      const reading = new Reading(NO_CLOCKS, way, budgetOf(body));
      reading.feed(Buffer.from(said));
      const attempt = isGood(status ?? 0) ? reading.outcome(situation) : classify({ status, body: said }, situation());
      if (attempt.status === 'ok') return attempt;
      failure ??= withWayOut(attempt, path);
    }
    return failure;
  };

  /**
   * Answers questions of a job from the folder, one after another, until an answer is missing. `tell` receives the cost of each try.
   * @throws UserError if the run must stop
   */
  const asker = (
    { id: job, batched: before }: Pick<ReturnType<FileHooks<never>['kept']>, 'id' | 'batched'>,
    tell: (cost: CallCost) => void,
  ) => {
    /** Requests of the job in files so far. */
    let batched = before;
    /** Its first question without an answer. */
    const found: { missing?: Missing } = {};
    const ask = async (asking: Asking): Promise<ModelOutcome> => {
      const request = await asking.make();
      const way = wayOf(request);
      /** `counted` are the tries that count; `tries` are the calls that the cost covers. */
      let [attempts, counted, tries] = [0, 0, 0];
      let cost: CallCost = { usage: {} };
      const log = () => ({ attempts, ...cost, ...(tries > 1 && { tries }), ms: 0, host: HOST, batched });
      for (;;) {
        const usage: Usage = {};
        const askOnce = async (maxTokens?: number): Promise<Attempt> => {
          const body = requestBody(asked, request, counted, maxTokens);
          const text = bodyText(body);
          for (;;) {
            const id = requestId(job, batched, text);
            if (!results.has(id)) {
              found.missing ??= { id, way, body: text, log: log() };
              return INTERRUPTED;
            }
            taken.add(id);
            const result = resultOf(id, way, body);
            batched++;
            if (result !== undefined) {
              addUsage(usage, result.usage);
              return result;
            }
          }
        };
        const attempt = await context.fitted(await askOnce(), { host, budget: sampling.maxTokens }, askOnce);
        if (attempt.status === 'interrupted') return attempt;
        const tried = costOfTry(() => charactersOf(request), { ...attempt, usage });
        attempts++;
        tries += callsCounted(tried);
        cost = costOfBoth(cost, tried);
        tell(tried);
        if (attempt.status === 'ok') {
          const { usage: _, firstTokenMs: _none, ...reply } = cleaned(attempt, redact);
          return { ...reply, log: log() };
        }
        const { class: failure, reason, stop, down } = attempt;
        const isPassing = TRIED_AGAIN.has(failure) || down === true;
        if (stop !== undefined && !isPassing) throw stop;
        // A rate limit must not lose a row: it counts as no try, as in live calls.
        const isOver = failure !== 'rate-limit' && isPassing && ++counted >= maxAttempts;
        if (isOver || !isPassing) return { status: 'failed', class: failure, reason, log: log() };
      }
    };
    return { ask, found };
  };

  return { asker, taken };
}

/** Adds the remedy to a result that says that no such request can be answered: it would say so again and again. */
function withWayOut(failure: AttemptFailure, file: string): AttemptFailure {
  const { stop, rejected, reason } = failure;
  if (stop === undefined && rejected === undefined) return failure;
  const anew =
    rejected === undefined
      ? ''
      : ', or start over with --fresh: without --assume-params, one live row shows which parameters are accepted';
  const message = `${stop?.message ?? reason}; the result is in ${file}: once the cause is fixed, move that file away and have its requests answered again${anew}`;
  return { ...failure, stop: new UserError(message, stop?.exitCode ?? EXIT.unavailable) };
}
