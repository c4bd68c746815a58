// What lies in a batch folder, given to a request as an endpoint would give it: try after try, by the same rules.

import { UserError } from '../../errors.js';
import { present } from '../../present.js';
import { charactersOf } from '../../question.js';
import type { Redact } from '../../redaction.js';
import type { Asking, CallCost, CallLog, ModelFailure, ModelReply, ModelRequest, Usage } from '../../types.js';
import { addUsage, callsCounted, costOfBoth } from '../../usage.js';
import { type Attempt, type AttemptFailure, type AttemptReply, INTERRUPTED } from '../attempt.js';
import { afterOverflow, type ContextWatch } from '../context.js';
import { Reading } from '../endpoint/reading.js';
import { type Asked, type Body, bodyText, budgetOf, CHAT, requestBody, type Way, wayOf } from '../endpoint/request.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rule.js';
import { cleaned } from '../http/wording.js';
import { TRIED_AGAIN } from '../schedule/tries.js';
import { costOfTry } from '../try-cost.js';
import { customId, requestName } from './custom-id.js';
import type { BatchUrl } from './folder.js';
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

/** A job whose results are looked up. */
interface AskedJob {
  readonly id: string;
  /** Requests that were made for it before. */
  readonly batched: number;
  /** What its first request is made from and with; absent where that says nothing of the request that comes now. */
  readonly madeFrom: string | undefined;
  request(): Promise<ModelRequest>;
  /** Told the characters of a request whose reply was found without making it again. */
  recalled(chars: number): void;
  /** Told the cost of each try. */
  tell(cost: CallCost): void;
}

/** What is to be written. */
export interface NewRequest {
  readonly id: string;
  /** As it is sent. */
  readonly body: string;
  readonly way: Way;
}

/** A request of which no result is there. */
export class Missing {
  /**
   * @param request its number where it was written
   * @param log what the tries before it took
   */
  constructor(
    readonly request: number | NewRequest,
    readonly log: BatchLog,
  ) {}
}

/** A log that says how many of the job's requests went into it. */
type BatchLog = CallLog & Required<Pick<CallLog, 'batched'>>;

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
  readonly asked: AskedJob;
  /** The request, once it was made. */
  request?: Promise<ModelRequest>;
  chars: number;
  batched: number;
  /** Tries that count. */
  counted: number;
  attempts: number;
  counts: number;
  cost: CallCost;
}

/** A request as far as reading its reply takes it. */
interface Form {
  readonly way: Way;
  /** Its parameters; the messages may be left out. */
  readonly body: Body;
}

export class Answers {
  /** Every job's first request has this form. Absent before any was written. */
  readonly #first: Form | undefined;
  /** What all first requests are made with. */
  readonly #madeWith: string;

  /** @param url where the requests go that were written; absent where there are none */
  constructor(
    private readonly options: AnswerOptions,
    private readonly requests: Requests,
    private readonly results: Results,
    url: BatchUrl | undefined,
  ) {
    const { model, sampling, responseFormat, dialect } = options.asked;
    this.#first = url === undefined ? undefined : emptyForm(options.asked, url);
    this.#madeWith = JSON.stringify([model, sampling, responseFormat, dialect.dropped(), dialect.isRenamed()]);
  }

  /**
   * Asks what lies in the folder: one question of a job after the other. `Missing` stands for an answer that has still to come.
   * @param tell is told the cost of each try
   */
  asker(
    { id, batched: before, madeFrom }: Pick<AskedJob, 'id' | 'batched'> & { readonly madeFrom: string },
    tell: (cost: CallCost) => void,
  ): (asking: Asking) => Promise<ModelReply | ModelFailure | Missing> {
    let batched = before;
    let isFirst = true;
    return async (asking) => {
      const answered = await this.of({
        id,
        batched,
        // What is asked later depends on the replies before, too.
        madeFrom: isFirst ? madeFrom : undefined,
        request: () => asking.make(),
        recalled: (chars) => asking.found?.(chars, madeFrom),
        tell,
      });
      if (answered instanceof Missing) return answered;
      batched = answered.batched;
      isFirst = false;
      return answered.outcome;
    };
  }

