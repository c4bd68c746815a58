// The Files and Batches API of one server, asked with patience: what may pass is tried again, what will not is a refusal.

import { randomBytes } from 'node:crypto';
import { EXIT, interruption, UserError } from '../../core/errors.js';
import { type JsonObject, parseObject } from '../../core/json.js';
import { openRedaction, type Redact } from '../../core/redaction.js';
import type { FailureClass } from '../../core/types.js';
import type { AttemptFailure } from '../attempt.js';
import { classify } from '../failures/classify.js';
import { readError } from '../failures/error-body.js';
import { type Address, type HttpProxy, readAddress } from '../http/address.js';
import { readStart, Wire, type WireResponse } from '../http/wire.js';
import { systemClock } from '../schedule/pace.js';
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
}

/** A file to be sent. Its bytes are read when they are sent, each time anew. */
export interface FileToSend {
  readonly name: string;
  readonly bytes: number;
  read(): AsyncIterable<Uint8Array>;
}

/** What a batch is made of. */
interface NewBatch {
  readonly inputFileId: string;
  /** The path that its requests name. */
  readonly url: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What came of a question: an answer, or a refusal that no other try would change. */
type Asked<T> = { readonly status: 'ok'; readonly value: T } | ({ readonly status: 'refused' } & Refusal);

interface Refusal {
  /** The HTTP status. */
  readonly http: number;
  /** What was said, in words. */
  readonly reason: string;
  /** A limit on what may wait at once: there is room again later. */
  readonly isFull: boolean;
  /** Ends the command where nobody makes anything of the refusal. */
  readonly stop: UserError;
}

/** A question. */
interface TryTo<T> {
  /** What is asked for, in words. */
  readonly asked: 'Files API' | 'Batches API';
  /** Longest silence; `alive` ends one. */
  readonly idleMs?: number;
  send(signal: AbortSignal, alive: () => void): Promise<WireResponse>;
  /** Undefined where the answer is not what was asked for. */
  read(response: WireResponse, alive: () => void): Promise<T | undefined>;
  /** A status that is a refusal here, although it may pass elsewhere. */
  readonly final?: number;
  /** Looks, before another try, whether a try without an answer had its effect. */
  found?(): Promise<T | undefined>;
}

type Tried<T> = Asked<T> | { readonly status: 'passing'; readonly failure: AttemptFailure };

/** How many items of a list are looked at, at most: what is looked for is among the latest. */
const MOST_LISTED = 1_000;
const PAGE = 100;
const IDLE_MS = 120_000;
/** Behind the last byte a server may look the file through before it answers. */
const UPLOAD_IDLE_MS = 600_000;
const PASSING: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
const MOST_ERROR_TEXT = 65_536;
/** A page of a hundred batches has some hundred kilobytes. */
const MOST_DOCUMENT = 2 ** 25;
/** As OpenAI and Azure say it, with and without the code. */
const FULL = /token_limit_exceeded|enqueued[ _]token/i;

/** Whether a code or a sentence says that too many tokens wait already. */
export function saysFull(text: string): boolean {
  return FULL.test(text);
}

/** What an interrupt ends a command with that has everything on the disk. */
export function interrupted(stop: AbortSignal): UserError {
  return new UserError('interrupted; the same command goes on where this one ended', interruption(stop));
}

/** Every method throws a UserError where nothing can be done at this place: 69 where nobody answers in time, 130 for an interrupt. */
export class BatchApi {
  readonly host: string;
  /** Without credentials. */
  readonly baseUrl: string;
  readonly #options: ApiOptions;
  readonly #wire: Wire;
  readonly #redact: Redact;
  /** The latest failure that was told. */
  #told: string | undefined;

  /** @throws UserError (2) for a base URL or a key that cannot be used */
  constructor(options: ApiOptions) {
    const { baseUrl, apiKey, proxy } = options;
    const address = readAddress(baseUrl, apiKey);
    this.#options = options;
    this.host = address.host;
    this.baseUrl = address.baseUrl + openQuery(address);
    this.#redact = openRedaction([apiKey, ...address.secrets, ...(proxy?.secrets ?? [])]);
    this.#wire = new Wire(address, apiKey, proxy);
  }

