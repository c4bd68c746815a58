// HTTP for this program's servers: error answers, bodies in and JSON out, access control, and a request's way from the port to its route
// and back.

import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { UserError, unavailable } from '../../core/errors.js';
import { isContainer } from '../../core/json.js';
import { LONGEST_TIMER_MS } from '../../core/timers.js';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code: string,
    readonly param: string | null = null,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  get body(): { readonly error: Readonly<Record<string, unknown>> } {
    return { error: { message: this.message, type: typeOf(this.status), param: this.param, code: this.code } };
  }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** An invalid value in the request; `param` is its place, null for the body itself. */
export function invalid(message: string, param: string | null, code = 'invalid_value'): ApiError {
  return new ApiError(400, message, code, param);
}

/** For a model name that is not served. */
export function unknownModel(model: string, served: readonly string[]): ApiError {
  const names = served.map((name) => `'${name}'`).join(', ');
  return new ApiError(404, `the model '${model}' does not exist; this server has ${names}`, 'model_not_found', 'model');
}

export function shuttingDown(): ApiError {
  return new ApiError(503, 'the server is shutting down', 'shutting_down', null, { connection: 'close' });
}

/** What the client sees of an error that ends its request. `signal` is the visit's; `onError` gets the errors that clients do not see. */
export function toldOf(error: unknown, signal: AbortSignal, onError?: (error: unknown) => void): ApiError {
  if (error instanceof ApiError) return error;
  if (signal.aborted) return shuttingDown();
  onError?.(error);
  return new ApiError(500, "the engine failed; see the server's own messages", 'engine_failed');
}

/** For a prompt with more tokens than a slot can hold. */
export function contextOverflow(tokens: number | string, contextSize: number): ApiError {
  const message = `the prompt contains ${tokens} tokens, but the model's maximum context length is ${contextSize} tokens; shorten it, or serve with a larger --context`;
  return new ApiError(400, message, 'context_length_exceeded', 'messages');
}

// Request bodies in, JSON answers out.

/** Room for everything around a prompt. */
const LEAST_LIMIT_BYTES = 2 ** 20;
/** Tokens are rarely longer, even as escaped JSON: the limit rejects what cannot fit, and the tokenizer counts the rest. */
const BYTES_PER_TOKEN = 64;
const DEEPEST = 256;

/** Largest body, in bytes, that a model with this context (in tokens) can use. */
export function bodyLimitBytes(contextSize: number): number {
  return LEAST_LIMIT_BYTES + BYTES_PER_TOKEN * contextSize;
}

/**
 * The parsed body. Throws an ApiError: 415 if it is not plain JSON, 413 above the limit (`limit` completes the message), 400 if it cannot
 * be parsed.
 */
export async function readJson(
  request: IncomingMessage,
  limitBytes: number,
  limit = "that a prompt for this model's context can take",
): Promise<unknown> {
  // A page of another origin may send plain text without asking; JSON makes its browser ask first, and this server never agrees.
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new ApiError(415, "the body must be JSON, with 'Content-Type: application/json'", 'unsupported_media_type');
  }
  const tooLarge = new ApiError(413, `the body is larger than the ${limitBytes} bytes ${limit}`, 'body_too_large');
  const body: AsyncIterable<Buffer> = request;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Above the limit the rest is read and discarded, since a client that is still sending would not see the answer.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limitBytes) chunks.length = 0;
    else chunks.push(chunk);
  }
  if (bytes > limitBytes) throw tooLarge;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new ApiError(400, 'the body is not JSON in UTF-8', 'invalid_json');
  }
  requireShallow(value);
  return value;
}

/** Readers of a value recurse per level and must not run out of stack; this check does not recurse. */
export function requireShallow(value: unknown): void {
  let values: readonly unknown[] = [value];
  for (let depth = 0; values.length > 0; depth++) {
    if (depth > DEEPEST) throw new ApiError(400, `the body is nested more than ${DEEPEST} deep`, 'invalid_json');
    values = values.flatMap((item) => (isContainer(item) ? Object.values(item) : []));
  }
}

/** Writes a complete answer if the client is still there: JSON, or text of the type in the headers. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.destroyed) return;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

// A server's port: opening it, timeouts for clients, input that never becomes a request, and access control.

/** Before listening: throws a UserError for a key that no header can carry, and for an address that others can reach without a key. */
function requireKeyOffLoopback(host: string, apiKey: string, flag: string): void {
  if (!/^[\x21-\x7e]*$/.test(apiKey))
    throw new UserError(`${flag} may contain only printable ASCII characters, without spaces`);
  if (apiKey !== '' || isLoopback(host)) return;
  throw new UserError(
    `refusing to listen on ${host === '' ? 'every address' : host}, where others can reach it, without a key; give one with ${flag}, or listen on 127.0.0.1`,
  );
}

