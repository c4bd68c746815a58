// One try of one request at any OpenAI-compatible endpoint, read to its end or ended by one of three clocks.

import { StringDecoder } from 'node:string_decoder';
import { EXIT, nearest, UserError } from '../errors.js';
import { isObject, type JsonObject } from '../json.js';
import { oneLine, printable } from '../printable.js';
import { openRedaction, redactValue } from '../redaction.js';
import { LONGEST_TIMER_MS } from '../timers.js';
import type { ModelRequest, Usage } from '../types.js';
import { addUsage } from '../usage.js';
import { type Address, readAddress } from './address.js';
import type { Attempt, AttemptReply, Endpoint } from './attempt.js';
import { type Clocks, startClocks } from './clocks.js';
import { type ContextWatch, contextLengthOf, refusesBudgets, type Sizes } from './context.js';
import type { CallContext, Failure } from './failure.js';
import { classify } from './failures.js';
import { openTransport, type Transport, type WireResponse } from './fetch.js';
import type { HttpProxy } from './proxy.js';
import { Reading } from './reading.js';
import { type Asked, type Body, budgetOf, requestBody, type Way, wayOf } from './request.js';
import { tidy } from './wording.js';

export interface EndpointOptions extends Asked {
  /** As far as the part before /chat/completions and /completions; a query is sent along, a user name and password as basic authentication. */
  readonly baseUrl: string;
  /** Empty sends `Bearer EMPTY`. */
  readonly apiKey: string;
  readonly clocks: Clocks;
  /** On a context overflow, ask once more with the tokens that are left. */
  readonly fitMaxTokens: boolean;
  /** What the endpoint is asked through. */
  readonly proxy?: HttpProxy | undefined;
  readonly context: ContextWatch;
  /** Whose flags a remedy names. */
  readonly flagPrefix: 'model' | 'judge';
}

export interface DescribedEndpoint extends Endpoint {
  /**
   * Reads the context length where the server tells it, before anything is asked.
   * @throws UserError (2) where no prompt can fit beside the output budget
   */
  readContext(): Promise<void>;
  /** What `awb serve` says of its model at /models (file, quantisation, cache ...); undefined for any other server. Never throws. */
  facts(): Promise<JsonObject | undefined>;
}

/** The key of a model at /models under which `awb serve` says what scores depend on. */
const FACTS_KEY = 'agentworldbench';
/** How long an unknown model's failure waits for the list of known ones. */
const MODELS_MS = 2_000;
const MOST_MODELS = 10;
const MOST_MODELS_TEXT = 2 ** 22;
/** Left free when fitting, as servers differ by a few tokens in what they count. */
const FIT_MARGIN = 16;
/** A smaller budget is not worth a call: the reply would be cut off. */
const FIT_MINIMUM = 256;
/** Longest name that is kept of a model or of a reply's end, in columns. */
const MOST_NAME = 200;
/** Longest error body that is read, in characters. */
const MOST_ERROR_TEXT = 65_536;

type OpenAI = import('openai').default;

interface Wire {
  readonly client: OpenAI;
  readonly transport: Transport;
}

/**
 * Opens an endpoint; nothing is sent before the first call. Throws a UserError (2) for a base URL or key that cannot be used.
 * The calls' failures are those of failures.ts; see there for what stops a run.
 */
