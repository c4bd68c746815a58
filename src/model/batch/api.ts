// The Files and Batches API of one server, used with patience: transient failures are retried, and lasting refusals are thrown.

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { EXIT, interruption, UserError, unavailable } from '../../core/errors.js';
import { parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import type { Redact } from '../../core/redaction.js';
import { type AttemptFailure, TRIED_AGAIN } from '../attempt.js';
import { classify, type Evidence } from '../failures/classify.js';
import { readError } from '../failures/rules.js';
import type { HttpProxy } from '../http/address.js';
import { readStart, Wire, type WireResponse } from '../http/wire.js';
import { systemClock } from '../schedule/pace.js';

/** A file to send. Its bytes are read anew for every try. */
type FileToSend = Readonly<{ name: string; bytes: number; read: () => AsyncIterable<Uint8Array> }>;

/** A refusal that no retry would change. It ends the command unless it is handled. */
export class Refused extends UserError {
  /** What the server said. */
  readonly reason: string;

  /**
   * @param http the HTTP status
   * @param isFull for a limit on what may wait at the same time: a later try may succeed
   */
  constructor(
    host: string,
    { stop, reason }: AttemptFailure,
    readonly http: number,
    readonly isFull: boolean,
  ) {
    super(stop?.message ?? `${host}: ${reason}`, stop?.exitCode ?? EXIT.unavailable);
    this.reason = reason;
  }
}

type Send = (signal: AbortSignal, alive: () => void) => Promise<WireResponse>;
/** Returns undefined if the answer is not what was asked for. */
type Read<T> = (response: WireResponse, alive: () => void) => Promise<T | undefined>;
type Found<T> = () => Promise<T | undefined>;

/** The most items of a list to look at: the wanted one is among the latest. */
const MOST_LISTED = 1_000;
const PAGE = 100;
/** The longest silence: after a file's last byte, a server may check it before it answers. */
const IDLE_MS = 600_000;
/** What is asked for, in words. */
const ASKED = 'Files and Batches API';
/** Transient when a model is asked; here it means that the batch has ended in the meantime. */
const CONFLICT = 409;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
const MOST_ERROR_TEXT = 65_536;
/** A page of a hundred batches has a few hundred kilobytes. */
const MOST_DOCUMENT = 2 ** 25;
/** In the words of OpenAI and Azure, with and without the code. */
const FULL = /token_limit_exceeded|enqueued[ _]token/i;

/** Whether a code or a sentence says that too many tokens are waiting already. */
export const saysFull = (text: string): boolean => FULL.test(text);

/** The error for an interrupt of a command that has everything on the disk. */
export function interrupted(stop: AbortSignal): UserError {
  return new UserError('interrupted; run the same command again to continue', interruption(stop));
}

/**
 * Every method throws `Refused`, and a UserError of 69 if nobody answers in time, or of 130 or 143 for an interrupt.
 * @param server the address before /files and /batches; with a user name, password or query as for other endpoints
 * @param retryMs how long to retry a failure that may pass
 * @param stop the user's interrupt
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function openBatchApi(
  { baseUrl, apiKey, proxy }: Readonly<{ baseUrl: string; apiKey: string; proxy: HttpProxy | undefined }>,
  retryMs: number,
  stop: AbortSignal,
  onNotice: (text: string) => void,
) {
  const wire = new Wire(baseUrl, apiKey, proxy);
  const { address, hasKey, redact } = wire;
  const { host } = address;
  // The parts of the query that are not secret, such as an API version, are sent by later commands, too.
  const open = Object.entries(address.query).filter(([, value]) => !address.secrets.includes(value));
  const readBatch = (value: unknown) => readServedBatch(value, redact);
  const asked = { host, hasKey, proxy, redact, asked: ASKED, model: '', flagPrefix: '', sent: [] } as const;
  /** The latest failure that was reported. */
  let told: string | undefined;

  return {
    host,
    /** Without credentials. */
    baseUrl: address.baseUrl + (open.length === 0 ? '' : `?${new URLSearchParams(open)}`),

    /** Uploads a file of requests. `onSent` receives the bytes sent so far. */
    upload: (file: FileToSend, onSent: (bytes: number) => void) =>
      document(readServedFile, (signal, alive) => {
        const form = formOf(file, (bytes) => {
          alive();
          onSent(bytes);
        });
        return wire.send('/files', signal, form.body, form.headers);
      }),

    file: (id: string) => document(readServedFile, (signal) => wire.send(`/files/${encodeURIComponent(id)}`, signal)),

    /**
     * Passes a file's bytes to what `open` returns, which is called anew for each try. The connection is closed once there are more
     * than `most` bytes.
     * @returns how many there were; of a file that is too long, at most one more than `most` is passed
     */
    content(id: string, most: number, open: () => Promise<(piece: Uint8Array) => void>): Promise<number> {
      const path = `/files/${encodeURIComponent(id)}/content`;
      const send: Send = (signal) => wire.send(path, signal, undefined, { accept: 'application/binary' });
      return ask(send, async (response, alive) => {
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
      });
    },

    /**
     * Makes a batch of an uploaded file. If a try may have made it although no answer came, `found` looks for it before a retry.
     * @param endpoint the path that the requests name
     */
    create(
      inputFileId: string,
      endpoint: string,
      metadata: Readonly<Record<string, string>>,
      found: () => Promise<ServedBatch | undefined>,
    ): Promise<ServedBatch> {
      const batch = { input_file_id: inputFileId, endpoint, completion_window: '24h', metadata };
      const body = Buffer.from(JSON.stringify(batch));
      return document(readBatch, (signal) => wire.send('/batches', signal, body), found);
    },

    batch: (id: string) => document(readBatch, (signal) => wire.send(`/batches/${encodeURIComponent(id)}`, signal)),

    // Some servers refuse an empty body labelled as JSON.
    cancel: (id: string) =>
      document(readBatch, (signal) => wire.send(`/batches/${encodeURIComponent(id)}/cancel`, signal, Buffer.of(), {})),

    /** The latest batch that satisfies a condition: the list comes page by page, the latest first. */
    async findBatch(holds: (batch: ServedBatch) => boolean): Promise<ServedBatch | undefined> {
      let after: string | undefined;
      for (let seen = 0; seen < MOST_LISTED; seen += PAGE) {
        const path = `/batches?limit=${PAGE}${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`;
        const readPage = (value: unknown) => PAGE_OF_BATCHES.safeParse(value).data;
        const page = await document(readPage, (signal) => wire.send(path, signal));
        const batches = page.data.flatMap((value) => readBatch(value) ?? []);
        const found = batches.find(holds);
        const last = batches.at(-1)?.id;
        if (found !== undefined || last === undefined || last === after || !page.has_more) return found;
        after = last;
      }
      return undefined;
    },

    close: () => wire.close(),
  };

  function document<T>(read: (value: unknown) => T | undefined, send: Send, found?: Found<T>): Promise<T> {
    return ask(send, async (response) => read(parseObject(await readStart(response, MOST_DOCUMENT))), found);
  }

  /**
   * Retries for as long as failures may pass.
   * @param found checks, before a retry, whether a try without an answer had its effect
   */
  async function ask<T>(send: Send, read: Read<T>, found?: Found<T>): Promise<T> {
    const { now, sleep } = systemClock;
    const since = now();
    for (let failures = 0; ; failures++) {
      if (stop.aborted) throw interrupted(stop);
      const tried = await askOnce(send, read);
      if (tried.status === 'ok') {
        told = undefined;
        return tried.value;
      }
      const leftMs = since + retryMs - now();
      const { retryAfterMs = 0, reason } = tried;
      if (leftMs <= 0 || retryAfterMs > leftMs) {
        const minutes = Math.round(retryMs / 6_000) / 10;
        throw unavailable(
          `${host}: ${reason}; tried for ${minutes} min (--retry-minutes). Nothing is lost: run the same command again to continue where this one stopped`,
        );
      }
      if (told !== reason) onNotice(`${host}: ${reason}; retrying`);
      told = reason;
      const jitterMs = (0.5 + Math.random() / 2) * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
      await sleep(Math.min(retryAfterMs + jitterMs, leftMs), stop);
      if (stop.aborted) throw interrupted(stop);
      // A request that did not arrive, or was turned away at once, has had no effect.
      const isUnheard = tried.class === 'rate-limit' || tried.unreachable === true;
      const made = isUnheard ? undefined : await found?.();
      if (made !== undefined) return made;
    }
  }

  /** @throws Refused for a failure that no retry would change */
  async function askOnce<T>(send: Send, read: Read<T>) {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), IDLE_MS);
    const alive = () => void timer.refresh();
    const passing = (reason: string): AttemptFailure => ({ status: 'failed', class: 'transient', reason });
    const failed = (what: Evidence, http = 0, isFull = false): AttemptFailure => {
      const failure = classify(what, { ...asked, nowMs: Date.now() });
      if (TRIED_AGAIN.has(failure.class) && !isFull && http !== CONFLICT) return failure;
      throw new Refused(host, failure, http, isFull);
    };
    try {
      const response = await send(AbortSignal.any([stop, silence.signal]), alive);
      const { status, headers } = response;
      if (status < 200 || status > 299) {
        const body = await readStart(response, MOST_ERROR_TEXT);
        return failed({ status, headers, body }, status, saysFull(readError(body).text));
      }
      const value = await read(response, alive);
      return value === undefined ? passing(`its answer is not one of a ${ASKED}`) : ({ status: 'ok', value } as const);
    } catch (error) {
      if (stop.aborted) throw interrupted(stop);
      if (error instanceof UserError) throw error;
      return silence.signal.aborted ? passing(`no answer within ${IDLE_MS / 1000} s`) : failed({ error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * A file as a form (RFC 7578) with its purpose, sent piece by piece with a known length. The client's own form has no length and is
 * sent in chunks, which gateways of some servers reject. `onSent` receives the number of the file's bytes sent so far.
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

/** What may be missing, or have another form than expected, without making the document unreadable. */
function perhaps<T extends z.ZodType>(schema: T) {
  return schema.optional().catch(undefined);
}

/** An id becomes part of an address. Some gateways pack complete documents into theirs. */
const id = z.string().regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,2048}$/);
const count = z.int().nonnegative();
/** Seconds since 1970. */
const time = perhaps(z.number().positive());

const FILE = z.object({ id, bytes: perhaps(count), filename: perhaps(z.string()) });
const BATCH = z.object({
  id,
  status: z.string(),
  ...{ created_at: time, expires_at: time },
  ...{ completed_at: time, failed_at: time, expired_at: time, cancelled_at: time },
  ...{ input_file_id: perhaps(id), output_file_id: perhaps(id), error_file_id: perhaps(id) },
  request_counts: perhaps(z.object({ total: count, completed: count, failed: count })),
  errors: z.object({ data: z.array(z.unknown()) }).catch({ data: [] }),
  metadata: z.record(z.string(), z.unknown()).catch({}),
});
const PAGE_OF_BATCHES = z.object({ data: z.array(z.unknown()), has_more: z.boolean().catch(false) });
const PROBLEM = z
  .object({ code: z.string().catch(''), message: z.string().catch(''), line: perhaps(z.int()) })
  .catch({ code: '', message: '' });

/** The final states of a batch. */
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
const MOST_PROBLEMS = 20;

export type ServedBatch = NonNullable<ReturnType<typeof readServedBatch>>;

/** Undefined for what is not a file. */
export function readServedFile(value: unknown) {
  return FILE.safeParse(value).data;
}

/** What is known about a batch; anything else that a server says about it is ignored. Undefined for what is not a batch. */
export function readServedBatch(value: unknown, redact: Redact) {
  const { data } = BATCH.safeParse(value);
  if (data === undefined) return undefined;
  // As the server says it; later versions may have more states.
  const status = oneLine(redact(data.status), 40);
  // Shows the end of a state that is unknown here.
  const endedAt = data.completed_at ?? data.failed_at ?? data.expired_at ?? data.cancelled_at;
  return {
    id: data.id,
    status,
    /** Whether nothing more will come of it. */
    isEnded: ENDED.includes(status) || endedAt !== undefined,
    createdAt: data.created_at,
    expiresAt: data.expires_at,
    inputFileId: data.input_file_id,
    outputFileId: data.output_file_id,
    errorFileId: data.error_file_id,
    counts: data.request_counts,
    problems: data.errors.data.slice(0, MOST_PROBLEMS).map((problem) => {
      const { code, message, line } = PROBLEM.parse(problem);
      /** `line` is a line of the input file. */
      return { code: oneLine(redact(code), 60), message: oneLine(redact(message), 300), line };
    }),
    metadata: data.metadata,
  };
}
