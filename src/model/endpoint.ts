// One try of one request at any OpenAI-compatible endpoint, read to its end or ended by one of three clocks.

import { setMaxListeners } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { EXIT, nearest, UserError } from '../errors.js';
import type { ModelRequest, Sampling, Usage } from '../types.js';
import type { Attempt, Endpoint } from './attempt.js';
import { type Dialect, MAX_TOKENS } from './dialect.js';
import { type CallContext, classify, type Failure, isHtml, redact, secretForms, tidy } from './failures.js';
import { openTransport, type Transport, type WireResponse } from './fetch.js';

/** Limits of one call in milliseconds. The first two apply to streamed replies alone; text and reasoning are progress, nothing else. */
export interface Clocks {
  readonly firstTokenTimeoutMs: number;
  readonly gapTimeoutMs: number;
  readonly callTimeoutMs: number;
}

export interface EndpointOptions {
  /** As far as the part before /chat/completions; a query is sent along, a user name and password as basic authentication. */
  readonly baseUrl: string;
  /** Empty sends `Bearer EMPTY`. */
  readonly apiKey: string;
  readonly model: string;
  readonly sampling: Sampling;
  readonly stream: boolean;
  readonly clocks: Clocks;
  /** On a context overflow, ask once more with the tokens that are left. */
  readonly fitMaxTokens: boolean;
  readonly dialect: Dialect;
  /** What else must never leave, beside the key and what the URL holds. */
  readonly secrets: readonly string[];
  /** Whose flags a remedy names. */
  readonly flagPrefix: 'model' | 'judge';
  readonly responseFormat?: unknown;
}

