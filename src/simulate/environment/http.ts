// Runs an environment: over HTTP until it is stopped (port, access control, and OpenEnv's paths with a session per episode_id), or over
// standard input and output until the input ends.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import { type Duplex, Readable, Writable } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { EXIT, type ExitCode, interruption, messageOf, present, UserError } from '../../core/errors.js';
import { isObject, parseJson } from '../../core/json.js';
import { printable } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import {
  ApiError,
  letIn,
  openSite,
  type Routes,
  readJson,
  refuseRaw,
  requireShallow,
  type Site,
} from '../../serve/http/wire.js';
import { type EnvironmentSettings, placeOf } from '../options.js';
import { type Grounds, importSdk, type McpRoute, mcpRoute, serveStdio } from './mcp.js';
import { metadataOf, openApi, read, readAction, readReset, readStep, SCHEMAS } from './protocol.js';
import { NOT_RECORDED, openRecords, type Session, Sessions, type Simulator } from './sessions.js';

/** With the step limit, which agents played by awb also have. */
type ServingSettings = EnvironmentSettings & { readonly steps: number };

/** Time for steps in progress after the first interrupt. */
const DRAIN_MS = 60_000;

/** @throws UserError as `startEnvironment`; (69) if MCP's SDK is not installed, (73) if the record folder cannot be made */
export async function serveEnvironment(simulator: Simulator, settings: ServingSettings, io: Io): Promise<ExitCode> {
  const { listen, verbose, json, messageKib, record, sessionIdle, steps } = settings;
  const say = (text: string) => settings.quiet || io.stderr.write(`${printable(text)}\n`);
  const onError = (error: unknown) => void say(`environment: ${messageOf(error)}`);
  const sdk = settings.mcp ? await importSdk() : undefined;
  const records = record === undefined ? undefined : await openRecords(resolve(io.cwd, record));
  const most = settings.sessions;
  const sessions = new Sessions({ simulator, steps, records, most, idleMs: sessionIdle * 1_000 });
  const grounds: Grounds = {
    sessions,
    messageBytes: messageKib * 1_024,
    toldOf(error) {
      // The server's operator must see a full disk; agents can only try again.
      if (!(error instanceof ApiError) || error.code === NOT_RECORDED) onError(error);
      if (error instanceof ApiError) return error;
      return new ApiError(500, "the environment failed; the server's own messages say why", 'EXECUTION_ERROR');
    },
  };
  io.setLastWords('stopped immediately; recorded episodes end at their last finished step');
  if (listen === undefined) {
    if (sdk === undefined) throw new UserError('give --listen HOST:PORT, --mcp, or both');
    const output = new Writable({
      decodeStrings: false,
      write(text, _encoding, done) {
        io.stdout.write(String(text));
        done();
      },
    });
    const input = Readable.from(io.input?.() ?? [], { objectMode: false });
    await serveStdio(sdk, grounds, { input, output }, io.stop);
    await sessions.stop(DRAIN_MS);
    return io.stop.aborted ? interruption(io.stop) : EXIT.done;
  }
  const { url, close } = await startEnvironment({
    ...grounds,
    // The option's own check has accepted it.
    ...present(placeOf(listen)),
    apiKey: settings.listenKey ?? '',
    mcp: sdk && mcpRoute(sdk, grounds),
    onError,
    onRequest: verbose ? (record) => say(JSON.stringify(record)) : undefined,
  });
  const { model } = simulator;
  const mcp = sdk && `${url}/mcp`;
  const also = mcp === undefined ? '' : `; MCP at ${mcp}`;
  io.stdout.write(
    json
      ? `${JSON.stringify({ schema: 'awb.environment/1', url, mcp, model })}\n`
      : `worlds of ${printable(model)} at ${url} (OpenEnv; WebSockets at /ws)${also}\n`,
  );
  if (!io.stop.aborted) await once(io.stop, 'abort');
  say('stopping after the steps in progress; interrupt again to stop immediately');
  await close(DRAIN_MS);
  return interruption(io.stop);
}

export interface EnvironmentOptions extends Grounds, Pick<Site, 'host' | 'port' | 'apiKey' | 'onError' | 'onRequest'> {
  readonly mcp?: McpRoute | undefined;
}

const REQUEST_TIMEOUT_MS = 120_000;

