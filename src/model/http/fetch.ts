// The transport: a `fetch` for the openai client, straight over undici's dispatcher, without its time limits.

import { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import type { HttpProxy } from './proxy.js';

/**
 * What the transport answers: those parts of a `Response` that the openai client looks at, and `read` for the body.
 * `ok` is always true, because the client would keep only the `error` member of an error's body (older vLLM and FastAPI have none):
 * the reader of the body judges the status.
 */
export interface WireResponse {
  readonly ok: true;
  readonly status: number;
  readonly url: string;
  readonly headers: { get(name: string): string | null; entries(): Iterable<[string, string]> };
  /**
   * Hands over the body piece by piece as it arrives; resolves at its end, or when `onData` says false to have no more of it, which
   * closes the connection. Rejects when the connection broke, the call was aborted, or with what `onData` threw.
   */
  read(onData: OnData): Promise<void>;
}

/** Says whether more is wanted. */
type OnData = (piece: Buffer) => boolean;

export interface Transport {
  readonly fetch: typeof fetch;
  /** Closes all connections; calls still in flight fail. */
  close(): Promise<void>;
}

/** How long it may take to connect. Nothing else is timed here: the endpoint's clocks do that. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * Opens a transport: keep-alive, a connection for each call in flight, through the proxy where one is given.
 * Its `fetch` takes a string URL, a body of text, of bytes or of a stream of bytes, `Headers` and one signal per call, follows no
 * redirect and decodes no content encoding (it asks for none).
 */
export async function openTransport(proxy?: HttpProxy): Promise<Transport> {
  const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
  const { default: request } = await import('undici/lib/api/api-request.js');
  const dispatcher = await (proxy === undefined ? openAgent(options) : openProxy(proxy, options));
  const send = async (url: string, init: RequestInit): Promise<WireResponse> => {
    const { origin, pathname, search } = new URL(url);
    const method = init.method === 'POST' ? 'POST' : 'GET';
    const [headers, body, signal] = [headersOf(init), bodyOf(init.body), init.signal ?? NEVER];
    const answered = request.call(dispatcher, { origin, path: pathname + search, method, headers, body, signal });
    // While a connection is being made, undici would not end the call.
    return new Answer(url, await Promise.race([answered, abortOf(signal)]).catch(notAborted(signal)), signal);
  };
  // The client looks at no more of a response than `WireResponse` has, and calls it in no other way than described above.
  return { fetch: send as unknown as typeof fetch, close: () => dispatcher.destroy() };
}

async function openAgent(options: Agent.Options): Promise<Dispatcher> {
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent(options);
}

/** Opens what sends requests through a proxy. */
export async function openProxy({ url, authorization }: HttpProxy, options: Agent.Options = {}): Promise<Dispatcher> {
  const { ProxyAgent } = await import('undici');
  return new ProxyAgent({ ...options, uri: url, ...(authorization !== undefined && { token: authorization }) });
}

/** The answer that the client was given by our transport. @throws TypeError for any other */
export function wireResponseOf(response: object): WireResponse {
  if (response instanceof Answer) return response;
  throw new TypeError('the response is not of this transport');
}

/** A stream is read as the server takes it, and closed where the request fails. */
function bodyOf(body: RequestInit['body']): string | Uint8Array | Readable | null {
  if (body === null || body === undefined) return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (!(body instanceof ReadableStream)) throw new TypeError('a body is text, bytes or a stream');
  // Node has one kind of stream of the web: only the names of its types differ.
  return Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]);
}

/** The client's own telemetry is left out: no server needs it. */
function headersOf(init: RequestInit): Record<string, string> {
  const headers: Record<string, string> = {};
  const given = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
  for (const [name, value] of given) {
    if (!name.startsWith('x-stainless-')) headers[name] = value;
  }
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
 * Throws what a call came to, but for an abort of somebody else under another name: the client takes any error named `AbortError` for
 * its own abort and drops its message, and a proxy's refusal has that name, too.
 */
function notAborted(signal: AbortSignal): (error: unknown) => never {
  return (error) => {
    const isStrange = error instanceof Error && error.name === 'AbortError' && !signal.aborted;
    throw isStrange ? new Error(error.message, { cause: error }) : error;
  };
}

/** undici's answer as a `WireResponse`. */
class Answer implements WireResponse {
  readonly ok = true;
  readonly status: number;
  readonly #body: Dispatcher.ResponseData['body'];
  readonly #fields: Dispatcher.ResponseData['headers'];

  constructor(
    readonly url: string,
    { statusCode, headers, body }: Dispatcher.ResponseData,
    private readonly signal: AbortSignal,
  ) {
    this.status = statusCode;
    this.#fields = headers;
    this.#body = body;
    // Whoever reads it is told.
    body.on('error', () => {});
  }

  get headers(): WireResponse['headers'] {
    const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);
    return {
      get: (name) => text(this.#fields[name.toLowerCase()]) ?? null,
      entries: () => Object.entries(this.#fields).map(([name, value]) => [name, text(value) ?? '']),
    };
  }

  read(onData: OnData): Promise<void> {
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
