// What lies in a batch folder, given to a question as an endpoint would give it: try after try, by the same rules.

import { addUsage, callsCounted, costOfBoth } from '../../core/costs.js';
import { UserError } from '../../core/errors.js';
import { hideKeys, keysIn, openRedaction, type Redact } from '../../core/redaction.js';
import {
  type Asking,
  type CallCost,
  type CallLog,
  charactersOf,
  type FileHooks,
  type ModelFailure,
  type ModelReply,
  type ModelRequest,
  type Usage,
} from '../../core/types.js';
import { type AttemptFailure, type AttemptReply, costOfTry, TRIED_AGAIN } from '../attempt.js';
import type { BackendOptions, NamedEndpoints } from '../backend.js';
import { type ContextWatch, openContextWatch } from '../context.js';
import { Reading } from '../endpoint/reading.js';
import { type Asked, type Body, bodyText, budgetOf, requestBody, type Way, wayOf } from '../endpoint/request.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rules.js';
import { readAddress } from '../http/address.js';
import { cleaned } from '../http/wording.js';
import { requestId } from './requests.js';
import type { Result, Results } from './results.js';

export type AnswerOptions = BackendOptions & Required<Pick<BackendOptions, 'dialect'>>;

/** A question whose answer has still to come. */
export class Missing {
  readonly status = 'missing';

  constructor(
    /** Of the request that is to be written. */
    readonly id: string,
    readonly way: Way,
    readonly body: string,
    /** What the tries before it took. */
    readonly log: CallLog & { readonly batched: number },
  ) {}
}

/** Thrown where a result shows that every request has to be made in another way. */
export class Relearnt {}

/** A reply in a file has no clocks. */
const NO_CLOCKS = { progress() {}, tail() {}, firstTokenMs: undefined };
/** What a record says in place of the server's host. */
const HOST = 'batch';

/** A question, while its results are looked up. */
interface Question {
  readonly job: string;
  readonly request: ModelRequest;
  /** Requests of the job in files so far. */
  batched: number;
  attempts: number;
  /** Tries that count. */
  counted: number;
  /** Calls that the cost is of. */
  tries: number;
  cost: CallCost;
}

export class Answers {
  readonly #asked: Asked;
  readonly #redact: Redact;
  readonly #context: ContextWatch;
  /** What failures are classified by, as far as it is the same for each request. */
  readonly #known: Omit<CallContext, 'asked' | 'sent' | 'nowMs'>;
  /** The ids of requests whose results were asked for. */
  readonly taken = new Set<string>();

  constructor(
    { dir, endpoints }: { readonly dir: string; readonly endpoints: NamedEndpoints },
    private readonly options: AnswerOptions,
    private readonly results: Results,
  ) {
    const { model, apiKey, prefix: flagPrefix, baseUrls } = endpoints;
    const { sampling, responseFormat, dialect, fitMaxTokens: fits, onNotice = () => {} } = options;
    const keys = [apiKey, ...keysIn(sampling.extraBody)];
    this.#redact = openRedaction([...keys, ...baseUrls.flatMap((url) => readAddress(url, apiKey).secrets)]);
    this.#context = openContextWatch({ maxTokens: sampling.maxTokens, fits, onNotice });
    const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
    const isHeld = responseFormat !== undefined;
    this.#known = { host: `the results in ${dir}`, model, flagPrefix, hasKey, isHeld, redact: this.#redact };
    this.#asked = { model, sampling: hideKeys(sampling), stream: false, dialect, ...(isHeld && { responseFormat }) };
  }

  /**
   * Asks what lies in the folder: one question of a job after the other. `tell` is told the cost of each try.
   * @throws UserError where the run must stop; Relearnt
   */
  asker(
    { id: job, batched }: Pick<ReturnType<FileHooks<never>['kept']>, 'id' | 'batched'>,
    tell: (cost: CallCost) => void,
  ): (asking: Asking) => Promise<ModelReply | ModelFailure | Missing> {
    let before = batched;
    return async (asking) => {
      const nothing = { attempts: 0, counted: 0, tries: 0, cost: { usage: {} } };
      const question = { job, request: await asking.make(), batched: before, ...nothing };
      try {
        const outcome = await this.#answer(question, tell);
        before = question.batched;
        return outcome;
      } catch (error) {
        if (error instanceof Missing) return error;
        throw error;
      }
    };
  }

