// The transport: a `fetch` for the openai client, straight over undici's dispatcher, without its time limits.

import { Readable } from 'node:stream';
import type { Agent, Dispatcher, ProxyAgent } from 'undici';
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
  const dispatcher = await (proxy === undefined
    ? openAgent(options)
    : openProxyAgent({ ...options, ...accessTo(proxy) }));
  const send = (url: string, init: RequestInit): Promise<WireResponse> => dispatch(dispatcher, url, init);
  // The client looks at no more of a response than `WireResponse` has, and calls it in no other way than described above.
  return { fetch: send as unknown as typeof fetch, close: () => dispatcher.destroy() };
}

async function openAgent(options: Agent.Options): Promise<Dispatcher> {
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent(options);
}

async function openProxyAgent(options: ProxyAgent.Options): Promise<Dispatcher> {
  const { ProxyAgent } = await import('undici');
  return new ProxyAgent(options);
}

/** The answer that the client was given by our transport. @throws TypeError for any other */
export function wireResponseOf(response: object): WireResponse {
  if (response instanceof Answer) return response;
  throw new TypeError('the response is not of this transport');
}

function accessTo({ url, authorization }: HttpProxy): { uri: string; token?: string } {
  return { uri: url, ...(authorization !== undefined && { token: authorization }) };
}

function dispatch(dispatcher: Dispatcher, url: string, init: RequestInit): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const answer = new Answer(url, resolve, reject, init.signal ?? undefined);
    const { origin, pathname, search } = new URL(url);
    const method = init.method === 'POST' ? 'POST' : 'GET';
    const headers = headersOf(init);
    const request = { origin, path: pathname + search, method, headers, body: bodyOf(init.body) } as const;
    dispatcher.dispatch(request, answer);
  });
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

/** The client takes any error named `AbortError` for its own abort and drops its message; a proxy's refusal has that name, too. */
function notAborted(error: unknown): unknown {
  const isAbort = error instanceof Error && error.name === 'AbortError';
  return isAbort ? new Error(error.message, { cause: error }) : error;
}

interface Reader {
  readonly onData: OnData;
  resolve(): void;
  reject(error: unknown): void;
}

/** There is no error when the body ended, or when no more of it was wanted. */
interface Ended {
  readonly error?: unknown;
}

/** One request and its answer: undici's handler on one side, a `WireResponse` on the other. */
class Answer implements Dispatcher.DispatchHandler, WireResponse {
  readonly ok = true;
  readonly url: string;
  status = 0;
  readonly #resolve: (response: WireResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#abort();
  #controller: Dispatcher.DispatchController | undefined;
  #fields: Record<string, string | string[] | undefined> = {};
  /** Pieces that came before `read` was called. */
  #early: Buffer[] = [];
  #reader: Reader | undefined;
  #ended: Ended | undefined;

  constructor(
    url: string,
    resolve: (response: WireResponse) => void,
    reject: (error: unknown) => void,
    signal: AbortSignal | undefined,
  ) {
    this.url = url;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal?.aborted) this.#abort();
  }

  onResponseStart(_controller: unknown, status: number, fields: Record<string, string | string[] | undefined>): void {
    if (status < 200) return;
    this.status = status;
    this.#fields = fields;
    this.#resolve(this);
  }

  onResponseData(_controller: unknown, piece: Buffer): void {
    if (this.#ended !== undefined) return;
    if (this.#reader === undefined) this.#early.push(piece);
    else this.#give(piece, this.#reader);
  }

  onResponseEnd(): void {
    this.#end({});
  }

  onResponseError(_controller: unknown, error: unknown): void {
    this.#end({ error: this.#signal?.aborted ? error : notAborted(error) });
  }

  get headers(): WireResponse['headers'] {
    const fields = this.#fields;
    const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);
    return {
      get: (name) => text(fields[name.toLowerCase()]) ?? null,
      entries: () => Object.entries(fields).map(([name, value]) => [name, text(value) ?? '']),
    };
  }

  read(onData: OnData): Promise<void> {
    return new Promise((resolve, reject) => {
      const reader = { onData, resolve, reject };
      this.#reader = reader;
      this.#early.every((piece) => this.#give(piece, reader));
      this.#early = [];
      if (this.#ended === undefined) return;
      if ('error' in this.#ended) reject(this.#ended.error);
      else resolve();
    });
  }

  /** Hands over a piece; false when no more is wanted. */
  #give(piece: Buffer, reader: Reader): boolean {
    try {
      if (reader.onData(piece)) return true;
      reader.resolve();
      this.#close({});
    } catch (error) {
      reader.reject(error);
      this.#close({ error });
    }
    return false;
  }

  #close(how: Ended): void {
    this.#end(how);
    this.#controller?.abort(new Error('no more of the body is wanted'));
  }

  #abort(): void {
    const reason = this.#signal?.reason ?? new Error('aborted');
    // There is no controller before the connection is made: the call ends now, and the request as soon as it starts.
    if (this.#controller === undefined) this.#end({ error: reason });
    else this.#controller.abort(reason);
  }

  #end(how: Ended): void {
    if (this.#ended !== undefined) return;
    this.#ended = how;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    if ('error' in how) {
      this.#reject(how.error);
      this.#reader?.reject(how.error);
    } else {
      this.#reader?.resolve();
    }
  }
}
