// The Files and Batches API of one server, asked with patience: what may pass is tried again, what will not is a refusal.

import type { parseObject } from '../../json.js';
import { openRedaction, type Redact } from '../../redaction.js';
import { type Address, readAddress } from '../http/address.js';
import type { WireResponse } from '../http/fetch.js';
import type { HttpProxy } from '../http/proxy.js';
import { Wire } from '../http/wire.js';
import { type Clock, systemClock } from '../schedule/clock.js';
import { type FileToSend, fileForm } from './file-form.js';
import { type Asked, Patience, readDocument, type TryTo } from './patience.js';
import { readServedBatch, readServedFile, type ServedBatch, type ServedFile } from './served-batch.js';

interface ApiOptions {
  /** The address in front of /files and /batches; with a user name, password or query as other endpoints have them. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly proxy: HttpProxy | undefined;
  /** How long a failure that may pass is tried again. */
  readonly retryMs: number;
  /** The user's interrupt. */
  readonly stop: AbortSignal;
  readonly onNotice: (text: string) => void;
  readonly clock?: Clock;
}

/** What a batch is made of. */
interface NewBatch {
  readonly inputFileId: string;
  /** The path that its requests name. */
  readonly url: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** How many items of a list are looked at, at most: what is looked for is among the latest. */
const MOST_LISTED = 1_000;
const PAGE = 100;
const CONTENT_IDLE_MS = 120_000;
/** Behind the last byte a server may look the file through before it answers. */
const UPLOAD_IDLE_MS = 600_000;

/** Every method throws a UserError where nothing can be done at this place: 69 where nobody answers in time, 130 for an interrupt. */
export class BatchApi {
  readonly host: string;
  /** Without credentials. */
  readonly baseUrl: string;
  readonly #address: Address;
  readonly #wire: Wire;
  readonly #redact: Redact;
  readonly #patience: Patience;

  /** @throws UserError (2) for a base URL or a key that cannot be used */
  constructor({ baseUrl, apiKey, proxy, retryMs, stop, onNotice, clock = systemClock }: ApiOptions) {
    this.#address = readAddress(baseUrl, apiKey);
    this.host = this.#address.host;
    this.baseUrl = this.#address.baseUrl + openQuery(this.#address);
    this.#redact = openRedaction([apiKey, ...this.#address.secrets, ...(proxy?.secrets ?? [])]);
    this.#wire = new Wire(this.#address, apiKey, proxy);
    const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
    const context = {
      host: this.host,
      model: '',
      flagPrefix: '',
      hasKey,
      sent: [],
      proxy,
      redact: this.#redact,
    } as const;
    this.#patience = new Patience({ context, retryMs, stop, onNotice, clock });
  }

