// The wire to one server: the openai client over our own transport. The first call loads and opens both.

import { StringDecoder } from 'node:string_decoder';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import type { Address } from './address.js';
import { openTransport, type Transport, type WireResponse, wireResponseOf } from './fetch.js';
import type { HttpProxy } from './proxy.js';

const JSON_BODY = { 'content-type': 'application/json' };

type Client = import('openai').default;

interface Opened {
  readonly client: Client;
  readonly transport: Transport;
}

/** Nothing is loaded before the first request, so that help and refusals stay fast. */
export class Wire {
  #opened: Promise<Opened> | undefined;

  constructor(
    private readonly address: Address,
    private readonly apiKey: string,
    private readonly proxy: HttpProxy | undefined,
  ) {}

  /**
   * Sends a JSON document. It is given as bytes, so that it is held only once while the call lasts. Resolves when the head of the
   * answer has come, whatever its status.
   */
  post(path: string, body: Uint8Array, signal: AbortSignal): Promise<WireResponse> {
    return this.ask((client) => client.post(path, { body, headers: JSON_BODY, signal }));
  }

  /** `path` stands behind the base URL, or is a whole URL. */
  get(path: string, signal: AbortSignal): Promise<WireResponse> {
    return this.ask((client) => client.get(path, { signal }));
  }

  /** Sends what a method of the client asks, and resolves as `post` does. */
  async ask(method: (client: Client) => { asResponse(): Promise<Response> }): Promise<WireResponse> {
    this.#opened ??= openClient(this.address, this.apiKey, this.proxy);
    const { client } = await this.#opened;
    return wireResponseOf(await method(client).asResponse());
  }

  /** Closes all connections. Never rejects: if opening failed, the calls have reported it. */
  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.transport.close();
  }
}

async function openClient(address: Address, apiKey: string, proxy: HttpProxy | undefined): Promise<Opened> {
  const [{ OpenAI }, transport] = await Promise.all([import('openai'), openTransport(proxy)]);
  // The client fills in what is not given from OPENAI_… variables: what belongs to OpenAI must reach no other host.
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