/** @throws UserError as `openSite` */
export async function startEnvironment(options: EnvironmentOptions) {
  const { apiKey, sessions, mcp, toldOf } = options;
  const { messageBytes: maxPayload } = options;
  const sockets = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false });
  // OpenEnv's own servers use FastAPI, which says `detail`.
  const bodyOf = ({ message, code }: ApiError) => ({ detail: message, code: code.toUpperCase() });
  const { server, url, close } = await openSite({
    ...options,
    flags: { address: '--listen', port: '--listen', key: '--listen-key' },
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    routes: routesOf(options),
    requireAccess: requireOwnOrigin,
    bodyOf,
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // A client that leaves before the answer does not matter.
    socket.on('error', () => socket.destroy());
    try {
      // Browsers send no preflight request for WebSockets.
      letIn(request, apiKey, true);
      requireOwnOrigin(request);
      if (!/^\/ws(?:\?|$)/.test(request.url ?? '')) throw new ApiError(404, 'WebSockets are at /ws', 'UNKNOWN_PATH');
      sockets.handleUpgrade(request, socket, head, (webSocket) => converse(webSocket, options));
    } catch (error) {
      refuseRaw(socket, { bodyOf }, toldOf(error));
    }
  });
  return {
    /** Without a path: WebSockets are at `/ws` below it. */
    url,
    /** Accepts nothing new, gives steps in progress `drainMs` to end, then aborts them; resolves when every connection is closed. */
    async close(drainMs: number): Promise<void> {
      void close(Number.POSITIVE_INFINITY);
      await sessions.stop(drainMs);
      await mcp?.close();
      for (const socket of sockets.clients) sendAway(socket, CLOSE_GOING_AWAY, 'the server is shutting down');
      await close(0);
    },
  };
}

/** The episode of requests without an episode_id. */
const DEFAULT_EPISODE = 'default';

/** OpenEnv's paths, with a session per episode_id. */
function routesOf({ sessions, messageBytes, mcp }: EnvironmentOptions): Routes {
  const episodes = new Map<string, Session>();
  const sessionOf = (episodeId: string): Session => {
    const session = episodes.get(episodeId);
    if (session !== undefined) return session;
    const message = `there is no episode "${episodeId}" here: it never started, or ended because it was idle; POST /reset starts one`;
    throw new ApiError(404, message, 'EPISODE_NOT_FOUND', 'episode_id');
  };
  // A reset may have no body.
  const bodyOf = async (request: IncomingMessage): Promise<unknown> =>
    request.headers['content-length'] === '0'
      ? {}
      : readJson(request, messageBytes, 'that a message may have (--message-kib)');
  const routes: Routes = {
    'GET /health': () => ({ status: 'healthy' }),
    'GET /metadata': () => metadataOf(sessions.grounds.simulator.model),
    'GET /schema': () => SCHEMAS,
    'GET /openapi.json': () => openApi(Object.keys(routes)),
    'POST /reset': async ({ request }) => {
      const { start, episodeId = DEFAULT_EPISODE } = readReset(await bodyOf(request));
      const known = episodes.get(episodeId);
      const session = known ?? sessions.open(() => episodes.delete(episodeId), true);
      episodes.set(episodeId, session);
      try {
        return await session.reset(start, episodeId);
      } catch (error) {
        // Nobody uses a session that never began.
        if (known === undefined) sessions.dismiss(session);
        throw error;
      }
    },
    'POST /step': async ({ request, signal }) => {
      const { action, timeoutS, episodeId = DEFAULT_EPISODE } = readStep(await bodyOf(request));
      return sessionOf(episodeId).step(action, { timeoutS, signal });
    },
    'GET /state': ({ request }) => {
      const episodeId = new URLSearchParams(request.url?.replace(/^[^?]*/, '')).get('episode_id');
      const session = episodeId === null ? episodes.get(DEFAULT_EPISODE) : sessionOf(episodeId);
      return session?.state ?? { episode_id: null, step_count: 0 };
    },
    'POST /mcp': async ({ request, response }) => {
      const body = await bodyOf(request);
      if (mcp === undefined) return NO_MCP;
      // A JSON-RPC message, or a list of them.
      const isMessage = [body].flat().some((message) => isObject(message) && 'jsonrpc' in message);
      return isMessage ? mcp.serve(request, response, body) : refusedMcp('this is not a JSON-RPC message');
    },
    'GET /mcp': ({ request, response }) => mcp?.serve(request, response, undefined) ?? NO_MCP,
    'DELETE /mcp': ({ request, response }) => mcp?.serve(request, response, undefined) ?? NO_MCP,
  };
  return routes;
}

