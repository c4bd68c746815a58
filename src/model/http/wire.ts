// The wire to one server, straight over undici's dispatcher, without its time limits; and `fetch` for downloads.

import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Agent, Dispatcher } from 'undici';
import { openRedaction, type Redact } from '../../core/redaction.js';
import { type Address, type HttpProxy, proxyFor, readAddress } from './address.js';

/** How long it may take to connect. Nothing else is timed here: the endpoint's clocks do that. */
const CONNECT_TIMEOUT_MS = 20_000;

/** Keep-alive, and a connection for each call in flight. Nothing is loaded before the first request, so that help and refusals stay fast. */
export class Wire {
  readonly address: Address;
  readonly secrets: readonly string[];
  readonly redact: Redact;
  readonly hasKey: boolean;
  #opened: Promise<Dispatcher> | undefined;

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
   * Gets what is at a path behind the base URL, or at a whole URL, or posts a body there: bytes, so that it is held only once while the
   * call lasts, or pieces as the server takes them. Resolves when the head of the answer has come, whatever its status. No redirect is
   * followed.
   */
  async send(
    path: string,
    signal: AbortSignal,
    body?: Uint8Array | AsyncIterable<Uint8Array>,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Promise<WireResponse> {
    const { baseUrl, query, basic: authorization = `Bearer ${this.apiKey || 'EMPTY'}` } = this.address;
    const url = new URL(path.startsWith('/') ? baseUrl + path : path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const { request } = await import('undici');
    const options = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: CONNECT_TIMEOUT_MS } };
    this.#opened ??= openDispatcher(this.proxy, options);
    const answered = request(url, {
      dispatcher: await this.#opened,
      method: body === undefined ? 'GET' : 'POST',
      // Some gateways refuse whoever does not name himself. No encoding is asked for, since none is decoded.
      headers: {
        accept: '*/*',
        'accept-encoding': 'identity',
        'user-agent': 'agentworldbench',
        authorization,
        ...(body !== undefined && headers),
      },
      body: body === undefined || body instanceof Uint8Array ? (body ?? null) : Readable.from(body),
      signal,
    });
    // While a connection is being made, undici would not end the call.
    return new WireResponse(await Promise.race([answered, abortOf(signal)]));
  }

  /** Closes all connections; calls still in flight fail. Never rejects: if opening failed, the calls have reported it. */
  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.destroy();
  }
}

/** Opens what sends requests, through a proxy where one is given. */
async function openDispatcher(proxy: HttpProxy | undefined, options: Agent.Options = {}): Promise<Dispatcher> {
  const { Agent, ProxyAgent } = await import('undici');
  if (proxy === undefined) return new Agent(options);
  const { url, authorization: token } = proxy;
  return new ProxyAgent({ ...options, uri: url, ...(token !== undefined && { token }) });
}

/** Rejects when the signal is aborted. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** An answer whose body is still to come. */
export class WireResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly #body: Dispatcher.ResponseData['body'];

  constructor({ statusCode, headers, body }: Dispatcher.ResponseData) {
    this.status = statusCode;
    this.headers = { get: (name) => [headers[name] ?? []].flat().join(', ') || null };
    this.#body = body;
    // Whoever reads it is told.
    body.on('error', () => {});
  }

  /**
   * Hands over the body piece by piece as it arrives; resolves at its end, or when `onData` says false to have no more of it, which
   * closes the connection. Rejects when the connection broke, the call was aborted, or with what `onData` threw.
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
    });
  }
}

/** The start of a body, at most `mostCharacters`: no more is needed. A body that breaks off is taken as far as it came. */
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
 * How files are got: through the proxy that the environment names for an address, directly where it names none. Both methods throw a
 * UserError (2) for a proxy that cannot be used.
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
      // Node's own fetch is undici's, of another version: only the names of their types differ.
      const send = undici.fetch as unknown as (url: URL, init: object) => Promise<Response>;
      return send(url, { ...init, dispatcher: await opened });
    },
    /** The proxy for an address, as people are told of it: `HTTPS_PROXY, proxy:3128`. */
    proxyOf(url: URL): string | undefined {
      const proxy = proxyFor(url.href, env);
      return proxy && `${proxy.variable}, ${proxy.host}`;
    },
  };
}
