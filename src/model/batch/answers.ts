// What lies in a batch folder, given to a request as an endpoint would give it: try after try, by the same rules.

import { UserError } from '../../errors.js';
import type { Redact } from '../../redaction.js';
import type { CallCost, ModelFailure, ModelReply, ModelRequest, Usage } from '../../types.js';
import { addUsage, callsCounted, costOfBoth } from '../../usage.js';
import { type Attempt, type AttemptFailure, type AttemptReply, INTERRUPTED } from '../attempt.js';
import type { ContextWatch } from '../endpoint/context.js';
import { afterOverflow } from '../endpoint/fitting.js';
import { Reading } from '../endpoint/reading.js';
import { type Asked, type Body, bodyText, budgetOf, requestBody, type Way, wayOf } from '../endpoint/request.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rule.js';
import { cleaned } from '../http/wording.js';
import { TRIED_AGAIN } from '../schedule/tries.js';
import { costOfTry } from '../try-cost.js';
import { customId } from './custom-id.js';
import type { Requests } from './requests.js';
import type { Result } from './result-line.js';
import type { Results } from './results.js';

/** What replies are asked with, and what failures are classified by, as far as both are the same for each request. */
export interface AnswerOptions {
  readonly asked: Asked;
  readonly fitMaxTokens: boolean;
  readonly maxAttempts: number;
  readonly context: ContextWatch;
  readonly known: Omit<CallContext, 'asked' | 'sent' | 'nowMs'>;
  readonly redact: Redact;
}

/** A request of which no result is there. */
export class Missing {
  constructor(
    readonly id: string,
    /** Its body, as it is sent. */
    readonly body: string,
    readonly way: Way,
    /** Its number, where it was written. */
    readonly request: number | undefined,
  ) {}
}

/** Thrown where a result shows that every request has to be made in another way. */
export class Relearnt {}

/** What came of a request; `batched` counts the job's requests so far. */
interface Answered {
  readonly outcome: ModelReply | ModelFailure;
  readonly batched: number;
}

/** A reply in a file has no clocks. */
const NO_CLOCKS = { progress() {}, tail() {}, firstTokenMs: undefined };
/** What a record says in place of the server's host. */
const HOST = 'batch';

/** One request, while its results are looked up. */
interface Course {
  readonly job: string;
  batched: number;
  /** Tries that count. */
  counted: number;
  attempts: number;
  counts: number;
  cost: CallCost;
}

export class Answers {
  constructor(
    private readonly options: AnswerOptions,
    private readonly requests: Requests,
    private readonly results: Results,
  ) {}

  /**
   * What came of a request of the job, which has made `batched` before; `Missing` where it has still to come. `tell` is told the cost of
   * each try.
   * @throws UserError where the run must stop; `Relearnt`
   */
  async of(
    job: string,
    batched: number,
    request: ModelRequest,
    tell: (cost: CallCost) => void,
  ): Promise<Answered | Missing> {
    const course: Course = { job, batched, counted: 0, attempts: 0, counts: 0, cost: { usage: {} } };
    try {
      for (;;) {
        const attempt = await this.#try(course, request);
        course.attempts++;
        const cost = costOfTry(request, attempt);
        course.cost = costOfBoth(course.cost, cost);
        course.counts += callsCounted(cost);
        tell(cost);
        if (attempt.status === 'ok' || this.#isFinal(attempt, course)) return answered(attempt, course);
      }
    } catch (error) {
      if (error instanceof Missing) return error;
      throw error;
    }
  }

  /** A rate limit loses no row: it costs no try, as where calls are made one by one. */
  #isFinal(failure: AttemptFailure, course: Course): boolean {
    const isPassing = TRIED_AGAIN.has(failure.class) || failure.down === true;
    if (failure.stop !== undefined && !isPassing) throw failure.stop;
    if (!isPassing) return true;
    return failure.class !== 'rate-limit' && ++course.counted >= this.options.maxAttempts;
  }