  /** Sends a file of requests. `onSent` is told its bytes so far. */
  upload(file: FileToSend, onSent: (bytes: number) => void): Promise<Asked<ServedFile>> {
    return this.#ask({
      asked: 'Files API',
      idleMs: UPLOAD_IDLE_MS,
      send: (signal, alive) => {
        const { headers, body } = formOf(file, (bytes) => {
          alive();
          onSent(bytes);
        });
        return this.#wire.ask((client) => client.post('/files', { body, headers, signal }));
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
    return this.#askForBatch({
      send: (signal) => this.#wire.ask((client) => client.batches.create(batch, { signal })),
      found,
    });
  }

  batch(id: string): Promise<Asked<ServedBatch>> {
    return this.#askForBatch({
      send: (signal) => this.#wire.ask((client) => client.batches.retrieve(id, { signal })),
    });
  }

  /** The latest of the batches for which something holds. */
  findBatch(holds: (batch: ServedBatch) => boolean): Promise<Asked<ServedBatch | undefined>> {
    const read = (value: unknown) => readServedBatch(value, this.#redact);
    return this.#find('Batches API', read, holds, (query, signal) =>
      this.#wire.ask((client) => client.batches.list(query, { signal })),
    );
  }

  cancel(id: string): Promise<Asked<ServedBatch>> {
    return this.#askForBatch({
      // It has ended meanwhile.
      final: 409,
      send: (signal) => this.#wire.ask((client) => client.batches.cancel(id, { signal })),
    });
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  #askForBatch(what: Omit<TryTo<ServedBatch>, 'asked' | 'read'>): Promise<Asked<ServedBatch>> {
    return this.#ask({
      asked: 'Batches API',
      read: async (response) => readServedBatch(await readDocument(response), this.#redact),
      ...what,
    });
  }

  /** Goes through a list page by page, the latest first as servers have it. */
  async #find<T extends { readonly id: string }>(
    asked: TryTo<T>['asked'],
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
        read: async (response) => {
          const document = await readDocument(response);
          return Array.isArray(document?.data) ? { data: document.data, hasMore: document.has_more } : undefined;
        },
      });
      if (page.status === 'refused') return page;
      const items = page.value.data.flatMap((value) => readItem(value) ?? []);
      const found = items.find(holds);
      const last = items.at(-1)?.id;
      if (found !== undefined || last === undefined || last === after || page.value.hasMore !== true) {
        return { status: 'ok', value: found };
      }
      after = last;
      seen += items.length;
    }
    return { status: 'ok', value: undefined };
  }

  /** Tries again for as long as failures may pass. @throws UserError 69 where no answer came in time, 130 or 143 for an interrupt */
  async #ask<T>(what: TryTo<T>): Promise<Asked<T>> {
    const { retryMs, stop } = this.#options;
    const { now, sleep } = systemClock;
    const since = now();
    for (let failures = 0; ; failures++) {
      if (stop.aborted) throw interrupted(stop);
      const tried = await this.#askOnce(what);
      if (tried.status !== 'passing') {
        this.#told = undefined;
        return tried;
      }
      const { failure } = tried;
      const leftMs = since + retryMs - now();
      const { retryAfterMs = 0 } = failure;
      if (leftMs <= 0 || retryAfterMs > leftMs) throw this.#givenUp(failure);
      this.#tell(failure);
      const jitterMs = (0.5 + Math.random() / 2) * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
      await sleep(Math.min(retryAfterMs + jitterMs, leftMs), stop);
      if (stop.aborted) throw interrupted(stop);
      // What was not reached, or turned away at the door, has had no effect.
      const isUnheard = failure.class === 'rate-limit' || failure.unreachable === true;
      const found = isUnheard ? undefined : await what.found?.();
      if (found !== undefined) return { status: 'ok', value: found };
    }
  }

  async #askOnce<T>({ asked, idleMs = IDLE_MS, send, read, final }: TryTo<T>): Promise<Tried<T>> {
    const { stop } = this.#options;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), idleMs);
    const alive = () => void timer.refresh();
    const passing = (reason: string): Tried<T> => ({
      status: 'passing',
      failure: { status: 'failed', class: 'transient', reason },
    });
    try {
      const response = await send(AbortSignal.any([stop, silence.signal]), alive);
      const { status, headers } = response;
      if (status < 200 || status > 299) {
        const body = await readStart(response, MOST_ERROR_TEXT);
        const isFull = saysFull(readError(body).text);
        const failure = classify({ status, headers, body }, this.#situation(asked));
        if (PASSING.has(failure.class) && !isFull && status !== final) return { status: 'passing', failure };
        return { status: 'refused', http: status, reason: failure.reason, isFull, stop: this.#stopOf(failure) };
      }
      const value = await read(response, alive);
      return value === undefined ? passing(`its answer is no answer of a ${asked}`) : { status: 'ok', value };
    } catch (error) {
      if (stop.aborted) throw interrupted(stop);
      if (error instanceof UserError) throw error;
      if (silence.signal.aborted) return passing(`no answer within ${idleMs / 1000} s`);
      const failure = classify({ error }, this.#situation(asked));
      if (PASSING.has(failure.class)) return { status: 'passing', failure };
      throw this.#stopOf(failure);
    } finally {
      clearTimeout(timer);
    }
  }

  #situation(asked: string) {
    const { apiKey, proxy } = this.#options;
    const hasKey = apiKey !== '' && apiKey !== 'EMPTY';
    const known = { host: this.host, hasKey, proxy, redact: this.#redact, asked, nowMs: Date.now() };
    return { ...known, model: '', flagPrefix: '', sent: [] } as const;
  }

  #stopOf({ stop, reason }: AttemptFailure): UserError {
    return stop ?? new UserError(`${this.host}: ${reason}`, EXIT.unavailable);
  }

  #givenUp({ reason }: AttemptFailure): UserError {
    const minutes = Math.round(this.#options.retryMs / 6_000) / 10;
    return new UserError(
      `${this.host}: ${reason}; tried for ${minutes} min (--retry-minutes). Nothing is lost: the same command goes on where this one ended`,
      EXIT.unavailable,
    );
  }

  #tell({ reason }: AttemptFailure): void {
    if (this.#told === reason) return;
    this.#told = reason;
    this.#options.onNotice(`${this.host}: ${reason}; trying again`);
  }
}

/**
 * A file as a form (RFC 7578) with its purpose, sent piece by piece with its length in advance. The client's own form has no length and
 * goes out in chunks, which gateways in front of some servers do not take. `onSent` is told the bytes of the file that were handed over.
 */
function formOf(file: FileToSend, onSent: (bytes: number) => void) {
  const boundary = `awb-${randomBytes(16).toString('hex')}`;
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n` +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${file.name}"\r\n` +
      'Content-Type: application/jsonl\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const body = async function* () {
    yield head;
    let sent = 0;
    for await (const piece of file.read()) {
      yield piece;
      sent += piece.length;
      onSent(sent);
    }
    yield tail;
  };
  const headers = {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(head.length + file.bytes + tail.length),
  };
  return { headers, body: body() };
}

/** What of an address's query is no secret, such as the version of an API: later commands send it along. */
function openQuery({ query, secrets }: Address): string {
  const open = Object.entries(query).filter(([, value]) => !secrets.includes(value));
  return open.length === 0 ? '' : `?${new URLSearchParams(open)}`;
}

/** The JSON object of an answer; undefined where it is none, or not whole. */
async function readDocument(response: WireResponse): Promise<JsonObject | undefined> {
  return parseObject(await readStart(response, MOST_DOCUMENT));
}