export function openEndpoint(options: EndpointOptions): DescribedEndpoint {
  const address = readAddress(options.baseUrl, options.apiKey);
  const { apiKey, proxy } = options;
  const redact = openRedaction([apiKey, ...address.secrets, ...(proxy?.secrets ?? [])]);
  let wire: Promise<Wire> | undefined;
  let models: Promise<JsonObject[]> | undefined;

  /** The client is loaded and the transport opened by the first call, so that help and refusals stay fast. */
  function connect(): Promise<Wire> {
    wire ??= openWire(options, address);
    return wire;
  }

  function knownModels(): Promise<JsonObject[]> {
    models ??= readModels().then((found) => {
      // A server that is still loading may tell later.
      if (found.length === 0) models = undefined;
      return found;
    });
    return models;
  }

  async function call(request: ModelRequest, attemptIndex: number, abort: AbortSignal): Promise<Attempt> {
    const spent: Usage = {};
    const way = wayOf(request);
    const deadlineMs = performance.now() + options.clocks.callTimeoutMs;
    /** Asks, and asks anew as long as the dialect learns from what is rejected. */
    const ask = async (maxTokens?: number): Promise<Outcome> => {
      for (;;) {
        const body = requestBody(options, request, attemptIndex, maxTokens);
        const outcome = await exchange(way, body, abort, deadlineMs - performance.now());
        if (outcome.status === 'interrupted') return outcome;
        addUsage(spent, outcome.usage);
        if (outcome.status === 'ok' || outcome.rejected === undefined || !adapts(outcome.rejected, body))
          return outcome;
      }
    };
    const first = await ask();
    if (first.status === 'ok') options.context.called();
    if (first.status !== 'failed' || first.overflow === undefined) return settle(first, spent);
    options.context.called();
    const sizes = await measured(first.overflow, ask);
    if ('status' in sizes) return settle(sizes, spent);
    const left = roomIn(sizes);
    if (left === undefined || left < FIT_MINIMUM) {
      options.context.overLong(address.host, sizes);
      return settle(first, spent);
    }
    if (!options.fitMaxTokens) return settle(overBudget(first, sizes), spent);
    const second = await ask(left);
    return settle(second.status === 'ok' ? { ...second, fittedMaxTokens: left } : second, spent);
  }

  /** The failure of a row whose prompt would fit, were it not for the output budget. */
  function overBudget(failure: Failure, sizes: Sizes): Failure {
    const stop = options.context.overBudget(address.host, sizes);
    const reason = `the prompt fits into the context, but not with --max-tokens ${options.sampling.maxTokens}: ${failure.reason}`;
    return { ...failure, reason, ...(stop && { stop }) };
  }

  /** Whether the dialect now writes a body without what was rejected. */
  function adapts(rejected: string, body: Body): boolean {
    return options.dialect.learn(rejected) && !(rejected in options.dialect.translate(body));
  }

  async function exchange(way: Way, body: Body, abort: AbortSignal, leftMs: number): Promise<Outcome> {
    if (abort.aborted) return INTERRUPTED;
    const clocks = startClocks(options.clocks, options.stream, abort, leftMs);
    const reading = new Reading(clocks, way, budgetOf(body));
    const context = (): CallContext => ({
      host: address.host,
      model: options.model,
      asked: way.words,
      flagPrefix: options.flagPrefix,
      hasKey: apiKey !== '' && apiKey !== 'EMPTY',
      sent: Object.keys(body),
      proxy,
      redact,
      nowMs: Date.now(),
    });
    try {
      const { client } = await connect();
      // As bytes the request is held once while the call lasts, not as an object, as text and as bytes.
      const bytes = Buffer.from(JSON.stringify(body));
      const answer = client.post(way.path, { body: bytes, headers: JSON_BODY, signal: clocks.signal });
      const response = (await answer.asResponse()) as unknown as WireResponse;
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
        return compressed(tidy(coding, redact));
      }
      await response.read((piece) => reading.feed(piece));
      return reading.outcome(context);
    } catch (error) {
      if (abort.aborted) return INTERRUPTED;
      if (reading.finished) return reading.outcome(context);
      if (clocks.expired !== undefined) return timedOut(clocks.expired, reading.usage);
      return { ...classify({ error }, context()), usage: reading.usage };
    } finally {
      clocks.stop();
    }
  }

  /**
   * The sizes that tell whether the prompt alone would fit. A server that did not count the prompt is made to by a reply of one
   * token; where that fails, its failure is the call's.
   */
  async function measured(sizes: Sizes, ask: (maxTokens: number) => Promise<Outcome>): Promise<Sizes | Outcome> {
    if (sizes.contextTokens === undefined || sizes.promptTokens !== undefined) return sizes;
    if (options.sampling.maxTokens === undefined) return sizes;
    const counted = await ask(1);
    if (counted.status === 'failed' && counted.overflow !== undefined) return { ...sizes, ...counted.overflow };
    return counted.status === 'ok' ? { ...sizes, promptTokens: counted.usage.promptTokens } : counted;
  }

  /** The output budget that the context leaves; undefined where that is not known, or no less than was asked for. */
  function roomIn({ contextTokens, promptTokens }: Sizes): number | undefined {
    const { maxTokens } = options.sampling;
    if (contextTokens === undefined || promptTokens === undefined || maxTokens === undefined) return undefined;
    const left = contextTokens - promptTokens - FIT_MARGIN;
    return left < maxTokens ? left : undefined;
  }

  async function settle(outcome: Outcome, usage: Usage): Promise<Attempt> {
    if (outcome.status === 'interrupted') return outcome;
    if (outcome.status === 'ok') return clean({ ...outcome, usage });
    const { rejected: _, overflow: __, unknownModel, ...failure } = outcome;
    const known = unknownModel ? await namesOfModels() : [];
    if (known.length === 0) return { ...failure, usage };
    const near = nearest(options.model, known);
    const shown = known.slice(0, MOST_MODELS).join(', ') + (known.length > MOST_MODELS ? ', …' : '');
    const hint = `${near === undefined ? '' : `did you mean "${near}"? `}It has ${shown}`;
    return { ...failure, usage, stop: new UserError(`${failure.stop?.message}. ${hint}`, EXIT.unavailable) };
  }

  async function namesOfModels(): Promise<string[]> {
    const ids = (await knownModels()).map(({ id }) => id).filter((id) => typeof id === 'string');
    return ids.map((id) => tidy(id, redact));
  }

  async function readModels(): Promise<JsonObject[]> {
    const { data } = await readDocument('/models');
    return Array.isArray(data) ? data.filter(isObject) : [];
  }

  /** A JSON object that the server has there; an empty one where it has none, or is not there itself. */
  async function readDocument(path: string): Promise<JsonObject> {
    try {
      const { client } = await connect();
      const signal = AbortSignal.timeout(MODELS_MS);
      const response = (await client.get(path, { signal }).asResponse()) as unknown as WireResponse;
      const document: unknown = JSON.parse(await readStart(response, MOST_MODELS_TEXT));
      return isObject(document) ? document : {};
    } catch {
      return {};
    }
  }

  async function readContext(): Promise<void> {
    const entries = await knownModels();
    const entry = entries.find(({ id }) => id === options.model) ?? (entries.length === 1 ? entries[0] : undefined);
    if (entry === undefined) return;
    const contextTokens = contextLengthOf(entry) ?? (await contextOfLlamaCpp(entry));
    if (contextTokens !== undefined) options.context.described(address.host, contextTokens, !refusesBudgets(entry));
  }

  /** llama.cpp's server tells a slot's context beside its API, at /props. */
  async function contextOfLlamaCpp({ owned_by }: JsonObject): Promise<number | undefined> {
    if (owned_by !== 'llamacpp') return undefined;
    const { default_generation_settings: settings } = await readDocument(
      `${address.baseUrl.replace(/\/v1$/, '')}/props`,
    );
    return isObject(settings) && Number.isSafeInteger(settings.n_ctx) ? (settings.n_ctx as number) : undefined;
  }

  async function facts(): Promise<JsonObject | undefined> {
    const own = (await knownModels()).find((entry) => isObject(entry[FACTS_KEY]))?.[FACTS_KEY];
    try {
      return own === undefined ? undefined : (redactValue(own, redact) as JsonObject);
    } catch {
      // Lists in lists without end are no facts.
      return undefined;
    }
  }

  /** A reply without anything secret that the server may have echoed, its names on one line. */
  function clean({ finishReason, servedModel, ...reply }: AttemptReply): AttemptReply {
    let redacted = false;
    const withoutSecrets = (text: string): string => {
      const shown = redact(text);
      redacted ||= shown !== text;
      return shown;
    };
    // Cut after redacting, so that no half of a secret is left.
    const named = (text: string) => oneLine(withoutSecrets(printable(text)), MOST_NAME);
    const texts = {
      content: withoutSecrets(reply.content),
      ...(reply.reasoning !== undefined && { reasoning: withoutSecrets(reply.reasoning) }),
      ...(finishReason !== undefined && { finishReason: named(finishReason) }),
      ...(servedModel !== undefined && { servedModel: named(servedModel) }),
    };
    return redacted ? { ...reply, ...texts, redacted } : { ...reply, ...texts };
  }

  return {
    host: address.host,
    facts,
    readContext,
    async call(request, attemptIndex, abort) {
      try {
        return await call(request, attemptIndex, abort);
      } catch (error) {
        const words = tidy(error instanceof Error ? error.message : String(error), redact);
        return { status: 'failed', class: 'transient', reason: `the call failed (${words})` };
      }
    },
    async close() {
      await (await wire)?.transport.close();
    },
  };
}

