// One OpenAI-compatible endpoint: it takes a request, and gives what one try of it came to.

import { addUsage, isTokenCount } from '../../core/costs.js';
import { messageOf, nearest, unavailable } from '../../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../../core/json.js';
import { keysIn, openGrowingRedaction, openRedaction, type Redact, redactValue } from '../../core/redaction.js';
import type { ModelRequest, Usage } from '../../core/types.js';
import { type Attempt, type AttemptFailure, type Hear, INTERRUPTED } from '../attempt.js';
import type { ContextWatch, ServedContext } from '../context.js';
import { classify } from '../failures/classify.js';
import { type HttpProxy, readAddress } from '../http/address.js';
import { startClocks, type TimeLimits } from '../http/time-limits.js';
import { readStart, Wire } from '../http/wire.js';
import { cleaned, tidy } from '../http/wording.js';
import type { Pace } from '../schedule/pace.js';
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

/** The key of an entry of /models under which `awb serve` describes its model. */
const FACTS_KEY = 'agentworldbench';
/** How long the list is waited for. */
const MODELS_MS = 2_000;
const MOST_MODELS_TEXT = 2 ** 22;
const MOST_MODELS = 10;
/** Longest error body that is read, in characters. */
const MOST_ERROR_TEXT = 65_536;

/**
 * Opens an endpoint. Nothing is sent before the first call. failures/rules.ts says which failures a call can have, and which of them
 * stop a run.
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function openEndpoint(options: EndpointOptions) {
  const { apiKey, proxy, model, flagPrefix, sampling, dialect, stream, pace, context } = options;
  const address = readAddress(options.baseUrl, apiKey);
  const { host } = address;
  const secrets = [apiKey, ...address.secrets, ...(proxy?.secrets ?? []), ...keysIn(sampling.extraBody)];
  const redact = openRedaction(secrets);
  const wire = new Wire(address, apiKey, proxy);
  const models = openModels(wire, redact);
  const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
  const isHeld = options.responseFormat !== undefined;
  /** What failures are classified by, as far as it is the same for each call. */
  const known = { host, model, flagPrefix, hasKey, isHeld, proxy, redact };

  const callOnce = async (request: ModelRequest, attemptIndex: number, abort: AbortSignal, hear?: Hear) => {
    const way = wayOf(request);
    const spent: Usage = {};
    let deadlineMs = performance.now() + options.clocks.callTimeoutMs;
    let isFirst = true;
    /** Asks again as long as the dialect learns from what the server rejects. */
    const ask = async (maxTokens?: number): Promise<Attempt> => {
      for (;;) {
        if (!isFirst) deadlineMs += await turn(abort);
        isFirst = false;
        const body = requestBody(options, request, attemptIndex, maxTokens);
        // A request for one token only has the server count the prompt.
        const listener = maxTokens === 1 ? undefined : hear;
        const outcome = await exchange(way, body, abort, deadlineMs - performance.now(), listener);
        if (outcome.status === 'interrupted') return outcome;
        addUsage(spent, outcome.usage);
        if (outcome.status === 'ok') return outcome;
        const { rejected } = outcome;
        // The dialect may now write a body without what was rejected.
        if (rejected === undefined || !dialect.learn(rejected) || rejected in dialect.translate(body)) return outcome;
      }
    };
    const fitting = { host, budget: request.maxTokens ?? sampling.maxTokens };
    const outcome = await context.fitted(await ask(), fitting, ask);
    if (outcome.status === 'interrupted') return outcome;
    if (outcome.status === 'ok') return cleaned({ ...outcome, usage: spent }, redact);
    return { ...(outcome.unknownModel ? await withNames(outcome) : outcome), usage: spent };
  };

  /** Sends a body, and reads the answer until its end or until one of three clocks ends it. It may take `leftMs` in all. */
  const exchange = async (
    way: Way,
    body: Body,
    abort: AbortSignal,
    leftMs: number,
    hear: Hear | undefined,
  ): Promise<Attempt> => {
    if (abort.aborted) return INTERRUPTED;
    const clocks = startClocks(options.clocks, stream, abort, leftMs);
    const reading = new Reading(clocks, way, budgetOf(body), hear);
    let isTaken = false;
    /** A failure after the server had begun to answer says so; a gateway's web page is no answer. */
    const withReceived = (attempt: Attempt): Attempt =>
      attempt.status === 'failed' && isTaken && !attempt.down ? { ...attempt, received: reading.received } : attempt;
    const situation = () => ({ ...known, asked: way.words, sent: Object.keys(body), nowMs: Date.now() });
    try {
      const response = await wire.post(way.path, Buffer.from(bodyText(body)), clocks.signal);
      const { status, headers } = response;
      if (status < 200 || status > 299) {
        clocks.tail();
        const failure = classify({ status, headers, body: await readStart(response, MOST_ERROR_TEXT) }, situation());
        return abort.aborted ? INTERRUPTED : failure;
      }
      const coding = headers.get('content-encoding')?.trim().toLowerCase();
      if (coding && coding !== 'identity') {
        clocks.tail();
        await readStart(response, 1);
        // It was not asked for and is not unpacked: a few kilobytes could become gigabytes.
        const what = `content-encoding ${tidy(coding, redact)}`;
        const reason = `the reply is compressed (${what}), which it was asked not to be`;
        return { status: 'failed', class: 'malformed', reason };
      }
      isTaken = true;
      await response.read((piece) => reading.feed(piece));
      return withReceived(reading.outcome(situation));
    } catch (error) {
      if (abort.aborted) return INTERRUPTED;
      if (reading.finished) return reading.outcome(situation);
      const failure: AttemptFailure =
        clocks.expired === undefined
          ? classify({ error }, situation())
          : { status: 'failed', class: 'timeout', reason: clocks.expired };
      return withReceived({ ...failure, usage: reading.usage });
    } finally {
      clocks.stop();
    }
  };

  /** Waits until one more request may start. @returns the milliseconds that it took */
  const turn = async (abort: AbortSignal): Promise<number> => {
    if (!pace?.isLimited) return 0;
    const since = performance.now();
    await pace.turn(0, { wait: (ms) => pace.clock.sleep(ms, abort), isOff: () => abort.aborted });
    return performance.now() - since;
  };

  /** The failure of an unknown model, with the models that there are. */
  const withNames = async (failure: AttemptFailure): Promise<AttemptFailure> => {
    const names = await models.names();
    if (names.length === 0) return failure;
    const near = nearest(model, names);
    const shown = names.slice(0, MOST_MODELS).join(', ') + (names.length > MOST_MODELS ? ', …' : '');
    const hint = `${near === undefined ? '' : `did you mean "${near}"? `}It has ${shown}`;
    return { ...failure, stop: unavailable(`${failure.stop?.message}. ${hint}`) };
  };

  const call: Endpoint['call'] = async (request, attemptIndex, abort, hear) => {
    const heard = hear && redacting(hear, secrets);
    try {
      const attempt = await callOnce(request, attemptIndex, abort, heard?.hear);
      heard?.end();
      return attempt;
    } catch (error) {
      return { status: 'failed', class: 'transient', reason: `the call failed (${tidy(messageOf(error), redact)})` };
    }
  };

  return {
    host,
    call,
    /**
     * Reads the context length where the server tells it, before anything is asked.
     * @throws UserError (2) where no prompt can fit beside the output budget
     */
    async readContext(): Promise<ServedContext | undefined> {
      const told = await models.context(model, address.baseUrl.replace(/\/v1$/, ''));
      if (told === undefined) return undefined;
      context.described(host, told.tokens, !told.refusesBudgets);
      return { host, ...told };
    },
    /** What `awb serve` says of its model at /models; undefined for any other server. Never rejects. */
    facts: models.facts,
    close: () => wire.close(),
  };
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

