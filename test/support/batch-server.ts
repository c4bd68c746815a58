// OpenAI's Files and Batches API on 127.0.0.1: batches change state each time they are read, and end as the test says.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The answer to a request of a batch: 200 goes to the output file, anything else to the error file. */
export interface BatchAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * How a batch ends: `completed`; `expired` after this many of its requests were answered (a silent server does not list the others);
 * `failed` at validation with these errors.
 */
export type BatchEnd =
  | { readonly status: 'completed' }
  | { readonly status: 'expired'; readonly answered: number; readonly isSilent?: boolean }
  | { readonly status: 'failed'; readonly errors: readonly Record<string, unknown>[] };

/**
 * A failure of a request: an answer that replaces the real one; a connection that breaks before or after the request has an effect; half of
 * a file, with or without its end; no answer; the answer of another server.
 */
export type Trouble =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | { readonly to: Server }
  | 'reset'
  | 'reset-after'
  | 'half'
  | 'half-open'
  | 'hang';

/** A request to the API as it arrived. */
export interface ApiRequest {
  readonly method: string;
  /** The path below /v1, with the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly index: number;
}

interface Options {
  readonly key?: string;
  readonly answer?: (body: Record<string, unknown>) => BatchAnswer;
  /** By the number of the batch, from 0. */
  readonly end?: (batch: number) => BatchEnd;
  /** How often a batch is seen in each state before it changes. */
  readonly looks?: number;
  readonly trouble?: (request: ApiRequest) => Trouble | undefined;
  /** Tokens (four characters each) that may wait at once, and where it is reported that they are too many. */
  readonly enqueued?: { readonly tokens: number; readonly toldAt: 'creation' | 'validation' };
  /** The maximum size of a page of a list. */
  readonly page?: number;
  /** Paths that the server does not know. */
  readonly unknown?: RegExp;
}

/** The answer to a request to the API: the bytes of a file, or a document. */
interface Answered {
  readonly status: number;
  readonly body: unknown;
}

interface StoredFile {
  readonly id: string;
  readonly object: 'file';
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: string;
  readonly content: Buffer;
}

interface StoredBatch {
  readonly number: number;
  readonly lines: readonly Line[];
  readonly tokens: number;
  looks: number;
  readonly shown: Record<string, unknown> & { id: string; status: string };
}

interface Line {
  readonly custom_id: string;
  readonly url: string;
  readonly body: Record<string, unknown>;
}

const ENDED = ['completed', 'failed', 'expired', 'cancelled'];
const NEXT: Readonly<Record<string, string>> = { validating: 'in_progress', in_progress: 'finalizing' };
const NOW = () => Math.floor(Date.now() / 1000);

export interface BatchServer {
  /** Base URL, ending in /v1. */
  readonly url: string;
  readonly requests: readonly ApiRequest[];
  readonly files: readonly StoredFile[];
  readonly batches: readonly StoredBatch['shown'][];
  /** Moves every batch to its next state. */
  advance(): void;
  /** Moves every batch to its final state. */
  finish(): void;
  close(): Promise<void>;
}

/** The default reply to a chat of a batch. */
export function batchReply(content: string): BatchAnswer {
  const message = { role: 'assistant', content };
  return {
    status: 200,
    body: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 0,
      model: 'loopback-1',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
  };
}