type Outcome = AttemptReply | Failure | { readonly status: 'interrupted' };
const JSON_BODY = { 'content-type': 'application/json' };
const INTERRUPTED = { status: 'interrupted' } as const;

async function openWire({ apiKey, proxy }: EndpointOptions, address: Address): Promise<Wire> {
  const [{ OpenAI }, transport] = await Promise.all([import('openai'), openTransport(proxy)]);
  // The client fills in from OPENAI_… variables what is not given: what belongs to OpenAI must reach no other host.
  const strangers = address.host === 'api.openai.com' ? {} : { organization: null, project: null };
  const client = new OpenAI({
    apiKey: apiKey === '' ? 'EMPTY' : apiKey,
    adminAPIKey: null,
    webhookSecret: null,
    ...strangers,
    baseURL: address.baseUrl,
    defaultQuery: address.query,
    ...(address.basic !== undefined && { defaultHeaders: { authorization: address.basic } }),
    fetch: transport.fetch,
    maxRetries: 0,
    timeout: LONGEST_TIMER_MS,
    logLevel: 'off',
  });
  return { client, transport };
}

/** A body's start, of at most `mostCharacters`: an error needs no more, nor its end. What breaks off is taken as it is. */
async function readStart(response: WireResponse, mostCharacters: number): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  const onData = (piece: Buffer) => {
    text += decoder.write(piece);
    return text.length < mostCharacters;
  };
  await response.read(onData).catch(() => {});
  return text.slice(0, mostCharacters);
}

/** Nothing is unpacked that was not asked for: a few kilobytes could become gigabytes. */
function compressed(coding: string): Failure {
  const reason = `the reply is compressed (content-encoding ${coding}), which it was asked not to be`;
  return { status: 'failed', class: 'malformed', reason };
}

function timedOut(reason: string, usage: Usage): Failure {
  return { status: 'failed', class: 'timeout', reason, usage };
}
