// One OpenAI-compatible endpoint: it takes a request, and returns the result of one try.

import { addUsage, isTokenCount } from '../../core/costs.js';
import { EXIT, messageOf, unavailable } from '../../core/errors.js';
import { asObject, isObject, type JsonObject, parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import { keysIn, openGrowingRedaction, type Redact, redactValue } from '../../core/redaction.js';
import type { ModelRequest, Usage } from '../../core/types.js';
import { type Attempt, type AttemptFailure, type Hear, INTERRUPTED } from '../attempt.js';
import type { ContextWatch, ServedContext } from '../context.js';
import { classify } from '../failures/classify.js';
import type { CallContext } from '../failures/rules.js';
import type { HttpProxy } from '../http/address.js';
import { type RunningLimits, startClocks, type TimeLimits } from '../http/time-limits.js';
import { readStart, Wire, type WireResponse } from '../http/wire.js';
import { cleaned, tidy } from '../http/wording.js';
import type { Pace } from '../schedule/pace.js';
import { countInto, Reading } from './reading.js';
import {
  type Asked,
  type Body,
  bodyText,
  budgetOf,
  MAX_COMPLETION_TOKENS,
  MAX_TOKENS,
  requestBody,
  wayOf,
} from './request.js';

/** What the schedule needs of an endpoint. */
export interface Endpoint {
  /** Host and port, without credentials or path. */
  readonly host: string;
  /**
   * Makes exactly one try. Never throws: every result is an `Attempt`. `attemptIndex` is 0 for the first try and varies the seed. A
   * rejected `max_tokens` is renamed and sent again inside the same try (see request.ts), so it costs no attempt. `hear` receives the
   * reply as it arrives.
   */
  call(request: ModelRequest, attemptIndex: number, abort: AbortSignal, hear?: Hear): Promise<Attempt>;
  close(): Promise<void>;
}

export interface EndpointOptions extends Asked {
  /**
   * The address before /chat/completions and /completions. A query is sent, too; a user name and password are sent as basic
   * authentication.
   */
  readonly baseUrl: string;
  /** Empty sends `Bearer EMPTY`. */
  readonly apiKey: string;
  readonly clocks: TimeLimits;
  /** The proxy to use, if any. */
  readonly proxy?: HttpProxy | undefined;
  readonly context: ContextWatch;
  /** Delays further requests of one call; the schedule delays the first one of each. */
  readonly pace?: Pace;
  /** The prefix of the flags that a remedy names. */
  readonly flagPrefix: 'model' | 'judge' | 'agent';
  readonly raw?: RawRequests | undefined;
}

/** Requests whose prompts are complete bodies: they are sent verbatim, and their answers are kept verbatim. */
interface RawRequests {
  /** Appended to the base URL. */
  readonly path: string;
  /** The answer to the latest try of a request; absent if nothing came. */
  readonly answers: WeakMap<ModelRequest, HttpAnswer>;
}

/** An answer over HTTP with any status: a JSON document, unchanged. `requestId` is empty if the server gives none. */
export type HttpAnswer = Readonly<{ status: number; requestId: string; body: string }>;

/** The key of an entry of /models under which `awb serve` describes its model. */
const FACTS_KEY = 'agentworldbench';
/** How long to wait for the list. */
const MODELS_MS = 2_000;
const MOST_MODELS_TEXT = 2 ** 22;
const MOST_MODELS = 10;
/** Longest error body that is read, in characters. */
const MOST_ERROR_TEXT = 65_536;
/** Longest raw answer that is kept, in characters. */
const MOST_ANSWER = 2 ** 27;

/**
 * Opens an endpoint. Nothing is sent before the first call. failures/rules.ts defines which failures a call can have, and which of them
 * stop a run.
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function openEndpoint(options: EndpointOptions) {
  const { proxy, model, flagPrefix, sampling, dialect, stream, pace, context } = options;
  const wire = new Wire(options.baseUrl, options.apiKey, proxy, keysIn(sampling.extraBody));
  const { redact, hasKey, secrets } = wire;
  const { host, baseUrl } = wire.address;
  const models = openModels(wire, model, baseUrl.replace(/\/v1$/, ''));
  /** The context for classifying failures that is the same for each call. */
  const known = { host, model, flagPrefix, hasKey, isHeld: options.responseFormat !== undefined, proxy, redact };

  const callOnce = async (request: ModelRequest, attemptIndex: number, abort: AbortSignal, hear?: Hear) => {
    if (options.raw !== undefined) return pass(options.raw, request, abort);
    const spent: Usage = {};
    let deadlineMs = performance.now() + options.clocks.callTimeoutMs;
    let isFirst = true;
    /** Repeats the request as long as the dialect learns from what the server rejects. */
    const ask = async (maxTokens?: number): Promise<Attempt> => {
      for (;;) {
        if (!isFirst && pace?.isLimited) {
          const since = performance.now();
          const wait = (ms: number) => pace.clock.sleep(ms, abort);
          await pace.turn(0, wait, () => abort.aborted);
          deadlineMs += performance.now() - since;
        }
        isFirst = false;
        const body = requestBody(options, request, attemptIndex, maxTokens);
        // A request for one token only makes the server count the prompt.
        const listener = maxTokens === 1 ? undefined : hear;
        const outcome = await exchange(request, body, abort, deadlineMs - performance.now(), listener);
        if (outcome.status === 'interrupted') return outcome;
        addUsage(spent, outcome.usage);
        if (outcome.status === 'ok') return outcome;
        const { rejected } = outcome;
        // The dialect may now write a body without what was rejected.
        if (rejected === undefined || !dialect.learn(rejected) || rejected in dialect.translate(body)) return outcome;
      }
    };
    const outcome = await context.fitted(await ask(), { host, budget: request.maxTokens ?? sampling.maxTokens }, ask);
    if (outcome.status === 'interrupted') return outcome;
    if (outcome.status === 'ok') return cleaned({ ...outcome, usage: spent }, redact);
    return { ...(outcome.unknownModel ? await withNames(outcome) : outcome), usage: spent };
  };

  /** Sends a body, and reads the reply. It may take `leftMs` in all. */
  const exchange = async (request: ModelRequest, body: Body, abort: AbortSignal, leftMs: number, hear?: Hear) => {
    const way = wayOf(request);
    const situation = () => ({ ...known, asked: way.words, sent: Object.keys(body), nowMs: Date.now() });
    let reading: Reading | undefined;
    const attempt = await post(way.path, bodyText(body), abort, leftMs, situation, async (response, clocks) => {
      const { status, headers } = response;
      const isError = status < 200 || status > 299;
      const coding = headers.get('content-encoding')?.trim().toLowerCase() || 'identity';
      if (isError || coding !== 'identity') {
        clocks.tail();
        const body = await readStart(response, isError ? MOST_ERROR_TEXT : 1);
        if (isError) return classify({ status, headers, body }, situation());
        // Compression was not requested and is not unpacked: a few kilobytes could become gigabytes.
        const what = `compressed (content-encoding ${tidy(coding, redact)})`;
        return { status: 'failed', class: 'malformed', reason: `the reply is ${what}, which was not requested` };
      }
      const growing = new Reading(clocks, way, budgetOf(body), hear);
      reading = growing;
      await response
        .read((piece) => growing.feed(piece))
        .catch((error: unknown) => {
          if (!growing.finished) throw error;
        });
      return growing.outcome(situation);
    });
    if (attempt.status !== 'failed' || reading === undefined) return attempt;
    const { usage, received } = reading;
    // A failure after the server had begun to answer records that; a gateway's web page is not an answer.
    return attempt.down ? { ...attempt, usage } : { ...attempt, usage, received };
  };

  /**
   * Sends a prompt that is a complete body. An answer that settles its request is a reply, even if it refuses this particular request.
   * A failure that may pass is a failure as usual, and a failure that would affect every other request stops the run.
   */
  const pass = ({ path, answers }: RawRequests, request: ModelRequest, abort: AbortSignal): Promise<Attempt> => {
    answers.delete(request);
    const prompt = 'prompt' in request ? request.prompt : '';
    const body = request.maxTokens === undefined ? prompt : withBudget(prompt, request.maxTokens);
    const situation = () => ({ ...known, asked: 'such requests', sent: [], nowMs: Date.now() });
    return post(path, body, abort, options.clocks.callTimeoutMs, situation, async (response) => {
      const { status, headers } = response;
      const text = redact(await readStart(response, MOST_ANSWER));
      const document = parseObject(text);
      const isGood = status >= 200 && status <= 299;
      if (isGood && document === undefined) {
        return { status: 'failed', class: 'malformed', reason: 'the answer is not a JSON object, or not complete' };
      }
      const requestId = oneLine(redact(headers.get('x-request-id') ?? ''), 200);
      // The error's text is kept in the results; there, what is not JSON becomes a string.
      const content = document === undefined ? JSON.stringify({ error: text.slice(0, 4000) }) : text;
      answers.set(request, { status, requestId, body: content });
      const failure = isGood ? undefined : classify({ status, headers, body: text }, situation());
      const usage: Usage = {};
      countInto(usage, document?.usage);
      if (failure === undefined || isOfThisRequest(failure)) return { status: 'ok', content, usage };
      if (!failure.unknownModel) return failure;
      const remedy = `the requests name the model "${oneLine(model, 100)}", so serve it under that name`;
      return { ...failure, stop: unavailable(`${host}: ${failure.reason}; ${remedy}`) };
    });
  };

  /** Sends a body. `take` receives the answer until its end, or until one of three clocks ends it. */
  const post = async (
    path: string,
    body: string,
    abort: AbortSignal,
    leftMs: number,
    situation: () => CallContext,
    take: (response: WireResponse, clocks: RunningLimits) => Promise<Attempt>,
  ): Promise<Attempt> => {
    if (abort.aborted) return INTERRUPTED;
    const clocks = startClocks(options.clocks, stream, abort, leftMs);
    try {
      const attempt = await take(await wire.send(path, clocks.signal, Buffer.from(body)), clocks);
      return abort.aborted && attempt.status === 'failed' ? INTERRUPTED : attempt;
    } catch (error) {
      if (abort.aborted) return INTERRUPTED;
      if (clocks.expired === undefined) return classify({ error }, situation());
      return { status: 'failed', class: 'timeout', reason: clocks.expired };
    } finally {
      clocks.stop();
    }
  };

  /** The failure of an unknown model, with the available models. */
  const withNames = async (failure: AttemptFailure): Promise<AttemptFailure> => {
    const { names } = await models();
    if (names.length === 0) return failure;
    const shown = names.slice(0, MOST_MODELS).join(', ');
    return { ...failure, stop: unavailable(`${failure.stop?.message}. It has ${shown}`) };
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
     * Reads the context length before anything is asked, if the server reports it.
     * @throws UserError (2) if no prompt can fit together with the output budget
     */
    async readContext(): Promise<ServedContext | undefined> {
      const { context: told } = await models();
      if (told === undefined) return undefined;
      context.described(host, told.tokens, !told.refusesBudgets);
      return { host, ...told };
    },
    /** How `awb serve` describes its model at /models; undefined for any other server. Never rejects. */
    facts: async () => (await models()).facts,
    close: () => wire.close(),
  };
}