export async function startBatchServer(options: Options = {}): Promise<BatchServer> {
  const api = new Api(options);
  const server = createServer((request, response) => void api.take(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: api.requests,
    files: api.files,
    get batches() {
      return api.batches.map(({ shown }) => shown);
    },
    advance() {
      for (const batch of api.batches) api.goOn(batch);
    },
    finish() {
      for (let step = 0; step < 8; step++) for (const batch of api.batches) api.goOn(batch);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Api {
  readonly requests: ApiRequest[] = [];
  readonly files: StoredFile[] = [];
  readonly batches: StoredBatch[] = [];

  constructor(private readonly options: Options) {}

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part as Buffer);
    } catch {
      return;
    }
    const { method = '', url = '', headers } = request;
    const path = url.replace(/^\/v1/, '');
    const seen = { method, path, headers, body: Buffer.concat(parts), index: this.requests.length };
    this.requests.push(seen);
    const trouble = this.options.trouble?.(seen);
    if (trouble === 'reset') return void request.socket.resetAndDestroy();
    if (trouble === 'hang') return;
    if (typeof trouble === 'object' && 'to' in trouble) return void trouble.to.emit('request', request, response);
    if (typeof trouble === 'object') return send(response, trouble.status, trouble.body ?? {}, trouble.headers);
    const answer = await this.#answer(seen);
    if (trouble === 'reset-after') return void request.socket.resetAndDestroy();
    if (!Buffer.isBuffer(answer.body)) return send(response, answer.status, answer.body);
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': answer.body.length });
    if (trouble !== 'half' && trouble !== 'half-open') return void response.end(answer.body);
    const half = answer.body.subarray(0, answer.body.length / 2);
    await new Promise((resolve) => response.write(half, resolve));
    if (trouble === 'half') request.socket.destroy();
  }

  async #answer({ method, path, headers, body }: ApiRequest): Promise<Answered> {
    const { key, unknown } = this.options;
    if (key !== undefined && headers.authorization !== `Bearer ${key}`) {
      return failure(401, `Incorrect API key provided: ${headers.authorization}.`, 'invalid_api_key');
    }
    const url = new URL(path, 'http://x');
    const [, room, id, verb] = url.pathname.split('/');
    if (unknown?.test(`${method} ${url.pathname}`)) return failure(404, 'Not Found');
    if (room === 'files' && id === undefined) {
      if (method === 'POST') return this.#upload(headers, body);
      const purpose = url.searchParams.get('purpose');
      return this.#list(this.files.filter((file) => purpose === null || file.purpose === purpose).map(shownFile), url);
    }
    if (room === 'files') {
      const file = this.files.find((each) => each.id === id);
      if (file === undefined) return failure(404, `No such File object: ${id}`);
      return { status: 200, body: verb === 'content' ? file.content : shownFile(file) };
    }
    if (room === 'batches' && id === undefined) {
      if (method === 'POST') return this.#create(JSON.parse(body.toString()));
      return this.#list(
        this.batches.map(({ shown }) => shown),
        url,
      );
    }
    const batch = this.batches.find(({ shown }) => shown.id === id);
    if (room !== 'batches' || batch === undefined) return failure(404, `No batch found with id '${id}'.`);
    if (verb !== 'cancel') {
      const shown = structuredClone(batch.shown);
      if (++batch.looks >= (this.options.looks ?? 1)) this.goOn(batch);
      return { status: 200, body: shown };
    }
    if (ENDED.includes(batch.shown.status))
      return failure(409, `Cannot cancel a batch with status ${batch.shown.status}.`);
    this.#set(batch, 'cancelling');
    return { status: 200, body: batch.shown };
  }

  /** Refuses a form that is not sent in the way of browsers. */
  async #upload(headers: IncomingMessage['headers'], body: Buffer): Promise<Answered> {
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': String(headers['content-type']) },
    })
      .formData()
      .catch(() => undefined);
    const file = form?.get('file');
    if (form === undefined || !(file instanceof File)) return failure(400, 'no form with a file', 'invalid_form');
    return {
      status: 200,
      body: shownFile(this.#keep(file.name, String(form.get('purpose')), Buffer.from(await file.arrayBuffer()))),
    };
  }

  #keep(filename: string, purpose: string, content: Buffer): StoredFile {
    const id = `file-${String(this.files.length).padStart(4, '0')}`;
    const file = { id, object: 'file', bytes: content.length, created_at: NOW(), filename, purpose, content } as const;
    this.files.push(file);
    return file;
  }

  #create(asked: Record<string, unknown>): Answered {
    const file = this.files.find(({ id }) => id === asked.input_file_id);
    if (file === undefined) return failure(400, `No such File object: ${asked.input_file_id}`, 'invalid_request');
    if (asked.completion_window !== '24h') return failure(400, "Invalid value: 'completion_window'");
    const lines = file.content
      .toString()
      .trim()
      .split('\n')
      .map((line): Line => JSON.parse(line));
    const tokens = file.bytes / 4;
    const { enqueued } = this.options;
    const isTooMany = enqueued !== undefined && this.#waiting() + tokens > enqueued.tokens;
    const message = `Enqueued token limit reached for loopback-1 in organization org-x. Limit: ${enqueued?.tokens} enqueued tokens.`;
    if (isTooMany && enqueued.toldAt === 'creation') return failure(400, message, 'token_limit_exceeded');
    const created_at = NOW();
    const shown = {
      id: `batch_${String(this.batches.length).padStart(4, '0')}`,
      object: 'batch',
      endpoint: asked.endpoint,
      errors: null,
      input_file_id: file.id,
      completion_window: '24h',
      status: 'validating',
      output_file_id: null,
      error_file_id: null,
      created_at,
      expires_at: created_at + 86_400,
      request_counts: { total: 0, completed: 0, failed: 0 },
      metadata: asked.metadata ?? null,
      something_new: { of: 'a later version' },
    };
    const batch = { number: this.batches.length, lines, tokens, looks: 0, shown };
    this.batches.push(batch);
    const answered = structuredClone(shown);
    if (isTooMany) this.#fail(batch, [{ code: 'token_limit_exceeded', message, param: null, line: null }]);
    return { status: 200, body: answered };
  }

  #waiting(): number {
    return this.batches
      .filter(({ shown }) => !ENDED.includes(shown.status))
      .reduce((sum, { tokens }) => sum + tokens, 0);
  }

  goOn(batch: StoredBatch): void {
    batch.looks = 0;
    const { status } = batch.shown;
    if (ENDED.includes(status)) return;
    const end = this.options.end?.(batch.number) ?? { status: 'completed' };
    const next = NEXT[status];
    if (status === 'cancelling') this.#answerSome(batch, 'cancelled', 1);
    else if (status === 'validating' && end.status === 'failed') this.#fail(batch, end.errors);
    else if (next === 'finalizing' && end.status === 'expired')
      this.#answerSome(batch, 'expired', end.answered, end.isSilent);
    else if (next === undefined) this.#answerSome(batch, 'completed', batch.lines.length);
    else this.#set(batch, next);
  }

  #set(batch: StoredBatch, status: string): void {
    batch.shown.status = status;
    batch.shown[`${status}_at`] = NOW();
    if (status === 'in_progress') batch.shown.request_counts = { total: batch.lines.length, completed: 0, failed: 0 };
  }

  #fail(batch: StoredBatch, errors: readonly Record<string, unknown>[]): void {
    batch.shown.errors = { object: 'list', data: errors };
    this.#set(batch, 'failed');
  }

  /** Results are in another order than the requests, and those not answered in time are in the error file. */
  #answerSome(batch: StoredBatch, status: string, answered: number, isSilent = false): void {
    const outputs: string[] = [];
    const errors: string[] = [];
    for (const [index, { custom_id, body }] of batch.lines.entries()) {
      const head = { id: `batch_req_${batch.number}_${index}`, custom_id };
      if (index >= answered && isSilent) continue;
      if (index >= answered) {
        const error = {
          code: `batch_${status}`,
          message: 'This request could not be executed before the completion window expired.',
        };
        errors.push(JSON.stringify({ ...head, response: null, error }));
        continue;
      }
      const answer = (this.options.answer ?? (() => batchReply('ok')))(body);
      const response = { status_code: answer.status, request_id: `req_${index}`, body: answer.body };
      (answer.status === 200 ? outputs : errors).push(JSON.stringify({ ...head, response, error: null }));
    }
    const kept = (lines: string[], kind: string) =>
      lines.length === 0
        ? null
        : this.#keep(`${batch.shown.id}_${kind}.jsonl`, 'batch_output', Buffer.from(`${lines.reverse().join('\n')}\n`))
            .id;
    batch.shown.output_file_id = kept(outputs, 'output');
    batch.shown.error_file_id = kept(errors, 'error');
    batch.shown.request_counts = { total: batch.lines.length, completed: outputs.length, failed: errors.length };
    this.#set(batch, status);
  }

  /** Newest first, like OpenAI's lists. */
  #list(all: readonly { readonly id: string }[], url: URL): Answered {
    const newest = [...all].reverse();
    const after = url.searchParams.get('after');
    const from = after === null ? 0 : newest.findIndex(({ id }) => id === after) + 1;
    const most = Math.min(Number(url.searchParams.get('limit') ?? 20), this.options.page ?? 100);
    const data = newest.slice(from, from + most);
    const body = {
      object: 'list',
      data,
      first_id: data[0]?.id,
      last_id: data.at(-1)?.id,
      has_more: from + most < newest.length,
    };
    return { status: 200, body };
  }
}

function shownFile({ content: _, ...shown }: StoredFile) {
  return { ...shown, status: 'processed' };
}

function failure(status: number, message: string, code: string | null = null) {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code } } };
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
}