/** Like OpenEnv's own servers for what they do not support: status 200, since clients read the error itself. */
function refusedMcp(message: string) {
  return { jsonrpc: '2.0', id: null, error: { code: -32600, message } };
}
const NO_MCP = refusedMcp('MCP is off; awb simulate serves it with --mcp');

/** @throws ApiError (403) for a page of another origin */
function requireOwnOrigin({ headers: { origin, host = '' } }: IncomingMessage): void {
  const own = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
  if (origin === undefined || own === host.toLowerCase()) return;
  throw new ApiError(403, 'requests from pages of other origins are not allowed', 'FOREIGN_ORIGIN');
}

// WebSockets: a session per connection, with OpenEnv's messages. No other file imports ws.

const CLOSE_NORMAL = 1000;
const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY = 1008;
/** Most messages of a connection that may wait for answers; OpenEnv's client sends one at a time. */
const MOST_WAITING = 16;
/** Time for a dismissed client to receive the close frame. */
const GOODBYE_MS = 1_000;

/** Closes the connection; terminates it after a while, since a client that reads nothing would keep it and its pending data longer. */
function sendAway(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
}

/** Answers one message after another, in order of arrival. */
function converse(socket: WebSocket, grounds: Grounds): void {
  const leaving = new AbortController();
  /** Resolves once the text is sent: no further answer is made for a client that does not read the previous ones. */
  const say = async (type: string, data: unknown) => {
    if (socket.readyState !== socket.OPEN) return;
    await new Promise((resolve) => socket.send(JSON.stringify({ type, data }), resolve));
  };
  const sayError = (error: unknown) => {
    const { message, code, headers } = grounds.toldOf(error);
    const { 'retry-after': retryAfter } = headers;
    return say('error', { message, code, ...(retryAfter !== undefined && { retry_after_s: Number(retryAfter) }) });
  };
  // A frame that is too large or broken closes the connection with its own code.
  socket.on('error', () => {});
  const { sessions } = grounds;
  let session: Session;
  try {
    session = sessions.open(() => {
      void say('error', { message: 'the session ended because it was idle', code: 'SESSION_ERROR' });
      sendAway(socket, CLOSE_NORMAL, 'idle');
    });
  } catch (error) {
    void sayError(error);
    sendAway(socket, CLOSE_NORMAL, 'no session');
    return;
  }
  socket.on('close', () => {
    leaving.abort();
    sessions.end(session);
  });
  let last = Promise.resolve();
  let waiting = 0;
  socket.on('message', (bytes, isBinary) => {
    if (socket.readyState !== socket.OPEN) return;
    // Reading continues during a step; otherwise a leaving client would go unnoticed.
    if (++waiting > MOST_WAITING) {
      const reason = `more than ${MOST_WAITING} messages wait for answers, or for their answers to be read`;
      return sendAway(socket, CLOSE_POLICY, reason);
    }
    last = last
      .then(async () => {
        if (socket.readyState !== socket.OPEN) return;
        const told = await answerTo(isBinary ? undefined : parseJson(String(bytes)), session, leaving.signal);
        if (told === undefined) socket.close(CLOSE_NORMAL);
        else await say(...told);
      })
      .catch(sayError)
      .finally(() => waiting--);
  });
}

const ENVELOPE = z.object({ type: z.unknown().optional(), data: z.record(z.string(), z.unknown()).default({}) });

/** The answer to a message; undefined if it closes the connection. @throws ApiError for what is not a message of the protocol */
async function answerTo(
  message: unknown,
  session: Session,
  signal: AbortSignal,
): Promise<[string, unknown] | undefined> {
  if (message === undefined) throw new ApiError(400, 'a message has to be JSON, as text', 'INVALID_JSON');
  requireShallow(message);
  const { type, data } = read(ENVELOPE, message);
  if (type === 'close') return undefined;
  if (type === 'state') return ['state', session.state];
  if (type === 'step') return ['observation', await session.step(readAction(data), { signal })];
  if (type !== 'reset') {
    const said = `unknown type of message: ${JSON.stringify(type)?.slice(0, 100)}; known types are reset, step, state and close`;
    throw new ApiError(400, said, 'UNKNOWN_TYPE', 'type');
  }
  const { start, episodeId = randomUUID() } = readReset(data);
  return ['observation', await session.reset(start, episodeId)];
}
