// An endpoint that is sent the bodies of a batch as they are, and whose answers are kept as they come.

import { EXIT, UserError } from '../../errors.js';
import { asObject, parseObject } from '../../json.js';
import { oneLine } from '../../printable.js';
import { openRedaction, type Redact } from '../../redaction.js';
import type { ModelRequest, Usage } from '../../types.js';
import { isTokenCount } from '../../usage.js';
import { type Attempt, type AttemptFailure, INTERRUPTED } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { classify } from '../failures/classify.js';
import { readAddress } from '../http/address.js';
import type { WireResponse } from '../http/fetch.js';
import type { HttpProxy } from '../http/proxy.js';
import { startClocks } from '../http/time-limits.js';
import { readStart, Wire } from '../http/wire.js';
import type { HttpAnswer } from './answer.js';

interface PassingOptions {
  readonly baseUrl: string;
  /** Empty sends `Bearer EMPTY`. */
  readonly apiKey: string;
  readonly proxy: HttpProxy | undefined;
  /** Behind the base URL. */
  readonly path: string;
  /** The model that the requests name. */
  readonly model: string;
  readonly callTimeoutMs: number;
  /** The latest answer to each request that was no success, for whoever has to say how it ended. */
  readonly answers: WeakMap<ModelRequest, HttpAnswer>;
}

/** Longest answer that is kept, in characters. */
const MOST_ANSWER = 2 ** 27;

/** A request of a batch as the schedule takes it: its body is the prompt. */
export function requestOf(body: string): ModelRequest {
  return { prompt: body, seedOffset: 0 };
}

/** The answer that a reply of a `PassingEndpoint` holds. */
export function answerIn(content: string): HttpAnswer {
  // It was made by `replyOf` below.
  return JSON.parse(content) as HttpAnswer;
}

/**
 * An answer that settles its request is a reply here, a refusal of this very request among them. What may pass is a failure, as
 * elsewhere, and what would meet every other request as well stops the run.
 */
export class PassingEndpoint implements Endpoint {
  readonly host: string;
  readonly #options: PassingOptions;
  readonly #wire: Wire;
  readonly #redact: Redact;
  readonly #hasKey: boolean;

  /** @throws UserError (2) for a base URL or a key that cannot be used */
  constructor(options: PassingOptions) {
    const { baseUrl, apiKey, proxy } = options;
    const address = readAddress(baseUrl, apiKey);
    this.host = address.host;
    this.#options = options;
    this.#wire = new Wire(address, apiKey, proxy);
    this.#redact = openRedaction([apiKey, ...address.secrets, ...(proxy?.secrets ?? [])]);
    this.#hasKey = apiKey !== '' && apiKey !== 'EMPTY';
  }

  async call(request: ModelRequest, _attempt: number, abort: AbortSignal): Promise<Attempt> {
    const { callTimeoutMs, path, answers } = this.#options;
    if (abort.aborted) return INTERRUPTED;
    const limits = { firstTokenTimeoutMs: callTimeoutMs, gapTimeoutMs: callTimeoutMs, callTimeoutMs };
    const clocks = startClocks(limits, false, abort, callTimeoutMs);
    answers.delete(request);
    try {
      const prompt = 'prompt' in request ? request.prompt : '';
      const body = Buffer.from(request.maxTokens === undefined ? prompt : withBudget(prompt, request.maxTokens));
      return await this.#read(await this.#wire.post(path, body, clocks.signal), request);
    } catch (error) {
      if (abort.aborted) return INTERRUPTED;
      if (clocks.expired !== undefined) return { status: 'failed', class: 'timeout', reason: clocks.expired };
      return classify({ error }, this.#situation());
    } finally {
      clocks.stop();
    }
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  async #read(response: WireResponse, request: ModelRequest): Promise<Attempt> {
    const { status, headers } = response;
    const text = this.#redact(await readStart(response, MOST_ANSWER));
    const document = parseObject(text);
    const requestId = oneLine(this.#redact(headers.get('x-request-id') ?? ''), 200);
    if (status >= 200 && status <= 299) {
      return document === undefined ? noDocument(headers) : replyOf({ status, requestId, body: text });
    }
    const failure = classify({ status, headers, body: text }, this.#situation());
    // Whatever was said of an error stands in the results; what is no JSON becomes a text there.
    const answer = {
      status,
      requestId,
      body: document === undefined ? JSON.stringify({ error: text.slice(0, 4000) }) : text,
    };
    this.#options.answers.set(request, answer);
    return this.#isOfThisRequest(failure) ? replyOf(answer) : this.#inOtherWords(failure);
  }

  /** Another request may fare better: the server takes this one, but not what stands in it. */
  #isOfThisRequest({ class: kind, stop, down }: AttemptFailure): boolean {
    if (kind === 'context-overflow' || kind === 'refused') return true;
    return kind === 'fatal' && down !== true && (stop === undefined || stop.exitCode === EXIT.usage);
  }

  /** The requests name their model themselves. */
  #inOtherWords(failure: AttemptFailure): AttemptFailure {
    if (!failure.unknownModel) return failure;
    const remedy = `the requests name the model "${oneLine(this.#options.model, 100)}", so serve it under that name`;
    return { ...failure, stop: new UserError(`${this.host}: ${failure.reason}; ${remedy}`, EXIT.unavailable) };
  }

  #situation() {
    const { model, proxy } = this.#options;
    const known = { host: this.host, model, hasKey: this.#hasKey, proxy, redact: this.#redact };
    return { ...known, asked: 'such requests', flagPrefix: 'model', sent: [], nowMs: Date.now() } as const;
  }
}

/** The body with another output budget: a look at the server is to cost next to nothing. */
function withBudget(body: string, tokens: number): string {
  const { max_tokens: _, max_completion_tokens: newer, ...rest } = asObject(parseObject(body));
  return JSON.stringify({ ...rest, [newer === undefined ? 'max_tokens' : 'max_completion_tokens']: tokens });
}

function replyOf(answer: HttpAnswer): Attempt {
  return { status: 'ok', content: JSON.stringify(answer), usage: usageIn(answer.body) };
}

function usageIn(body: string): Usage {
  const { prompt_tokens: prompt, completion_tokens: completion } = asObject(parseObject(body)?.usage);
  return {
    ...(isTokenCount(prompt) && { promptTokens: prompt }),
    ...(isTokenCount(completion) && { completionTokens: completion }),
  };
}

function noDocument(headers: WireResponse['headers']): AttemptFailure {
  const coding = headers.get('content-encoding') ?? '';
  const what = coding === '' || coding === 'identity' ? 'is no JSON object, or not whole' : 'is compressed';
  return { status: 'failed', class: 'malformed', reason: `the answer ${what}` };
}