export interface DescribedEndpoint extends Endpoint {
  /** What `awb serve` says of its model at /models (file, quantisation, cache ...); undefined for any other server. Never throws. */
  facts(): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** The key of a model at /models under which `awb serve` says what scores depend on. */
const FACTS_KEY = 'agentworldbench';
/** How long after its end (`finish_reason`) a streamed reply is waited for its token counts. */
const TAIL_MS = 5_000;
/** How long an unknown model's failure waits for the list of known ones. */
const MODELS_MS = 2_000;
const MOST_MODELS = 10;
const MOST_MODELS_TEXT = 2 ** 22;
/** Left free when fitting, as servers differ by a few tokens in what they count. */
const FIT_MARGIN = 16;
/** A smaller budget is not worth a call: the reply would be cut off. */
const FIT_MINIMUM = 256;
/** Longest error body that is looked through, in characters. */
const MOST_ERROR_TEXT = 65_536;
const MOST_TIMER_MS = 2 ** 31 - 1;

/** Why a server ended a reply that the model had not finished (vLLM and SGLang, OpenRouter, DeepSeek). */
const ENDED_EARLY = new Set(['abort', 'error', 'insufficient_system_resource']);

type OpenAI = import('openai').default;
type Body = Record<string, unknown>;

interface Wire {
  readonly client: OpenAI;
  readonly transport: Transport;
}

/**
 * Opens an endpoint; nothing is sent before the first call. Throws a UserError (2) for a base URL or key that cannot be used.
 * The calls' failures are those of failures.ts; see there for what stops a run.
 */
export function openEndpoint(options: EndpointOptions): DescribedEndpoint {
  const target = readTarget(options);
  const secrets = secretForms([options.apiKey, ...options.secrets, ...target.secrets]);
  let wire: Promise<Wire> | undefined;
  let models: Promise<string[]> | undefined;

  /** The client is loaded and the transport opened by the first call, so that help and refusals stay fast. */
  function connect(): Promise<Wire> {
    wire ??= openWire(options, target);
    return wire;
  }

  function knownModels(): Promise<string[]> {
    models ??= listModels();
    return models;
  }

  async function call(request: ModelRequest, attemptIndex: number, abort: AbortSignal): Promise<Attempt> {
    const spent: Usage = {};
    const deadlineMs = performance.now() + options.clocks.callTimeoutMs;
    /** Asks, and asks anew as long as the dialect learns from what is rejected. */
    const ask = async (maxTokens?: number): Promise<Outcome> => {
      for (;;) {
        const body = requestBody(options, request, attemptIndex, maxTokens);
        const outcome = await exchange(body, abort, deadlineMs - performance.now());
        if (outcome.status === 'interrupted') return outcome;
        addUsage(spent, outcome.usage);
        if (outcome.status === 'ok' || outcome.rejected === undefined || !adapts(outcome.rejected, body))
          return outcome;
      }
    };
    const first = await ask();
    if (first.status !== 'failed' || first.overflow === undefined || !options.fitMaxTokens) return settle(first, spent);
    const fitted = await fitBudget(first.overflow, ask);
    if (fitted === undefined) return settle(first, spent);
    if (typeof fitted === 'object') return settle(fitted, spent);
    const second = await ask(fitted);
    return settle(second.status === 'ok' ? { ...second, fittedMaxTokens: fitted } : second, spent);
  }

  /** Whether the dialect now writes a body without what was rejected. */
  function adapts(rejected: string, body: Body): boolean {
    return options.dialect.learn(rejected) && !(rejected in options.dialect.translate(body));
  }

  async function exchange(body: Body, abort: AbortSignal, leftMs: number): Promise<Outcome> {
    if (abort.aborted) return INTERRUPTED;
    const clocks = startClocks(options, abort, leftMs);
    const reading = new Reading(clocks);
    const context = (): CallContext => ({
      host: target.host,
      model: options.model,
      flagPrefix: options.flagPrefix,
      hasKey: options.apiKey !== '' && options.apiKey !== 'EMPTY',
      sent: Object.keys(body),
      secrets,
      nowMs: Date.now(),
    });
    try {
      const { client } = await connect();
      // As bytes the request is held once while the call lasts, not as an object, as text and as bytes.
      const bytes = Buffer.from(JSON.stringify(body));
      const answer = client.chat.completions.create(bytes as never, { headers: JSON_BODY, signal: clocks.signal });
      const response = (await answer.asResponse()) as unknown as WireResponse;
      if (response.status < 200 || response.status > 299) {
        const { status, headers } = response;
        return classify({ status, headers, body: await readText(response) }, context());
      }
      await response.read((piece) => reading.feed(piece));
      return reading.outcome(context);
    } catch (error) {
      // What is late or broken behind the reply's end costs no more than its token counts.
      if (reading.finished && !abort.aborted) return reading.outcome(context);
      if (clocks.expired !== undefined) return timedOut(clocks.expired, reading.usage);
      if (abort.aborted) return INTERRUPTED;
      return { ...(reading.broken ?? classify({ error }, context())), usage: reading.usage };
    } finally {
      clocks.stop();
    }
  }

  /**
   * The budget that the context leaves, undefined where none is worth a call. A server that did not count the prompt is made
   * to by a reply of one token; where that fails, its failure is the call's.
   */
  async function fitBudget(
    { contextTokens, promptTokens }: NonNullable<Failure['overflow']>,
    ask: (maxTokens: number) => Promise<Outcome>,
  ): Promise<number | Outcome | undefined> {
    const asked = options.sampling.maxTokens;
    if (contextTokens === undefined || asked === undefined) return undefined;
    let prompt = promptTokens;
    if (prompt === undefined) {
      const counted = await ask(1);
      if (counted.status !== 'ok') return counted;
      prompt = counted.usage.promptTokens;
    }
    const left = contextTokens - (prompt ?? Number.POSITIVE_INFINITY) - FIT_MARGIN;
    return left >= FIT_MINIMUM && left < asked ? left : undefined;
  }

  async function settle(outcome: Outcome, usage: Usage): Promise<Attempt> {
    if (outcome.status === 'interrupted') return outcome;
    if (outcome.status === 'ok') return clean({ ...outcome, usage });
    const { rejected: _, overflow: __, unknownModel, ...failure } = outcome;
    const known = unknownModel ? await knownModels() : [];
    if (known.length === 0) return { ...failure, usage };
    const near = nearest(options.model, known);
    const shown = known.slice(0, MOST_MODELS).join(', ') + (known.length > MOST_MODELS ? ', …' : '');
    const hint = `${near === undefined ? '' : `did you mean "${near}"? `}It has ${shown}`;
    return { ...failure, usage, stop: new UserError(`${failure.stop?.message}. ${hint}`, EXIT.unavailable) };
  }

  async function listModels(): Promise<string[]> {
    return (await readModels()).map(({ id }) => tidy(String(id), secrets));
  }

  async function readModels(): Promise<Body[]> {
    try {
      const { client } = await connect();
      const signal = AbortSignal.timeout(MODELS_MS);
      const response = (await client.get('/models', { signal }).asResponse()) as unknown as WireResponse;
      const { data } = JSON.parse(await readText(response, MOST_MODELS_TEXT)) as { data: unknown };
      return Array.isArray(data) ? data.filter((entry) => typeof entry === 'object' && entry !== null) : [];
    } catch {
      return [];
    }
  }

  async function facts(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const own = (await readModels()).find((entry) => typeof entry[FACTS_KEY] === 'object')?.[FACTS_KEY];
    return own === undefined ? undefined : (JSON.parse(redact(JSON.stringify(own), secrets)) as Body);
  }

  /** A reply without anything secret that the server may have echoed. */
  function clean(reply: Reply): Reply {
    const texts = { content: reply.content } as Body;
    for (const name of ['reasoning', 'finishReason', 'servedModel'] as const) {
      if (reply[name] !== undefined) texts[name] = reply[name];
    }
    let redacted = false;
    for (const [name, text] of Object.entries(texts) as [string, string][]) {
      texts[name] = redact(text, secrets);
      redacted ||= texts[name] !== text;
    }
    return redacted ? { ...reply, ...texts, redacted: true } : reply;
  }

  return {
    host: target.host,
    facts,
    async call(request, attemptIndex, abort) {
      try {
        return await call(request, attemptIndex, abort);
      } catch (error) {
        const words = tidy(error instanceof Error ? error.message : String(error), secrets);
        return { status: 'failed', class: 'transient', reason: `the call failed (${words})` };
      }
    },
    async close() {
      await (await wire)?.transport.close();
    },
  };
}

type Reply = Extract<Attempt, { status: 'ok' }>;
type Outcome = Reply | Failure | { readonly status: 'interrupted' };
const JSON_BODY = { 'content-type': 'application/json' };
const INTERRUPTED = { status: 'interrupted' } as const;

// --- the way there ---

interface Target {
  readonly host: string;
  readonly baseUrl: string;
  readonly query: Record<string, string>;
  /** The authorization header where the URL names a user. */
  readonly basic?: string;
  readonly secrets: readonly string[];
}

/** Query parameters that hold credentials; others, such as an API version, may stand in any text. */
const CREDENTIAL = /key|token|secret|sig|auth|pass|code/i;

function readTarget({ baseUrl, apiKey }: EndpointOptions): Target {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError('the base URL must be an address like http://localhost:8000/v1');
  }
  if (!/^[\x21-\x7e]*$/.test(apiKey)) {
    throw new UserError('the API key holds characters that no HTTP header can carry (a space or line end at its end?)');
  }
  const query = Object.fromEntries(url.searchParams);
  const credentials = Object.entries(query).filter(([name]) => CREDENTIAL.test(name));
  const user = decode(url.username);
  const password = decode(url.password);
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    host: url.host,
    baseUrl: url.origin + url.pathname.replace(/\/+$/, ''),
    query,
    ...(user !== '' && apiKey === '' && { basic: `Basic ${basic}` }),
    secrets: [password, ...(user === '' ? [] : [basic]), ...credentials.map(([, value]) => value)],
  };
}

