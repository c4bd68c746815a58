// An endpoint that is sent the bodies of a batch as they are, and whose answers are kept as they come.

import { randomBytes } from 'node:crypto';
import { isTokenCount } from '../../core/costs.js';
import { EXIT, unavailable } from '../../core/errors.js';
import { asObject, parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import { openRedaction, type Redact } from '../../core/redaction.js';
import type { ModelRequest, Usage } from '../../core/types.js';
import { type Attempt, type AttemptFailure, INTERRUPTED } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { classify } from '../failures/classify.js';
import { type HttpProxy, readAddress } from '../http/address.js';
import { startClocks } from '../http/time-limits.js';
import { readStart, Wire, type WireResponse } from '../http/wire.js';

/** An answer over HTTP, whatever its status. */
export interface HttpAnswer {
  readonly status: number;
  /** Empty where the server names none. */
  readonly requestId: string;
  /** A JSON document, as it came. */
  readonly body: string;
}

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
  /** What the latest try of a request was answered; absent where nothing came. */
  readonly answers: WeakMap<ModelRequest, HttpAnswer>;
}

/** Longest answer that is kept, in characters. */
const MOST_ANSWER = 2 ** 27;

/** Whether a request was answered by a reply. */
export function isReply(answer: HttpAnswer | undefined): boolean {
  return answer !== undefined && answer.status >= 200 && answer.status <= 299;
}

/** A line of results as OpenAI writes it. The body's bytes are the server's own, but for line ends between its members. */
export function resultLine(customId: string, outcome: HttpAnswer | { code: string; message: string }): Buffer {
  const head = `{"id":"batch_req_${randomBytes(12).toString('hex')}","custom_id":${JSON.stringify(customId)}`;
  if ('code' in outcome) return Buffer.from(`${head},"response":null,"error":${JSON.stringify(outcome)}}\n`);
  const { status, requestId, body } = outcome;
  // Within a JSON text a line end stands between its tokens alone.
  const line = body.replace(/[\r\n]+/g, ' ').trim();
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${line}}`;
  return Buffer.from(`${head},"response":${response},"error":null}\n`);
}

/**
 * A request's body is its prompt here. An answer that settles its request is a reply, a refusal of this very request among them. What may
 * pass is a failure, as elsewhere, and what would meet every other request as well stops the run.
 */
export class PassingEndpoint implements Endpoint {
  readonly host: string;
  readonly #wire: Wire;
  readonly #redact: Redact;

  /** @throws UserError (2) for a base URL or a key that cannot be used */
  constructor(private readonly options: PassingOptions) {
    const { baseUrl, apiKey, proxy } = options;
    const address = readAddress(baseUrl, apiKey);
    this.host = address.host;
    this.#wire = new Wire(address, apiKey, proxy);
    this.#redact = openRedaction([apiKey, ...address.secrets, ...(proxy?.secrets ?? [])]);
  }

  async call(request: ModelRequest, _attempt: number, abort: AbortSignal): Promise<Attempt> {
    const { callTimeoutMs, path, answers } = this.options;
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
    const isGood = status >= 200 && status <= 299;
    if (isGood && document === undefined) {
      return { status: 'failed', class: 'malformed', reason: 'the answer is no JSON object, or not whole' };
    }
    const requestId = oneLine(this.#redact(headers.get('x-request-id') ?? ''), 200);
    // Whatever was said of an error stands in the results; what is no JSON becomes a text there.
    const body = document === undefined ? JSON.stringify({ error: text.slice(0, 4000) }) : text;
    this.options.answers.set(request, { status, requestId, body });
    const failure = isGood ? undefined : classify({ status, headers, body: text }, this.#situation());
    if (failure !== undefined && !isOfThisRequest(failure)) return this.#inOtherWords(failure);
    return { status: 'ok', content: body, usage: usageIn(document) };
  }

  /** The requests name their model themselves. */
  #inOtherWords(failure: AttemptFailure): AttemptFailure {
    if (!failure.unknownModel) return failure;
    const remedy = `the requests name the model "${oneLine(this.options.model, 100)}", so serve it under that name`;
    return { ...failure, stop: unavailable(`${this.host}: ${failure.reason}; ${remedy}`) };
  }

  #situation() {
    const { model, proxy, apiKey } = this.options;
    const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
    const known = { host: this.host, model, hasKey, proxy, redact: this.#redact };
    return { ...known, asked: 'such requests', flagPrefix: 'model', sent: [], nowMs: Date.now() } as const;
  }
}

/** Another request may fare better: the server takes this one, but not what stands in it. */
function isOfThisRequest({ class: kind, stop, down }: AttemptFailure): boolean {
  if (kind === 'context-overflow' || kind === 'refused') return true;
  return kind === 'fatal' && down !== true && (stop === undefined || stop.exitCode === EXIT.usage);
}

/** The body with another output budget: a look at the server is to cost next to nothing. */
function withBudget(body: string, tokens: number): string {
  const { max_tokens: _, max_completion_tokens: newer, ...rest } = asObject(parseObject(body));
  return JSON.stringify({ ...rest, [newer === undefined ? 'max_tokens' : 'max_completion_tokens']: tokens });
}

function usageIn(document: ReturnType<typeof parseObject>): Usage {
  const { prompt_tokens: prompt, completion_tokens: completion } = asObject(document?.usage);
  return {
    ...(isTokenCount(prompt) && { promptTokens: prompt }),
    ...(isTokenCount(completion) && { completionTokens: completion }),
  };
}