  /**
   * What came of a job's next request; `Missing` where it has still to come.
   * @throws UserError where the run must stop; `Relearnt`
   */
  async of(asked: AskedJob): Promise<Answered | Missing> {
    const { batched } = asked;
    this.requests.look(asked.id);
    const course: Course = { asked, chars: 0, batched, counted: 0, attempts: 0, counts: 0, cost: { usage: {} } };
    try {
      for (;;) {
        const attempt = await this.#try(course);
        course.attempts++;
        const cost = costOfTry(() => course.chars, attempt);
        course.cost = costOfBoth(course.cost, cost);
        course.counts += callsCounted(cost);
        asked.tell(cost);
        if (attempt.status !== 'ok' && !this.#isFinal(attempt, course)) continue;
        if (course.request === undefined) asked.recalled(course.chars);
        return answered(attempt, course);
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

  async #try(course: Course): Promise<AttemptReply | AttemptFailure> {
    const { asked, context, fitMaxTokens: fits, known, redact } = this.options;
    const spent: Usage = {};
    const ask = async (maxTokens?: number): Promise<AttemptReply | AttemptFailure> => {
      const outcome = await this.#lookUp(course, maxTokens);
      addUsage(spent, outcome.usage);
      return outcome;
    };
    let outcome: Attempt = await ask();
    if (outcome.status === 'ok') context.called();
    else if (outcome.overflow !== undefined) {
      const { maxTokens } = asked.sampling;
      outcome = await afterOverflow(outcome, outcome.overflow, { maxTokens, fits, host: known.host, context }, ask);
    }
    // Nothing ends the reading of a file.
    if (outcome.status === INTERRUPTED.status) throw new Error('a result was interrupted');
    return outcome.status === 'ok' ? cleaned({ ...outcome, usage: spent }, redact) : { ...outcome, usage: spent };
  }

  /** The first result that can be used, or else the first failure. @throws Missing, Relearnt */
  async #lookUp(course: Course, maxTokens: number | undefined): Promise<AttemptReply | AttemptFailure> {
    const known = this.#knownContent(course, maxTokens);
    const made = known === undefined ? await this.#make(course, maxTokens) : undefined;
    const content = known ?? bodyText(present(made).body);
    for (;;) {
      const name = requestName({ job: course.asked.id, attempt: course.batched, content });
      const request = this.requests.find(name);
      if (request === undefined)
        throw await this.#unwritten(course, name, made ?? (await this.#make(course, maxTokens)));
      const form = made ?? present(this.#first);
      const found = this.results.has(request) ? await this.#resultOf(request, form) : undefined;
      if (found === undefined) throw new Missing(request, logOf(course));
      if (found === 'unasked') {
        course.batched++;
        continue;
      }
      // What is asked in another way has another name, so that this request is no attempt.
      if (found.status === 'failed' && this.#relearns(found.rejected, form.body)) throw new Relearnt();
      course.chars = this.requests.charsOf(request);
      course.batched++;
      return found;
    }
  }

  /** The first request of a job is known by what it is made from: neither is its row read for that, nor its body made. */
  #knownContent({ asked, counted }: Course, maxTokens: number | undefined): string | undefined {
    const isFirst = counted === 0 && maxTokens === undefined;
    return isFirst && asked.madeFrom !== undefined ? `${this.#madeWith} ${asked.madeFrom}` : undefined;
  }

  async #make(course: Course, maxTokens: number | undefined): Promise<Form> {
    const request = await requestOf(course);
    return { way: wayOf(request), body: requestBody(this.options.asked, request, course.counted, maxTokens) };
  }

  async #unwritten(course: Course, name: string, { way, body }: Form): Promise<Missing> {
    const chars = charactersOf(await requestOf(course));
    return new Missing({ id: customId(name, chars), body: bodyText(body), way }, logOf(course));
  }

  async #resultOf(request: number, form: Form): Promise<AttemptReply | AttemptFailure | 'unasked' | undefined> {
    let failure: AttemptFailure | undefined;
    let isUnasked = false;
    for await (const { result, file } of this.results.of(request)) {
      if (result.kind === 'unasked') {
        isUnasked = true;
        continue;
      }
      const attempt = this.#read(result, form);
      if (attempt.status === 'ok') return attempt;
      failure ??= attempt.stop === undefined ? attempt : { ...attempt, stop: stopAt(attempt.stop, file) };
    }
    return failure ?? (isUnasked ? 'unasked' : undefined);
  }

  #read(result: Exclude<Result, { kind: 'unasked' }>, { way, body }: Form): AttemptReply | AttemptFailure {
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

function requestOf(course: Course): Promise<ModelRequest> {
  course.request ??= course.asked.request();
  return course.request;
}

function emptyForm(asked: Asked, url: BatchUrl): Form {
  const empty = { ...(url.endsWith(CHAT.path) ? { messages: [] } : { prompt: '' }), seedOffset: 0 };
  return { way: wayOf(empty), body: requestBody(asked, empty, 0) };
}

function answered(attempt: AttemptReply | AttemptFailure, course: Course): Answered {
  const log = logOf(course);
  const { batched } = log;
  if (attempt.status === 'failed') {
    return { outcome: { status: 'failed', class: attempt.class, reason: attempt.reason, log }, batched };
  }
  const { usage: _, firstTokenMs: _none, ...reply } = attempt;
  return { outcome: { ...reply, log }, batched };
}

function logOf({ attempts, cost, counts, batched }: Course): BatchLog {
  return { attempts, ...cost, ...(counts > 1 && { tries: counts }), ms: 0, host: HOST, batched };
}