/** What is not percent-encoded text stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function openWire({ apiKey }: EndpointOptions, target: Target): Promise<Wire> {
  const [{ OpenAI }, transport] = await Promise.all([import('openai'), openTransport()]);
  // The client fills in from OPENAI_… variables what is not given: what belongs to OpenAI must reach no other host.
  const strangers = target.host === 'api.openai.com' ? {} : { organization: null, project: null };
  const client = new OpenAI({
    apiKey: apiKey === '' ? 'EMPTY' : apiKey,
    adminAPIKey: null,
    webhookSecret: null,
    ...strangers,
    baseURL: target.baseUrl,
    defaultQuery: target.query,
    ...(target.basic !== undefined && { defaultHeaders: { authorization: target.basic } }),
    fetch: transport.fetch,
    maxRetries: 0,
    timeout: MOST_TIMER_MS,
    logLevel: 'off',
  });
  return { client, transport };
}

// --- what is asked ---

function requestBody(
  { model, sampling, stream, responseFormat, dialect }: EndpointOptions,
  { messages, seedOffset }: ModelRequest,
  attemptIndex: number,
  maxTokens = sampling.maxTokens,
): Body {
  const seed = sampling.seed === undefined ? undefined : seedOf(sampling.seed, seedOffset, attemptIndex);
  const wanted: Body = {
    model,
    messages,
    [MAX_TOKENS]: maxTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    seed,
    presence_penalty: sampling.presencePenalty,
    reasoning_effort: sampling.reasoningEffort,
    response_format: responseFormat,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
    ...sampling.extraBody,
  };
  const set = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return dialect.translate(Object.fromEntries(set));
}

/**
 * The seed of one try: `(seed + 1,000,003 * seedOffset + 7,919 * attemptIndex) mod 2^31`. The first try of the first repeat is
 * asked under the seed as given; two primes keep repeats and tries apart.
 */