  async #answer(question: Question, tell: (cost: CallCost) => void): Promise<ModelReply | ModelFailure> {
    for (;;) {
      const attempt = await this.#try(question);
      const cost = costOfTry(() => charactersOf(question.request), attempt);
      question.attempts++;
      question.tries += callsCounted(cost);
      question.cost = costOfBoth(question.cost, cost);
      tell(cost);
      const log = logOf(question);
      if (attempt.status === 'ok') {
        const { usage: _, firstTokenMs: _none, ...reply } = attempt;
        return { ...reply, log };
      }
      const { class: failure, reason, stop, down } = attempt;
      const isPassing = TRIED_AGAIN.has(failure) || down === true;
      if (stop !== undefined && !isPassing) throw stop;
      // A rate limit loses no row: it costs no try, as where calls are made one by one.
      const isOver = failure !== 'rate-limit' && isPassing && ++question.counted >= this.options.maxAttempts;
      if (isOver || !isPassing) return { status: 'failed', class: failure, reason, log };
    }
  }

  async #try(question: Question): Promise<AttemptReply | AttemptFailure> {
    const usage: Usage = {};
    const ask = async (maxTokens?: number): Promise<AttemptReply | AttemptFailure> => {
      const outcome = this.#lookUp(question, maxTokens);
      addUsage(usage, outcome.usage);
      return outcome;
    };
    const fitting = { host: this.#known.host, budget: this.options.sampling.maxTokens };
    const outcome = await this.#context.fitted(await ask(), fitting, ask);
    if (outcome.status === 'interrupted') throw new Error('nothing ends the reading of a file');
    return outcome.status === 'ok' ? cleaned({ ...outcome, usage }, this.#redact) : { ...outcome, usage };
  }

  /** The first result that can be used, or else the first failure. @throws Missing, Relearnt */
  #lookUp(question: Question, maxTokens: number | undefined): AttemptReply | AttemptFailure {
    const { dialect } = this.options;
    const { job, request, counted } = question;
    const way = wayOf(request);
    const body = requestBody(this.#asked, request, counted, maxTokens);
    const text = bodyText(body);
    for (;;) {
      const id = requestId(job, question.batched, text);
      if (!this.results.has(id)) throw new Missing(id, way, text, logOf(question));
      this.taken.add(id);
      const found = this.#resultOf(id, way, body);
      const rejected = found?.status === 'failed' ? found.rejected : undefined;
      // What is asked in another way has another id, so that this request is no attempt.
      if (rejected !== undefined && dialect.learn(rejected) && !(rejected in dialect.translate(body))) {
        throw new Relearnt();
      }
      question.batched++;
      if (found !== undefined) return found;
    }
  }

  /** Undefined where nobody has worked on the request. */
  #resultOf(id: string, way: Way, body: Body): AttemptReply | AttemptFailure | undefined {
    let failure: AttemptFailure | undefined;
    for (const { result, path } of this.results.of(id)) {
      if (result.kind === 'unasked') continue;
      const attempt = this.#read(result, way, body);
      if (attempt.status === 'ok') return attempt;
      failure ??= attempt.stop === undefined ? attempt : { ...attempt, stop: stopAt(attempt.stop, path) };
    }
    return failure;
  }

  #read(result: Exclude<Result, { kind: 'unasked' }>, way: Way, body: Body): AttemptReply | AttemptFailure {
    const context = () => ({ ...this.#known, asked: way.words, sent: Object.keys(body), nowMs: Date.now() });
    const reading = new Reading(NO_CLOCKS, way, budgetOf(body));
    if (result.kind === 'completion') reading.take(result.completion);
    else {
      const { status, body: said } = result;
      const isGood = status !== undefined && status >= 200 && status <= 299;
      if (!isGood) return classify({ ...(status !== undefined && { status }), body: said }, context());
      reading.feed(Buffer.from(said));
    }
    return reading.outcome(context);
  }
}

/** The way out where a result says that nothing of its kind can be answered: it would say so again and again. */
function stopAt(stop: UserError, file: string): UserError {
  return new UserError(
    `${stop.message}; the result stands in ${file}: once the cause is mended, move that file away and have its requests answered again`,
    stop.exitCode,
  );
}

function logOf({ attempts, cost, tries, batched }: Question): Missing['log'] {
  return { attempts, ...cost, ...(tries > 1 && { tries }), ms: 0, host: HOST, batched };
}
