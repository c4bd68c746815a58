// What lies in a batch folder, given to a question as an endpoint would give it: try after try, by the same rules.

import { UserError } from '../../core/errors.js';
import { present } from '../../core/present.js';
import { charactersOf } from '../../core/question.js';
import type { Redact } from '../../core/redaction.js';
import type {
  Asking,
  CallCost,
  CallLog,
  FileHooks,
  ModelFailure,
  ModelReply,
  ModelRequest,
  Usage,
} from '../../core/types.js';
import { addUsage, callsCounted, costOfBoth } from '../../core/usage.js';
import { type AttemptFailure, type AttemptReply, costOfTry, TRIED_AGAIN } from '../attempt.js';
import type { ContextWatch } from '../context.js';
import { Reading } from '../endpoint/reading.js';
import { type Asked, type Body, bodyText, budgetOf, CHAT, requestBody, type Way, wayOf } from '../endpoint/request.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rules.js';
import { cleaned } from '../http/wording.js';
import type { Batch } from './folder.js';
import { customId, type Requests, readCustomId, requestName } from './requests.js';
import type { Result, Results } from './results.js';

/** What replies are asked with, and what failures are classified by, as far as both are the same for each request. */
export interface AnswerOptions {
  readonly asked: Asked;
  readonly maxAttempts: number;
  readonly context: ContextWatch;
  readonly known: Omit<CallContext, 'asked' | 'sent' | 'nowMs'>;
  readonly redact: Redact;
}

/** By what a job is known, how many of its requests were made before, and what the first is made from and with. */
type Kept = Omit<ReturnType<FileHooks<never>['kept']>, 'isHeld'>;

/** A question whose answer has still to come. */
export class Missing {
  readonly status = 'missing';

  /**
   * @param name that of its request
   * @param log what the tries before it took
   * @param write makes the request that is to be written
   */
  constructor(
    readonly name: string,
    readonly log: CallLog & { readonly batched: number },
    readonly write: () => Promise<{ readonly id: string; readonly body: string; readonly way: Way }>,
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
  readonly id: string;
  /** What it is made from and with, where that says all of it. */
  readonly madeFrom: string | undefined;
  make(): Promise<ModelRequest>;
  /** Of the request that was answered last. */
  chars: number;
  /** Requests of the job in files so far. */
  batched: number;
  attempts: number;
  /** Tries that count. */
  counted: number;
  /** Calls that the cost is of. */
  tries: number;
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
    url: Batch['url'] | undefined,
  ) {
    const { model, sampling, responseFormat, dialect } = options.asked;
    const empty = { ...(url?.endsWith(CHAT.path) ? { messages: [] } : { prompt: '' }), seedOffset: 0 };
    this.#first = url && { way: wayOf(empty), body: requestBody(options.asked, empty, 0) };
    this.#madeWith = JSON.stringify([model, sampling, responseFormat, dialect.dropped(), dialect.isRenamed()]);
  }

  /**
   * Asks what lies in the folder: one question of a job after the other. `tell` is told the cost of each try.
   * @throws UserError where the run must stop; Relearnt
   */
  asker(
    { id, batched, madeFrom }: Kept,
    tell: (cost: CallCost) => void,
  ): (asking: Asking) => Promise<ModelReply | ModelFailure | Missing> {
    let isFirst = true;
    return async (asking) => {
      let made: Promise<ModelRequest> | undefined;
      const question: Question = {
        id,
        // What is asked later depends on the replies before, too.
        madeFrom: isFirst ? madeFrom : undefined,
        make() {
          made ??= asking.make();
          return made;
        },
        ...{ chars: 0, batched, attempts: 0, counted: 0, tries: 0, cost: { usage: {} } },
      };
      try {
        const outcome = await this.#answer(question, tell);
        if (made === undefined) asking.found?.(question.chars, madeFrom);
        batched = question.batched;
        isFirst = false;
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
      const cost = costOfTry(() => question.chars, attempt);
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
    const { asked, context, known, redact } = this.options;
    const usage: Usage = {};
    const ask = async (maxTokens?: number): Promise<AttemptReply | AttemptFailure> => {
      const outcome = await this.#lookUp(question, maxTokens);
      addUsage(usage, outcome.usage);
      return outcome;
    };
    const fitting = { host: known.host, budget: asked.sampling.maxTokens };
    const outcome = await context.fitted(await ask(), fitting, ask);
    if (outcome.status === 'interrupted') throw new Error('nothing ends the reading of a file');
    return outcome.status === 'ok' ? cleaned({ ...outcome, usage }, redact) : { ...outcome, usage };
  }

  /** The first result that can be used, or else the first failure. @throws Missing, Relearnt */
  async #lookUp(question: Question, maxTokens: number | undefined): Promise<AttemptReply | AttemptFailure> {
    const { asked } = this.options;
    const make = async (): Promise<Form> => {
      const request = await question.make();
      return { way: wayOf(request), body: requestBody(asked, request, question.counted, maxTokens) };
    };
    // A job's first request is known by what it is made from: neither is its row read for that, nor its body made.
    const isFirst = question.madeFrom !== undefined && question.counted === 0 && maxTokens === undefined;
    const made = isFirst ? undefined : await make();
    const content = made === undefined ? `${this.#madeWith} ${question.madeFrom}` : bodyText(made.body);
    for (;;) {
      const name = requestName({ job: question.id, attempt: question.batched, content });
      if (!this.results.has(name)) {
        throw new Missing(name, logOf(question), async () => {
          const { way, body } = made ?? (await make());
          return { id: customId(name, charactersOf(await question.make())), body: bodyText(body), way };
        });
      }
      const form = made ?? present(this.#first);
      const found = this.#resultOf(name, form);
      const rejected = found?.status === 'failed' ? found.rejected : undefined;
      // What is asked in another way has another name, so that this request is no attempt.
      if (
        rejected !== undefined &&
        asked.dialect.learn(rejected) &&
        !(rejected in asked.dialect.translate(form.body))
      ) {
        throw new Relearnt();
      }
      question.batched++;
      if (found === undefined) continue;
      question.chars = this.requests.get(name)?.chars ?? 0;
      return found;
    }
  }

  /** Undefined where nobody has worked on the request. */
  #resultOf(name: string, form: Form): AttemptReply | AttemptFailure | undefined {
    let failure: AttemptFailure | undefined;
    for (const { result, line } of this.results.of(name)) {
      // A file that was written anew meanwhile may have been given to an engine before.
      if (!this.requests.has(name)) this.requests.set(name, { part: '', chars: readCustomId(line.id).chars });
      if (result.kind === 'unasked') continue;
      const attempt = this.#read(result, form);
      if (attempt.status === 'ok') return attempt;
      failure ??= attempt.stop === undefined ? attempt : { ...attempt, stop: stopAt(attempt.stop, line.path) };
    }
    return failure;
  }

  #read(result: Exclude<Result, { kind: 'unasked' }>, { way, body }: Form): AttemptReply | AttemptFailure {
    const context = () => ({
      ...this.options.known,
      asked: way.words,
      sent: Object.keys(body),
      nowMs: Date.now(),
    });
    if (result.kind === 'answer') {
      const { status, body: said } = result;
      const isGood = status !== undefined && status >= 200 && status <= 299;
      if (!isGood) return classify({ ...(status !== undefined && { status }), body: said }, context());
    }
    const reading = new Reading(NO_CLOCKS, way, budgetOf(body));
    if (result.kind === 'completion') reading.take(result.completion);
    else reading.feed(Buffer.from(result.body));
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