export function seedOf(seed: number, seedOffset: number, attemptIndex: number): number {
  const modulus = 2 ** 31;
  const sum = (seed % modulus) + ((1_000_003 * seedOffset) % modulus) + ((7_919 * attemptIndex) % modulus);
  return ((sum % modulus) + modulus) % modulus;
}

// --- the clocks ---

interface Running {
  readonly signal: AbortSignal;
  /** The clock that ended the call, in words. */
  readonly expired: string | undefined;
  /** Milliseconds to the first progress. */
  readonly firstTokenMs: number | undefined;
  progress(): void;
  /** The reply has ended; what is left to come is worth a short wait. */
  tail(): void;
  /** Gives up on the rest. */
  cancel(): void;
  stop(): void;
}

function startClocks({ stream, clocks }: EndpointOptions, abort: AbortSignal, leftMs: number): Running {
  const controller = new AbortController();
  const startedMs = performance.now();
  const cancel = () => controller.abort();
  let expired: string | undefined;
  let firstTokenMs: number | undefined;
  const after = (ms: number, words: string): NodeJS.Timeout => {
    const expire = () => {
      expired ??= words;
      controller.abort();
    };
    return setTimeout(expire, Math.max(0, Math.min(ms, MOST_TIMER_MS)));
  };
  const whole = after(leftMs, `no whole reply within ${seconds(clocks.callTimeoutMs)} (--call-timeout)`);
  const first = `no first token within ${seconds(clocks.firstTokenTimeoutMs)} (--first-token-timeout)`;
  let step = stream ? after(clocks.firstTokenTimeoutMs, first) : undefined;
  // Many calls share this signal, each with a listener of its own.
  setMaxListeners(0, abort);
  abort.addEventListener('abort', cancel, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    get firstTokenMs() {
      return firstTokenMs;
    },
    progress() {
      if (!stream) return;
      if (firstTokenMs !== undefined) {
        step?.refresh();
        return;
      }
      firstTokenMs = performance.now() - startedMs;
      clearTimeout(step);
      step = after(clocks.gapTimeoutMs, `no further token within ${seconds(clocks.gapTimeoutMs)} (--gap-timeout)`);
    },
    tail() {
      clearTimeout(step);
      step = setTimeout(cancel, Math.min(TAIL_MS, clocks.gapTimeoutMs));
    },
    cancel,
    stop() {
      clearTimeout(whole);
      clearTimeout(step);
      abort.removeEventListener('abort', cancel);
    },
  };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}

