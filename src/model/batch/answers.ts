// What lies in a batch folder, given to a question as an endpoint would give it: try after try, by the same rules.

import { UserError } from '../../core/errors.js';
import { present } from '../../core/present.js';
import { charactersOf } from '../../core/question.js';
import { hideKeys, keysIn, openRedaction, type Redact } from '../../core/redaction.js';
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
import { type Attempt, type AttemptFailure, type AttemptReply, costOfTry, TRIED_AGAIN } from '../attempt.js';
import type { BackendOptions, NamedEndpoints } from '../backend.js';
import { afterOverflow, type ContextWatch, openContextWatch } from '../context.js';
import { Reading } from '../endpoint/reading.js';
import { type Asked, type Body, bodyText, budgetOf, CHAT, requestBody, type Way, wayOf } from '../endpoint/request.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rules.js';
import { readAddress } from '../http/address.js';
import { cleaned } from '../http/wording.js';
import type { Batch } from './folder.js';
import { customId, type Requests, readCustomId, requestName } from './requests.js';
import type { Result, Results } from './results.js';

export type AnswerOptions = BackendOptions & Required<Pick<BackendOptions, 'dialect'>>;

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
class Question {
  /** Of the request that was answered last. */
  chars = 0;
  attempts = 0;
  /** Tries that count. */
  counted = 0;
  /** Calls that the cost is of. */
  tries = 0;
  cost: CallCost = { usage: {} };
  #made: Promise<ModelRequest> | undefined;

  /**
   * @param madeFrom what it is made from and with, where that says all of it
   * @param batched requests of the job in files so far
   */
  constructor(
    readonly id: string,
    readonly madeFrom: string | undefined,
    public batched: number,
    private readonly asking: Asking,
  ) {}

  get isMade(): boolean {
    return this.#made !== undefined;
  }

  get log(): Missing['log'] {
    const { attempts, cost, tries, batched } = this;
    return { attempts, ...cost, ...(tries > 1 && { tries }), ms: 0, host: HOST, batched };
  }

  make(): Promise<ModelRequest> {
    this.#made ??= this.asking.make();
    return this.#made;
  }
}

/** A request as far as reading its reply takes it. */
interface Form {
  readonly way: Way;
  /** Its parameters; the messages may be left out. */
  readonly body: Body;
}

export class Answers {
  readonly #asked: Asked;
  readonly #redact: Redact;
  readonly #context: ContextWatch;
  /** What failures are classified by, as far as it is the same for each request. */
  readonly #known: Omit<CallContext, 'asked' | 'sent' | 'nowMs'>;
  /** Every job's first request has this form. Absent before any was written. */
  readonly #first: Form | undefined;
  /** What all first requests are made with. */
  readonly #madeWith: string;

  /** @param url where the requests go that were written; absent where there are none */
  constructor(
    { dir, endpoints }: { readonly dir: string; readonly endpoints: NamedEndpoints },
    private readonly options: AnswerOptions,
    private readonly requests: Requests,
    private readonly results: Results,
    url: Batch['url'] | undefined,
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
    const empty = { ...(url?.endsWith(CHAT.path) ? { messages: [] } : { prompt: '' }), seedOffset: 0 };
    this.#first = url && { way: wayOf(empty), body: requestBody(this.#asked, empty, 0) };
    const { sampling: sent } = this.#asked;
    this.#madeWith = JSON.stringify([model, sent, responseFormat, dialect.dropped(), dialect.isRenamed()]);
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
      // What is asked later depends on the replies before, too.
      const question = new Question(id, isFirst ? madeFrom : undefined, batched, asking);
      try {
        const outcome = await this.#answer(question, tell);
        if (!question.isMade) asking.found?.(question.chars, madeFrom);
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
      const { log } = question;
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
    const { fitMaxTokens: fits, sampling } = this.options;
    const context = this.#context;
    const usage: Usage = {};
    const ask = async (maxTokens?: number): Promise<AttemptReply | AttemptFailure> => {
      const outcome = await this.#lookUp(question, maxTokens);
      addUsage(usage, outcome.usage);
      return outcome;
    };
    let outcome: Attempt = await ask();
    if (outcome.status === 'ok') context.called();
    else if (outcome.overflow !== undefined) {
      const fitting = { maxTokens: sampling.maxTokens, fits, host: this.#known.host, context };
      outcome = await afterOverflow(outcome, outcome.overflow, fitting, ask);
    }
    if (outcome.status === 'interrupted') throw new Error('nothing ends the reading of a file');
    return outcome.status === 'ok' ? cleaned({ ...outcome, usage }, this.#redact) : { ...outcome, usage };
  }

  /** The first result that can be used, or else the first failure. @throws Missing, Relearnt */
  async #lookUp(question: Question, maxTokens: number | undefined): Promise<AttemptReply | AttemptFailure> {
    const { dialect } = this.options;
    const make = async (): Promise<Form> => {
      const request = await question.make();
      return { way: wayOf(request), body: requestBody(this.#asked, request, question.counted, maxTokens) };
    };
    // A job's first request is known by what it is made from: neither is its row read for that, nor its body made.
    const isFirst = question.madeFrom !== undefined && question.counted === 0 && maxTokens === undefined;
    const made = isFirst ? undefined : await make();
    const content = made === undefined ? `${this.#madeWith} ${question.madeFrom}` : bodyText(made.body);
    for (;;) {
      const name = requestName({ job: question.id, attempt: question.batched, content });
      if (!this.results.has(name)) {
        throw new Missing(name, question.log, async () => {
          const { way, body } = made ?? (await make());
          return { id: customId(name, charactersOf(await question.make())), body: bodyText(body), way };
        });
      }
      const form = made ?? present(this.#first);
      const found = this.#resultOf(name, form);
      const rejected = found?.status === 'failed' ? found.rejected : undefined;
      // What is asked in another way has another name, so that this request is no attempt.
      if (rejected !== undefined && dialect.learn(rejected) && !(rejected in dialect.translate(form.body))) {
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
      ...this.#known,
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
