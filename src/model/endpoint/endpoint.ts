// One OpenAI-compatible endpoint: it takes a request, and gives what one try of it came to.

import { EXIT, messageOf, nearest, UserError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import { keysIn, openGrowingRedaction, openRedaction, type Redact } from '../../core/redaction.js';
import type { ModelRequest, Usage } from '../../core/types.js';
import { addUsage } from '../../core/usage.js';
import { type Attempt, type AttemptFailure, type Hear, INTERRUPTED } from '../attempt.js';
import type { ContextWatch, ServedContext } from '../context.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rules.js';
import { type Address, type HttpProxy, readAddress } from '../http/address.js';
import { startClocks, type TimeLimits } from '../http/time-limits.js';
import { readStart, Wire } from '../http/wire.js';
import { cleaned, tidy } from '../http/wording.js';
import type { Pace } from '../schedule/pace.js';
import { KnownModels } from './known-models.js';
import { Reading } from './reading.js';
import { type Asked, type Body, bodyText, budgetOf, requestBody, type Way, wayOf } from './request.js';

/** What the schedule asks of an endpoint. */
export interface Endpoint {
  /** Host and port, without credentials or path. */
  readonly host: string;
  /**
   * Makes exactly one try. Never throws: whatever happens is an `Attempt`. `attemptIndex` is 0 for the first try and varies the seed.
   * A rejected `max_tokens` is renamed and asked again inside the same try (see dialect.ts), so it costs no attempt.
   * `hear` is told the reply as it comes.
   */
  call(request: ModelRequest, attemptIndex: number, abort: AbortSignal, hear?: Hear): Promise<Attempt>;
  close(): Promise<void>;
}

export interface EndpointOptions extends Asked {
  /**
   * The address in front of /chat/completions and /completions. A query is sent along; a user name and password are sent as basic
   * authentication.
   */
  readonly baseUrl: string;
  /** Empty sends `Bearer EMPTY`. */
  readonly apiKey: string;
  readonly clocks: TimeLimits;
  /** The proxy in between. */
  readonly proxy?: HttpProxy | undefined;
  readonly context: ContextWatch;
  /** What holds back further requests of one call; the first of each is held back by the schedule. */
  readonly pace?: Pace;
  /** Whose flags a remedy names. */
  readonly flagPrefix: 'model' | 'judge' | 'agent';
}

const MOST_MODELS = 10;
/** Longest error body that is read, in characters. */
const MOST_ERROR_TEXT = 65_536;

/**
 * Nothing is sent before the first call. failures/classify.ts says which failures a call can have, and which of them stop a run.
 */
export class OpenAiEndpoint implements Endpoint {
  readonly host: string;
  readonly #options: EndpointOptions;
  readonly #address: Address;
  readonly #secrets: readonly string[];
  readonly #redact: Redact;
  readonly #wire: Wire;
  readonly #models: KnownModels;
  /** What failures are classified by, as far as it is the same for each call. */
  readonly #context: Omit<CallContext, 'asked' | 'sent' | 'nowMs'>;

  /** @throws UserError (2) for a base URL or a key that cannot be used */
  constructor(options: EndpointOptions) {
    const { apiKey, proxy, model, flagPrefix, sampling } = options;
    this.#options = options;
    this.#address = readAddress(options.baseUrl, apiKey);
    this.host = this.#address.host;
    this.#secrets = [apiKey, ...this.#address.secrets, ...(proxy?.secrets ?? []), ...keysIn(sampling.extraBody)];
    this.#redact = openRedaction(this.#secrets);
    this.#wire = new Wire(this.#address, apiKey, proxy);
    this.#models = new KnownModels(this.#wire, this.#redact);
    const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
    const isHeld = options.responseFormat !== undefined;
    this.#context = { host: this.host, model, flagPrefix, hasKey, isHeld, proxy, redact: this.#redact };
  }

  async call(request: ModelRequest, attemptIndex: number, abort: AbortSignal, hear?: Hear): Promise<Attempt> {
    const heard = hear && redacting(hear, this.#secrets);
    try {
      const attempt = await this.#call(request, attemptIndex, abort, heard?.hear);
      heard?.end();
      return attempt;
    } catch (error) {
      const words = tidy(messageOf(error), this.#redact);
      return { status: 'failed', class: 'transient', reason: `the call failed (${words})` };
    }
  }

  /**
   * Reads the context length where the server tells it, before anything is asked.
   * @throws UserError (2) where no prompt can fit beside the output budget
   */
  async readContext(): Promise<ServedContext | undefined> {
    const told = await this.#models.context(this.#options.model, this.#address.baseUrl.replace(/\/v1$/, ''));
    if (told === undefined) return undefined;
    this.#options.context.described(this.host, told.tokens, !told.refusesBudgets);
    return { host: this.host, ...told };
  }

  /** What `awb serve` says of its model at /models; undefined for any other server. Never rejects. */
  facts(): Promise<JsonObject | undefined> {
    return this.#models.facts();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  async #call(request: ModelRequest, attemptIndex: number, abort: AbortSignal, hear?: Hear): Promise<Attempt> {
    const { sampling, context, clocks } = this.#options;
    const way = wayOf(request);
    const spent: Usage = {};
    let deadlineMs = performance.now() + clocks.callTimeoutMs;
    let isFirst = true;
    /** Asks again as long as the dialect learns from what the server rejects. */
    const ask = async (maxTokens?: number): Promise<Attempt> => {
      for (;;) {
        if (!isFirst) deadlineMs += await this.#turn(abort);
        isFirst = false;
        const body = requestBody(this.#options, request, attemptIndex, maxTokens);
        // A request for one token only has the server count the prompt.
        const listener = maxTokens === 1 ? undefined : hear;
        const outcome = await this.#exchange(way, body, abort, deadlineMs - performance.now(), listener);
        if (outcome.status === 'interrupted') return outcome;
        addUsage(spent, outcome.usage);
        if (outcome.status === 'ok' || !this.#adapts(outcome.rejected, body)) return outcome;
      }
    };
    const fitting = { host: this.host, budget: request.maxTokens ?? sampling.maxTokens };
    const outcome = await context.fitted(await ask(), fitting, ask);
    if (outcome.status === 'interrupted') return outcome;
    if (outcome.status === 'ok') return cleaned({ ...outcome, usage: spent }, this.#redact);
    return { ...(outcome.unknownModel ? await this.#withNames(outcome) : outcome), usage: spent };
  }

  /** Sends a body, and reads the answer until its end or until one of three clocks ends it. It may take `leftMs` in all. */
  async #exchange(way: Way, body: Body, abort: AbortSignal, leftMs: number, hear?: Hear): Promise<Attempt> {
    if (abort.aborted) return INTERRUPTED;
    const clocks = startClocks(this.#options.clocks, this.#options.stream, abort, leftMs);
    const reading = new Reading(clocks, way, budgetOf(body), hear);
    let isTaken = false;
    /** A failure after the server had begun to answer says so; a gateway's web page is no answer. */
    const withReceived = (attempt: Attempt): Attempt =>
      attempt.status === 'failed' && isTaken && !attempt.down ? { ...attempt, received: reading.received } : attempt;
    const context = () => ({ ...this.#context, asked: way.words, sent: Object.keys(body), nowMs: Date.now() });
    try {
      const response = await this.#wire.post(way.path, Buffer.from(bodyText(body)), clocks.signal);
      const { status, headers } = response;
      if (status < 200 || status > 299) {
        clocks.tail();
        const failure = classify({ status, headers, body: await readStart(response, MOST_ERROR_TEXT) }, context());
        return abort.aborted ? INTERRUPTED : failure;
      }
      const coding = headers.get('content-encoding')?.trim().toLowerCase();
      if (coding && coding !== 'identity') {
        clocks.tail();
        await readStart(response, 1);
        // It was not asked for and is not unpacked: a few kilobytes could become gigabytes.
        const what = `content-encoding ${tidy(coding, this.#redact)}`;
        const reason = `the reply is compressed (${what}), which it was asked not to be`;
        return { status: 'failed', class: 'malformed', reason };
      }
      isTaken = true;
      await response.read((piece) => reading.feed(piece));
      return withReceived(reading.outcome(context));
    } catch (error) {
      if (abort.aborted) return INTERRUPTED;
      if (reading.finished) return reading.outcome(context);
      const failure: AttemptFailure =
        clocks.expired === undefined
          ? classify({ error }, context())
          : { status: 'failed', class: 'timeout', reason: clocks.expired };
      return withReceived({ ...failure, usage: reading.usage });
    } finally {
      clocks.stop();
    }
  }

  /** Waits until one more request may start. @returns the milliseconds that it took */
  async #turn(abort: AbortSignal): Promise<number> {
    const { pace } = this.#options;
    if (!pace?.isLimited) return 0;
    const since = performance.now();
    await pace.turn(0, { wait: (ms) => pace.clock.sleep(ms, abort), isOff: () => abort.aborted });
    return performance.now() - since;
  }

  /** Whether the dialect now writes a body without what was rejected. */
  #adapts(rejected: string | undefined, body: Body): boolean {
    const { dialect } = this.#options;
    return rejected !== undefined && dialect.learn(rejected) && !(rejected in dialect.translate(body));
  }

  /** The failure of an unknown model, with the models that there are. */
  async #withNames(failure: AttemptFailure): Promise<AttemptFailure> {
    const known = await this.#models.names();
    if (known.length === 0) return failure;
    const near = nearest(this.#options.model, known);
    const shown = known.slice(0, MOST_MODELS).join(', ') + (known.length > MOST_MODELS ? ', …' : '');
    const hint = `${near === undefined ? '' : `did you mean "${near}"? `}It has ${shown}`;
    return { ...failure, stop: new UserError(`${failure.stop?.message}. ${hint}`, EXIT.unavailable) };
  }
}

/** A listener that is told no secret, not even one that came in pieces; `end` lets go of what could have become one. */
function redacting(hear: Hear, secrets: readonly string[]): { readonly hear: Hear; end(): void } {
  const texts = { content: openGrowingRedaction(secrets), reasoning: openGrowingRedaction(secrets) };
  const tell = (text: string, kind: 'content' | 'reasoning') => {
    if (text !== '') hear(text, kind);
  };
  return {
    hear: (piece, kind) => tell(texts[kind].add(piece), kind),
    end() {
      for (const kind of ['reasoning', 'content'] as const) tell(texts[kind].end(), kind);
    },
  };
}