/**
 * What a server says about its models at /models: their names, their context, and what `awb serve` adds. One that cannot be reached, or
 * has no such list, counts as one without models. Nothing here rejects.
 */
export function openModels(wire: Wire, redact: Redact) {
  let entries: Promise<readonly JsonObject[]> | undefined;
  /** The JSON object at that path; an empty one if there is none, or the server cannot be reached. */
  const documentAt = async (path: string): Promise<JsonObject> => {
    try {
      const response = await wire.get(path, AbortSignal.timeout(MODELS_MS));
      return parseObject(await readStart(response, MOST_MODELS_TEXT)) ?? {};
    } catch {
      return {};
    }
  };
  const list = () => {
    entries ??= documentAt('/models').then(({ data }) => {
      const found = Array.isArray(data) ? data.filter(isObject) : [];
      // A server that is still loading may tell later.
      if (found.length === 0) entries = undefined;
      return found;
    });
    return entries;
  };
  return {
    async names(): Promise<readonly string[]> {
      const ids = (await list()).map(({ id }) => id).filter((id) => typeof id === 'string');
      return ids.map((id) => tidy(id, redact, () => true));
    },
    /** What `awb serve` says about its model (file, quantisation, cache ...); undefined for any other server. */
    async facts(): Promise<JsonObject | undefined> {
      const own = (await list()).map((entry) => entry[FACTS_KEY]).find(isObject);
      try {
        const shown = own && redactValue(own, redact);
        return isObject(shown) ? shown : undefined;
      } catch {
        // The value is nested too deeply to be walked.
        return undefined;
      }
    },
    /**
     * The context of a model in tokens, where the server tells it, and whether it refuses a prompt that fits without its whole budget
     * (vLLM and SGLang); others end the reply at the context's end. `rootUrl` is the server's, without /v1; where it is absent, nothing
     * is asked but /models.
     */
    async context(model: string, rootUrl?: string) {
      const all = await list();
      const entry = all.find(({ id }) => id === model) ?? (all.length === 1 ? all[0] : undefined);
      if (entry === undefined) return undefined;
      // vLLM, SGLang and `awb serve`, newer llama.cpp, Mistral, OpenRouter, Groq.
      const { max_model_len, meta, max_context_length, context_length, context_window, owned_by } = entry;
      const told = [max_model_len, asObject(meta).n_ctx, max_context_length, context_length, context_window];
      if (owned_by === 'llamacpp' && rootUrl !== undefined && !told.some(isContext)) {
        // llama.cpp's server tells a slot's context outside its API.
        told.push(asObject((await documentAt(`${rootUrl}/props`)).default_generation_settings).n_ctx);
      }
      const tokens = told.find(isContext);
      return tokens === undefined
        ? undefined
        : { tokens, refusesBudgets: owned_by === 'vllm' || owned_by === 'sglang' };
    },
  };
}

function isContext(told: unknown): told is number {
  return isTokenCount(told) && told > 0;
}