function timedOut(reason: string, usage: Usage): Failure {
  return { status: 'failed', class: 'timeout', reason, usage };
}

// --- what comes back ---

async function readText(response: WireResponse, mostCharacters = MOST_ERROR_TEXT): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  await response.read((piece) => {
    if (text.length < mostCharacters) text += decoder.write(piece);
  });
  return text;
}

interface Message {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly refusal?: unknown;
}

interface Choice {
  readonly index?: number;
  readonly delta?: Message;
  readonly message?: Message;
  readonly finish_reason?: unknown;
  readonly error?: unknown;
}

/** A completion, or a piece of one. */
interface Completion {
  readonly object?: unknown;
  readonly choices?: readonly Choice[] | null;
  readonly model?: unknown;
  readonly usage?: Record<string, unknown> | null;
  readonly error?: unknown;
}

/** A reply as it grows: events or one JSON document, as the body's first character shows, whatever was asked for. */
class Reading {
  usage: Usage = {};
  /** Set when the body made no sense, or held an error. */
  broken: Failure | undefined;
  finished = false;
  readonly #clocks: Running;
  readonly #decoder = new StringDecoder('utf8');
  #kind: 'unknown' | 'events' | 'document' = 'unknown';
  /** The document, or what has come of the line under way. */
  #text = '';
  /** The data of the event under way. */
  #data: string | undefined;
  #events = 0;
  #content = '';
  #reasoning = '';
  #refused = false;
  #finishReason: string | undefined;
  #servedModel: string | undefined;
  #error: unknown;

  constructor(clocks: Running) {
    this.#clocks = clocks;
  }