/** Whether another request may fare better: the server works, but not with the content of this one. */
function isOfThisRequest({ class: kind, stop, down }: AttemptFailure): boolean {
  if (kind === 'context-overflow' || kind === 'refused') return true;
  return kind === 'fatal' && down !== true && (stop === undefined || stop.exitCode === EXIT.usage);
}

/** The body with another output budget, so that probing a server costs next to nothing. */
function withBudget(body: string, tokens: number): string {
  const { [MAX_TOKENS]: _, [MAX_COMPLETION_TOKENS]: newer, ...rest } = asObject(parseObject(body));
  return JSON.stringify({ ...rest, [newer === undefined ? MAX_TOKENS : MAX_COMPLETION_TOKENS]: tokens });
}

/** A listener that receives no secrets, not even one split over pieces; `end` releases text that could have become one. */
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
 * What a server says about its models at /models: their names, the additions of `awb serve`, and the context of the called model in
 * tokens, if reported. Some servers (vLLM and SGLang) refuse a prompt that fits unless its full budget fits, too; others end the reply
 * at the context's end. `rootUrl` is the server's address without /v1; if absent, only /models is requested. A server that cannot be
 * reached, or has no such list, counts as one without models. Nothing here rejects.
 */
export function openModels(wire: Wire, model: string, rootUrl?: string) {
  /** The JSON object at that path; an empty one if there is none, or the server cannot be reached. */
  const documentAt = async (path: string): Promise<JsonObject> => {
    try {
      const response = await wire.send(path, AbortSignal.timeout(MODELS_MS));
      return parseObject(await readStart(response, MOST_MODELS_TEXT)) ?? {};
    } catch {
      return {};
    }
  };
  const contextOf = async (entry: JsonObject) => {
    // vLLM, SGLang and `awb serve`, newer llama.cpp, Mistral, OpenRouter, Groq.
    const { max_model_len, meta, max_context_length, context_length, context_window, owned_by } = entry;
    const told = [max_model_len, asObject(meta).n_ctx, max_context_length, context_length, context_window];
    if (owned_by === 'llamacpp' && rootUrl !== undefined && !told.some(isContext)) {
      // llama.cpp's server reports a slot's context outside its API.
      told.push(asObject((await documentAt(`${rootUrl}/props`)).default_generation_settings).n_ctx);
    }
    const tokens = told.find(isContext);
    const refusesBudgets = owned_by === 'vllm' || owned_by === 'sglang';
    return tokens === undefined ? undefined : { tokens, refusesBudgets };
  };
  const read = async () => {
    const { data } = await documentAt('/models');
    const entries = Array.isArray(data) ? data.filter(isObject) : [];
    // A server that is still loading may report it later.
    if (entries.length === 0) told = undefined;
    const ids = entries.map(({ id }) => id).filter((id) => typeof id === 'string');
    const entry = entries.find(({ id }) => id === model) ?? (entries.length === 1 ? entries[0] : undefined);
    const facts = entries.map((one) => one[FACTS_KEY]).find(isObject);
    return {
      names: ids.map((id) => tidy(id, wire.redact, () => true)),
      facts: facts && redacted(facts, wire.redact),
      context: entry && (await contextOf(entry)),
    };
  };
  let told: ReturnType<typeof read> | undefined;
  return () => {
    told ??= read();
    return told;
  };
}

/** Undefined if the value is nested too deeply to walk. */
function redacted(facts: JsonObject, redact: Redact): JsonObject | undefined {
  try {
    return asObject(redactValue(facts, redact));
  } catch {
    return undefined;
  }
}

function isContext(told: unknown): told is number {
  return isTokenCount(told) && told > 0;
}
