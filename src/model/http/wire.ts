// The connection to one server: the openai client directly over undici's dispatcher, without its time limits; and `fetch` for downloads.

import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Agent, Dispatcher } from 'undici';
import { openRedaction, type Redact } from '../../core/redaction.js';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import { type Address, type HttpProxy, proxyFor, readAddress } from './address.js';

/** How long connecting may take. Nothing else is timed here: the endpoint's clocks do that. */
const CONNECT_TIMEOUT_MS = 20_000;

/** Nothing is loaded before the first request, so that help and refusals stay fast. */
export class Wire {
  readonly address: Address;
  readonly secrets: readonly string[];
  readonly redact: Redact;
  readonly hasKey: boolean;
  #opened: ReturnType<typeof openClient> | undefined;

  /**
   * @param apiKey empty sends `Bearer EMPTY`
   * @param others further secrets that are sent
   * @throws UserError (2) for a base URL or a key that cannot be used
   */
  constructor(
    baseUrl: string,
    private readonly apiKey: string,
    readonly proxy: HttpProxy | undefined,
    others: readonly string[] = [],
  ) {
    this.address = readAddress(baseUrl, apiKey);
    this.secrets = [apiKey, ...this.address.secrets, ...(proxy?.secrets ?? []), ...others];
    this.redact = openRedaction(this.secrets);
    this.hasKey = apiKey !== '' && apiKey !== 'EMPTY';
  }

  /**
   * Gets what is at a path after the base URL, or at a complete URL, or posts a body there: bytes, so that only one copy exists during
   * the call, or pieces at the server's pace. Resolves when the head of the answer arrives, with any status. Redirects are not
   * followed.
   */
  async send(
    path: string,
    signal: AbortSignal,
    body?: Uint8Array | AsyncIterable<Uint8Array>,
    headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' },
  ): Promise<WireResponse> {
    this.#opened ??= openClient(this.address, this.apiKey, this.proxy);
    const { client } = await this.#opened;
    const asked =
      body === undefined ? client.get(path, { headers, signal }) : client.post(path, { body, headers, signal });
    const response: unknown = await asked.asResponse();
    if (response instanceof WireResponse) return response;
    throw new TypeError('the response is not of this transport');
  }

  /** Closes all connections; calls still in flight fail. Never rejects: if opening failed, the calls have reported it. */
  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.dispatcher.destroy();
  }
}

/** Keep-alive, with one connection for each call in flight, through the proxy if one is given. */
async function openClient(address: Address, apiKey: string, proxy: HttpProxy | undefined) {
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
  const [{ OpenAI }, { request }, dispatcher] = await Promise.all([
    import('openai'),
    import('undici'),
    openDispatcher(proxy, options),
  ]);
  const send = async (url: string, init: RequestInit): Promise<WireResponse> => {
    const method = init.method === 'POST' ? 'POST' : 'GET';
    const [headers, body, signal] = [headersOf(init), bodyOf(init.body), init.signal ?? NEVER];
    const answered = request(url, { dispatcher, method, headers, body, signal });
    // undici does not abort a call whose connection is still being opened.
    return new WireResponse(url, await Promise.race([answered, abortOf(signal)]).catch(notAborted(signal)), signal);
  };
  // The client fills in missing values from OPENAI_… variables: those must reach no host other than OpenAI's.
  const strangers = address.host === 'api.openai.com' ? {} : { organization: null, project: null };
  const client = new OpenAI({
    apiKey: apiKey === '' ? 'EMPTY' : apiKey,
    adminAPIKey: null,
    webhookSecret: null,
    ...strangers,
    baseURL: address.baseUrl,
    defaultQuery: address.query,
    ...(address.basic !== undefined && { defaultHeaders: { authorization: address.basic } }),
    // The client uses no more of a response than `WireResponse` has, and passes a URL as text, and one signal per call.
    fetch: send as unknown as typeof fetch,
    maxRetries: 0,
    timeout: LONGEST_TIMER_MS,
    logLevel: 'off',
  });
  return { client, dispatcher };
}

/** Opens the dispatcher of requests, with a proxy if one is given. */
async function openDispatcher(proxy: HttpProxy | undefined, options: Agent.Options = {}): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import('undici');
  if (proxy === undefined) return new Agent(options);
  const { url, authorization: token } = proxy;
  return new ProxyAgent({ ...options, uri: url, ...(token !== undefined && { token }) });
}