  async #try(course: Course, request: ModelRequest): Promise<AttemptReply | AttemptFailure> {
    const { asked, context, fitMaxTokens: fits, known, redact } = this.options;
    const spent: Usage = {};
    const index = course.counted;
    const ask = async (maxTokens?: number): Promise<AttemptReply | AttemptFailure> => {
      const outcome = await this.#lookUp(course, wayOf(request), requestBody(asked, request, index, maxTokens));
      addUsage(spent, outcome.usage);
      return outcome;
    };
    let outcome: Attempt = await ask();
    if (outcome.status === 'ok') context.called();
    else if (outcome.overflow !== undefined) {
      const maxTokens = request.maxTokens ?? asked.sampling.maxTokens;
      outcome = await afterOverflow(outcome, outcome.overflow, { maxTokens, fits, host: known.host, context }, ask);
    }
    // Nothing ends the reading of a file.
    if (outcome.status === INTERRUPTED.status) throw new Error('a result was interrupted');
    return outcome.status === 'ok' ? cleaned({ ...outcome, usage: spent }, redact) : { ...outcome, usage: spent };
  }

  /** The first result that can be used, or else the first failure. @throws Missing, Relearnt */
  async #lookUp(course: Course, way: Way, body: Body): Promise<AttemptReply | AttemptFailure> {
    const text = bodyText(body);
    for (;;) {
      const id = customId({ job: course.job, attempt: course.batched, body: text });
      const request = this.requests.find(id);
      const found =
        request !== undefined && this.results.has(request) ? await this.#resultOf(request, way, body) : undefined;
      if (found === undefined) throw new Missing(id, text, way, request);
      if (found === 'unasked') {
        course.batched++;
        continue;
      }
      // What is asked in another way has another id, so that this request is no attempt.
      if (found.status === 'failed' && this.#relearns(found.rejected, body)) throw new Relearnt();
      course.batched++;
      return found;
    }
  }

  async #resultOf(
    request: number,
    way: Way,
    body: Body,
  ): Promise<AttemptReply | AttemptFailure | 'unasked' | undefined> {
    let failure: AttemptFailure | undefined;
    let isUnasked = false;
    for await (const { result, file } of this.results.of(request)) {
      if (result.kind === 'unasked') {
        isUnasked = true;
        continue;
      }
      const attempt = this.#read(result, way, body);
      if (attempt.status === 'ok') return attempt;
      failure ??= attempt.stop === undefined ? attempt : { ...attempt, stop: stopAt(attempt.stop, file) };
    }
    return failure ?? (isUnasked ? 'unasked' : undefined);
  }

  #read(result: Exclude<Result, { kind: 'unasked' }>, way: Way, body: Body): AttemptReply | AttemptFailure {
    const context = () => ({
      ...this.options.known,
      asked: way.words,
      sent: Object.keys(body),
      nowMs: Date.now(),
    });
    if (result.kind === 'answer' && result.status !== undefined && (result.status < 200 || result.status > 299)) {
      return classify({ status: result.status, body: result.body }, context());
    }
    if (result.kind === 'answer' && result.status === undefined) return classify({ body: result.body }, context());
    const reading = new Reading(NO_CLOCKS, way, budgetOf(body));
    if (result.kind === 'completion') reading.take(result.completion);
    else reading.feed(Buffer.from(result.body));
    return reading.outcome(context);
  }

  #relearns(rejected: string | undefined, body: Body): boolean {
    const { dialect } = this.options.asked;
    return rejected !== undefined && dialect.learn(rejected) && !(rejected in dialect.translate(body));
  }
}

/** The way out where a result says that nothing of its kind can be answered: it would say so again and again. */
function stopAt(stop: UserError, file: string): UserError {
  return new UserError(
    `${stop.message}; the result stands in ${file}: once the cause is mended, move that file away and have its requests answered again`,
    stop.exitCode,
  );
}

function answered(attempt: AttemptReply | AttemptFailure, course: Course): Answered {
  const { attempts, cost, counts, batched } = course;
  const log = { attempts, ...cost, ...(counts > 1 && { tries: counts }), ms: 0, host: HOST, batched };
  if (attempt.status === 'failed') {
    return { outcome: { status: 'failed', class: attempt.class, reason: attempt.reason, log }, batched };
  }
  const { usage: _, firstTokenMs: _none, ...reply } = attempt;
  return { outcome: { ...reply, log }, batched };
}