/** Throws an ApiError: 403 if no key is set and the Host header is not a loopback address, 401 if a needed key is missing or wrong. */
export function letIn(request: Pick<IncomingMessage, 'headers'>, apiKey: string, needsKey: boolean): void {
  const { host = '', authorization = '' } = request.headers;
  if (apiKey === '') {
    // A web page can point its own name at 127.0.0.1 and have the browser call it; the Host header shows that name (DNS rebinding).
    if (isLoopback(/^(\[[^\]]+\]|[^:]*)(?::\d+)?$/.exec(host)?.[1] ?? '')) return;
    const message = 'without an API key this server only answers to localhost and loopback addresses';
    throw new ApiError(403, message, 'foreign_host');
  }
  if (!needsKey) return;
  // Some clients send a key only as the password of their URL (`ws://awb:KEY@host:port`), which arrives as Basic.
  const basic = Buffer.from(/^Basic +(.+)$/i.exec(authorization)?.[1] ?? '', 'base64').toString();
  const given = /^Bearer +(.+)$/i.exec(authorization)?.[1] ?? /^[^:]*:([\s\S]*)$/.exec(basic)?.[1] ?? '';
  // Hashes have equal lengths, and comparing them does not reveal where the keys differ.
  const hash = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(hash(given), hash(apiKey))) return;
  const message = given === '' ? "an API key is needed, as 'Authorization: Bearer …'" : 'incorrect API key';
  throw new ApiError(401, message, 'invalid_api_key', null, { 'www-authenticate': 'Bearer' });
}

function isLoopback(name: string): boolean {
  const host = name.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
  );
}

/** Tokens; prompt tokens include the cached ones, completion tokens the reasoning ones. */
export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}

/** A request that has ended. */
export interface RequestRecord {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** 499 if the client left before it was answered. */
  readonly status: number;
  readonly durationMs: number;
  /** Of all choices together; absent if nothing was generated. */
  readonly usage?: Usage | undefined;
}

/** A request in progress. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Without its query. */
  readonly path: string;
  /** Aborts when the client is gone, or when the server will not wait for the reply any longer. */
  readonly signal: AbortSignal;
  /** For its record. */
  usage?: Usage;
}

/** Handlers by `METHOD /path`; each returns the JSON of its answer, or answers itself. */
export type Routes = Readonly<Record<string, (visit: Visit) => unknown>>;

export interface Site {
  /** Without an API key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Empty if no key is required; `/health` never requires one. */
  readonly apiKey: string;
  /** The flags that messages name. */
  readonly flags: { readonly address: string; readonly port: string; readonly key: string };
  /** Time for a request to arrive, head and body, and for a client to read the rest of a reply that has ended. */
  readonly requestTimeoutMs: number;
  readonly routes: Routes;
  /** @throws ApiError for a request that `letIn` accepts, but that has no access */
  requireAccess?(request: IncomingMessage): void;
  /** The error that a client sees, and the body for it. */
  toldOf(error: unknown, signal: AbortSignal): ApiError;
  bodyOf(error: ApiError): unknown;
  /** Called with the server's own errors. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called for every request that has ended, with the path of its route. */
  readonly onRequest?: ((record: RequestRecord, route: string | undefined) => void) | undefined;
}

/** Time for a request's head to arrive, and for an idle connection: longer than clients keep one for reuse. */
const HEAD_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;
/** Time for aborted requests to answer their clients. */
const GRACE_MS = 1_000;
/** The conventional status in logs for a client that left before it was answered. */
const CLIENT_LEFT = 499;

/**
 * Listens, and serves each request: checks access, calls the route, answers and reports it; closing waits for requests in progress.
 * @throws UserError if the port is taken (69), or if the address cannot be used or is open to others without a key (2)
 */