  /** Sends a file of requests. `onSent` is told its bytes so far. */
  upload(file: FileToSend, onSent: (bytes: number) => void): Promise<Asked<ServedFile>> {
    return this.#ask({
      asked: 'Files API',
      idleMs: UPLOAD_IDLE_MS,
      send: (signal, alive) => {
        const { headers, body } = fileForm('batch', file);
        const sent = (bytes: number) => {
          alive();
          onSent(bytes);
        };
        return this.#wire.ask((client) => client.post('/files', { body: body(sent), headers, signal }));
      },
      read: async (response) => readServedFile(await readDocument(response)),
    });
  }

  /** The latest of the files of requests for which something holds. */
  findFile(holds: (file: ServedFile) => boolean): Promise<Asked<ServedFile | undefined>> {
    return this.#find('Files API', readServedFile, holds, (query, signal) =>
      this.#wire.ask((client) => client.files.list({ purpose: 'batch', ...query }, { signal })),
    );
  }

  /** What a file is said to be; a refusal where it is not there. */
  file(id: string): Promise<Asked<ServedFile>> {
    return this.#ask({
      asked: 'Files API',
      send: (signal) => this.#wire.ask((client) => client.files.retrieve(id, { signal })),
      read: async (response) => readServedFile(await readDocument(response)),
    });
  }

  /**
   * A file's bytes, given to what `open` returns: that is called for each try anew. The connection is closed once there are more than `most`.
   * @returns how many there were; of a file that is too long, one more than `most` at most is given
   */
  content(id: string, most: number, open: () => Promise<(piece: Uint8Array) => void>): Promise<Asked<number>> {
    return this.#ask({
      asked: 'Files API',
      idleMs: CONTENT_IDLE_MS,
      send: (signal) => this.#wire.ask((client) => client.files.content(id, { signal })),
      read: async (response, alive) => {
        const take = await open();
        let bytes = 0;
        await response.read((piece) => {
          alive();
          const kept = piece.subarray(0, most + 1 - bytes);
          bytes += kept.length;
          take(kept);
          return bytes <= most;
        });
        return bytes;
      },
    });
  }

  /**
   * Makes a batch. Where a try may have made it although no answer came, `found` looks for it before another one.
   */
  create(
    { inputFileId, url, metadata }: NewBatch,
    found: () => Promise<ServedBatch | undefined>,
  ): Promise<Asked<ServedBatch>> {
    // The client names the paths that it knows; the part's own goes out as it is.
    const endpoint = url as '/v1/chat/completions';
    const batch = { input_file_id: inputFileId, endpoint, completion_window: '24h', metadata } as const;
    return this.#ask({
      asked: 'Batches API',
      send: (signal) => this.#wire.ask((client) => client.batches.create(batch, { signal })),
      read: async (response) => this.#batchIn(await readDocument(response)),
      found,
    });
  }

  batch(id: string): Promise<Asked<ServedBatch>> {
    return this.#ask({
      asked: 'Batches API',
      send: (signal) => this.#wire.ask((client) => client.batches.retrieve(id, { signal })),
      read: async (response) => this.#batchIn(await readDocument(response)),
    });
  }

  /** The latest of the batches for which something holds. */
  findBatch(holds: (batch: ServedBatch) => boolean): Promise<Asked<ServedBatch | undefined>> {
    return this.#find(
      'Batches API',
      (value) => this.#batchIn(value),
      holds,
      (query, signal) => this.#wire.ask((client) => client.batches.list(query, { signal })),
    );
  }

  cancel(id: string): Promise<Asked<ServedBatch>> {
    return this.#ask({
      asked: 'Batches API',
      // It has ended meanwhile.
      final: 409,
      send: (signal) => this.#wire.ask((client) => client.batches.cancel(id, { signal })),
      read: async (response) => this.#batchIn(await readDocument(response)),
    });
  }

  /** A text of the user's or of a server's, without the secrets of this connection. */
  redacted(text: string): string {
    return this.#redact(text);
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  #ask<T>(what: TryTo<T>): Promise<Asked<T>> {
    return this.#patience.ask(what);
  }

  #batchIn(value: unknown): ServedBatch | undefined {
    return readServedBatch(value, this.#redact);
  }

  /** Goes through a list page by page, the latest first as servers have it. */
  async #find<T extends { readonly id: string }>(
    asked: string,
    readItem: (value: unknown) => T | undefined,
    holds: (item: T) => boolean,
    send: (query: { limit: number; after?: string }, signal: AbortSignal) => Promise<WireResponse>,
  ): Promise<Asked<T | undefined>> {
    let after: string | undefined;
    for (let seen = 0; seen < MOST_LISTED; ) {
      const query = { limit: PAGE, ...(after !== undefined && { after }) };
      const page = await this.#ask({
        asked,
        send: (signal) => send(query, signal),
        read: async (response) => pageIn(await readDocument(response)),
      });
      if (page.status === 'refused') return page;
      const items = page.value.data.flatMap((value) => readItem(value) ?? []);
      const found = items.find(holds);
      const last = items.at(-1)?.id;
      if (found !== undefined || last === undefined || last === after || !page.value.hasMore) {
        return { status: 'ok', value: found };
      }
      after = last;
      seen += items.length;
    }
    return { status: 'ok', value: undefined };
  }
}

/** What of an address's query is no secret, such as the version of an API: later commands send it along. */
function openQuery({ query, secrets }: Address): string {
  const open = Object.entries(query).filter(([, value]) => !secrets.includes(value));
  return open.length === 0 ? '' : `?${new URLSearchParams(open)}`;
}

function pageIn(value: ReturnType<typeof parseObject>): { data: readonly unknown[]; hasMore: boolean } | undefined {
  return Array.isArray(value?.data) ? { data: value.data, hasMore: value.has_more === true } : undefined;
}