  feed(piece: Buffer): void {
    this.#text += this.#decoder.write(piece);
    if (this.#kind === 'unknown') {
      const start = /\S/.exec(this.#text)?.[0];
      if (start !== undefined) this.#kind = '{[<"'.includes(start) ? 'document' : 'events';
    }
    if (this.#kind !== 'events') return;
    let from = 0;
    for (let to = this.#text.indexOf('\n'); to >= 0; to = this.#text.indexOf('\n', from)) {
      this.#line(this.#text.slice(from, this.#text[to - 1] === '\r' ? to - 1 : to));
      from = to + 1;
    }
    this.#text = this.#text.slice(from);
  }

  /** What the body came to, once it has ended or is given up. */
  outcome(context: () => CallContext): Outcome {
    const text = this.#text + this.#decoder.end();
    if (this.#kind === 'events') {
      this.#line(text);
      this.#line('');
      if (this.#events === 0) this.#breakOff('the reply is neither JSON nor a stream of events');
    } else {
      this.#document(text);
    }
    if (this.#error !== undefined && !this.finished) {
      const failure = classify({ body: JSON.stringify({ error: this.#error }) }, context());
      return { ...failure, usage: this.usage };
    }
    if (this.broken !== undefined && !this.finished) return { ...this.broken, usage: this.usage };
    return this.#completed();
  }

  #completed(): Outcome {
    const failed = (rest: Pick<Failure, 'class' | 'reason'>): Failure => ({
      status: 'failed',
      ...rest,
      usage: this.usage,
    });
    const reason = this.#finishReason;
    if (!this.finished)
      return failed({ class: 'malformed', reason: 'the reply was cut off: its stream ended without finish_reason' });
    if (reason === 'content_filter') {
      return failed({ class: 'refused', reason: 'refused by the content filter (finish_reason content_filter)' });
    }
    if (this.#refused && this.#content === '') {
      return failed({ class: 'refused', reason: 'the model refused to answer (message.refusal)' });
    }
    if (reason !== undefined && ENDED_EARLY.has(reason)) {
      return failed({ class: 'transient', reason: `the server ended the reply early (finish_reason ${reason})` });
    }
    return {
      status: 'ok',
      content: this.#content,
      ...(this.#reasoning !== '' && { reasoning: this.#reasoning }),
      ...(reason !== undefined && { finishReason: reason }),
      ...(this.#servedModel !== undefined && { servedModel: this.#servedModel }),
      usage: this.usage,
      ...(this.#clocks.firstTokenMs !== undefined && { firstTokenMs: this.#clocks.firstTokenMs }),
    };
  }

  /** A line of the event stream (WHATWG HTML, 9.2.6); events are told apart by their data alone. */
  #line(line: string): void {
    if (line === '') {
      if (this.#data !== undefined) this.#event(this.#data);
      this.#data = undefined;
    } else if (line.startsWith('data:')) {
      const value = line.slice(line[5] === ' ' ? 6 : 5);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    }
  }

  #event(data: string): void {
    if (data.startsWith('[DONE]')) return;
    const chunk = parseObject(data);
    if (chunk === undefined) {
      this.#breakOff('an event of the reply is not a JSON object');
      return;
    }
    this.#events++;
    this.#take(chunk);
    const choice = chunk.choices?.find(({ index }) => (index ?? 0) === 0);
    if (choice === undefined || this.broken !== undefined) return;
    if (this.#add(choice.delta ?? choice.message)) this.#clocks.progress();
    if (this.#end(choice)) this.#clocks.tail();
  }

  #document(text: string): void {
    const completion = parseObject(text);
    if (completion === undefined) {
      const page = isHtml(text);
      const what = text.trim() === '' ? 'the reply has no body' : 'the reply is not JSON';
      this.#breakOff(page ? 'the reply is a web page, not JSON: does the base URL lack /v1?' : what);
      return;
    }
    this.#take(completion);
    const choice = completion.choices?.[0];
    if (choice === undefined) {
      if (this.#error === undefined) this.#breakOff('the reply has no choices');
      return;
    }
    this.#add(choice.message);
    this.#end(choice);
    // A document is whole by its closing brace: some servers leave finish_reason out.
    if (this.#error === undefined) this.finished = true;
  }

  #breakOff(reason: string): void {
    this.broken ??= { status: 'failed', class: 'malformed', reason };
    this.#clocks.cancel();
  }

  #take(completion: Completion): void {
    const { model, usage, error } = completion;
    if (typeof model === 'string' && model !== '') this.#servedModel = model;
    if (usage) this.usage = readUsage(usage);
    // Older vLLM has no `error` around what it says.
    if (error || completion.object === 'error') this.#error ??= error ?? completion;
  }

  /** Adds a message, or a piece of it; true where it held any text. */
  #add(message: Message | undefined): boolean {
    if (!message) return false;
    const content = textOf(message.content);
    const reasoning = [message.reasoning_content, message.reasoning].find((text) => typeof text === 'string') ?? '';
    this.#content += content;
    this.#reasoning += reasoning;
    if (typeof message.refusal === 'string' && message.refusal !== '') this.#refused = true;
    return content !== '' || reasoning !== '' || this.#refused;
  }

  #end({ finish_reason, error }: Choice): boolean {
    if (error) this.#error ??= error;
    if (typeof finish_reason !== 'string' || finish_reason === '') return false;
    this.#finishReason = finish_reason;
    this.finished = this.#error === undefined;
    return true;
  }
}

function parseObject(text: string): Completion | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

/** Token counts as OpenAI names them, and DeepSeek's name for cached ones. */
function readUsage(raw: Record<string, unknown>): Usage {
  const prompt = asCounts(raw.prompt_tokens_details);
  const completion = asCounts(raw.completion_tokens_details);
  const usage: Usage = {};
  setCount(usage, 'promptTokens', raw.prompt_tokens);
  setCount(usage, 'cachedTokens', prompt.cached_tokens ?? raw.prompt_cache_hit_tokens);
  setCount(usage, 'completionTokens', raw.completion_tokens);
  setCount(usage, 'reasoningTokens', completion.reasoning_tokens);
  return usage;
}

function asCounts(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function setCount(usage: Usage, name: keyof Usage, value: unknown): void {
  if (typeof value === 'number') usage[name] = value;
}

function addUsage(sum: Usage, more: Usage | undefined): void {
  for (const [name, count] of Object.entries(more ?? {}) as [keyof Usage, number][]) {
    sum[name] = (sum[name] ?? 0) + count;
  }
}