export async function openSite(site: Site) {
  requireKeyOffLoopback(site.host, site.apiKey, site.flags.key);
  const { requestTimeoutMs } = site;
  const underWay = new Set<AbortController>();
  let isClosing = false;
  const patience = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(HEAD_MS, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  const server = createServer(patience, async (request, response) => {
    const abort = new AbortController();
    underWay.add(abort);
    response.on('close', () => abort.abort());
    await serveVisit(site, { request, response, path: pathOf(request), signal: abort.signal });
    underWay.delete(abort);
    closeIfIdle();
  });
  const closeIfIdle = () => {
    if (isClosing && underWay.size === 0) server.closeAllConnections();
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const [status, message, code] = BROKEN[error.code ?? ''] ?? ([400, 'this is not HTTP', 'invalid_http'] as const);
    refuseRaw(socket, site, new ApiError(status, message, code));
  });
  const url = await listen(server, site);
  server.on('error', (error) => site.onError?.(error));
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  return {
    /** Without a path. */
    url,
    server,
    /**
     * Accepts no more connections, gives requests in progress `drainMs` to end, then aborts them; resolves when every connection is closed.
     * Another call with less time shortens the wait.
     */
    close(drainMs: number): Promise<void> {
      isClosing = true;
      server.close();
      closeIfIdle();
      const late = setTimeout(
        () => {
          for (const abort of underWay) abort.abort();
          setTimeout(() => server.closeAllConnections(), GRACE_MS).unref();
        },
        Math.min(drainMs, LONGEST_TIMER_MS),
      );
      void closed.then(() => clearTimeout(late));
      return closed;
    },
  };
}

/** A request's path, without its query. The target may be a full URL (RFC 9112, 3.2.2). */
function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
}

/** Resolves when the client has the answer or is gone. */
async function serveVisit(site: Site, visit: Visit): Promise<void> {
  const { request, response, path, signal } = visit;
  const { method = '' } = request;
  const startMs = performance.now();
  const methods = Object.keys(site.routes).flatMap((route) => {
    const [served = '', where] = route.split(' ');
    return where === path ? served : [];
  });
  // An error when writing to a client that is gone adds nothing to its `close` event.
  response.on('error', () => {});
  try {
    letIn(request, site.apiKey, path !== '/health');
    site.requireAccess?.(request);
    if (methods.length === 0) throw new ApiError(404, `there is no ${path} here`, 'unknown_path');
    const serve = site.routes[`${method === 'HEAD' ? 'GET' : method} ${path}`];
    if (serve === undefined) {
      const allow = methods.join(', ');
      throw new ApiError(405, `${path} takes ${allow}, not ${method}`, 'method_not_allowed', null, { allow });
    }
    const body = await serve(visit);
    if (body !== undefined) answer(response, 200, body);
  } catch (error) {
    const told = site.toldOf(error, signal);
    // If another answer has begun, cut the connection.
    if (response.headersSent) response.destroy();
    else answer(response, told.status, site.bodyOf(told), told.headers);
  }
  if (!response.writableFinished && !response.destroyed) {
    // A client that does not read the rest of its answer is cut off.
    if (response.writableEnded) {
      response.setTimeout(Math.min(site.requestTimeoutMs, LONGEST_TIMER_MS), () => response.destroy());
    }
    await new Promise<void>((resolve) => {
      response.once('finish', resolve);
      response.once('close', resolve);
    });
  }
  const status = response.headersSent ? response.statusCode : CLIENT_LEFT;
  const route = methods.length === 0 ? undefined : path;
  site.onRequest?.({ method, path, status, durationMs: performance.now() - startMs, usage: visit.usage }, route);
}

/** Resolves with the URL. */
async function listen(server: ReturnType<typeof createServer>, { host, port, flags }: Site): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const remedy = `name another with ${flags.port}, or 0 for a free one`;
      reject(
        code === 'EADDRINUSE'
          ? unavailable(`port ${port} of ${host} is in use; ${remedy}`)
          : new UserError(
              `cannot listen on ${host}, port ${port}: ${code ?? message}; check ${flags.address}, or ${remedy}`,
            ),
      );
    });
    server.listen({ host, port }, resolve);
  });
  server.removeAllListeners('error');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address = server.address();
  const taken = typeof address === 'object' ? address?.port : undefined;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${taken ?? port}`;
}

/** Input that is not HTTP or did not arrive in time never becomes a request. By Node's error code. */
const BROKEN: Readonly<Record<string, readonly [status: number, message: string, code: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time', 'request_timeout'],
  HPE_HEADER_OVERFLOW: [431, "the request's head is too large", 'head_too_large'],
};

/** Answers on a socket without a response object: after input that is not a request, or a refused upgrade. */
export function refuseRaw(socket: Duplex, { bodyOf }: Pick<Site, 'bodyOf'>, error: ApiError): void {
  const { status, headers } = error;
  const body = JSON.stringify(bodyOf(error));
  const lines = Object.entries({
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`, () =>
    socket.destroy(),
  );
}