/** A stream is read at the server's pace, and closed if the request fails. */
function bodyOf(body: RequestInit['body']): string | Uint8Array | Readable | null {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (!(body instanceof ReadableStream)) throw new TypeError('a body is text, bytes or a stream');
  // Node has one kind of web stream: only the names of its types differ.
  return Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]);
}

/** The client's own telemetry is left out: no server needs it. No content encoding is requested, since none is decoded. */
function headersOf(init: RequestInit): Record<string, string> {
  const given = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
  const headers: Record<string, string> = {};
  for (const [name, value] of given) if (!name.startsWith('x-stainless-')) headers[name] = value;
  headers['accept-encoding'] = 'identity';
  return headers;
}

const NEVER = new AbortController().signal;

/** Rejects when the signal is aborted. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/**
 * Rethrows an error, but renames a foreign abort: the client mistakes any error named `AbortError` for its own abort and drops its
 * message, and a proxy's refusal has that name, too.
 */
function notAborted(signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    const isStrange = error instanceof Error && error.name === 'AbortError' && !signal.aborted;
    throw isStrange ? new Error(error.message, { cause: error }) : error;
  };
}

/** An answer: the parts of a `Response` that the openai client uses, and `read` for the body. */
export class WireResponse {
  /**
   * The client would keep only the `error` member of an error's body (older vLLM and FastAPI have none), so the reader judges the
   * status.
   */
  readonly ok = true;
  readonly status: number;
  readonly headers: { get(name: string): string | null; entries(): Iterable<[string, string]> };
  readonly #body: Dispatcher.ResponseData['body'];

  constructor(
    readonly url: string,
    { statusCode, headers, body }: Dispatcher.ResponseData,
    private readonly signal: AbortSignal,
  ) {
    const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);
    this.status = statusCode;
    this.headers = {
      get: (name) => text(headers[name.toLowerCase()]) ?? null,
      entries: () => Object.entries(headers).map(([name, value]) => [name, text(value) ?? '']),
    };
    this.#body = body;
    // The reader receives the error, too.
    body.on('error', () => {});
  }

  /**
   * Passes on the body piece by piece as it arrives; resolves at its end, or when `onData` returns false to stop, which closes the
   * connection. Rejects if the connection broke, the call was aborted, or `onData` threw.
   */
  read(onData: (piece: Buffer) => boolean): Promise<void> {
    const body = this.#body;
    return new Promise<void>((resolve, reject) => {
      body.on('end', resolve);
      body.on('error', reject);
      if (body.errored) reject(body.errored);
      body.on('data', (piece: Buffer) => {
        try {
          if (onData(piece)) return;
          resolve();
        } catch (error) {
          reject(error);
        }
        body.destroy();
      });
    }).catch(notAborted(this.signal));
  }
}

/** The start of a body, at most `mostCharacters`. A body that breaks off is returned as far as it arrived. */
export async function readStart(response: WireResponse, mostCharacters: number): Promise<string> {
  const decoder = new StringDecoder('utf8');
  let text = '';
  const onData = (piece: Buffer) => {
    text += decoder.write(piece);
    return text.length < mostCharacters;
  };
  await response.read(onData).catch(() => {});
  return text.slice(0, mostCharacters);
}

/**
 * How files are downloaded: through the proxy that the environment names for an address, or directly if it names none. Both methods
 * throw a UserError (2) for a proxy that cannot be used.
 */
export function proxiedDownloads(env: Readonly<Record<string, string | undefined>>) {
  const dispatchers = new Map<string, Promise<Dispatcher>>();
  return {
    async fetch(url: URL, init: RequestInit): Promise<Response> {
      const proxy = proxyFor(url.href, env);
      if (proxy === undefined) return fetch(url, init);
      const undici = await import('undici');
      const opened = dispatchers.get(proxy.url) ?? openDispatcher(proxy);
      dispatchers.set(proxy.url, opened);
      // Node's own fetch is undici's in another version: only the names of their types differ.
      const send = undici.fetch as unknown as (url: URL, init: object) => Promise<Response>;
      return send(url, { ...init, dispatcher: await opened });
    },
    /** The proxy for an address, for messages: `HTTPS_PROXY, proxy:3128`. */
    proxyOf(url: URL): string | undefined {
      const proxy = proxyFor(url.href, env);
      return proxy && `${proxy.variable}, ${proxy.host}`;
    },
  };
}
