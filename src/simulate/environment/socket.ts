// WebSockets: a session for each connection, in the messages of OpenEnv. No other file imports ws.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { type JsonObject, parseJson } from '../../core/json.js';
import { ApiError } from '../../serve/http/api-error.js';
import { requireShallow } from '../../serve/http/body.js';
import type { Grounds } from './mcp.js';
import { read, readAction, readReset } from './protocol.js';
import type { Session } from './sessions.js';

const CLOSE_NORMAL = 1000;
const CLOSE_GOING_AWAY = 1001;
const CLOSE_POLICY = 1008;
/** Messages of a connection that may wait for their answers; OpenEnv's client sends one at a time. */
const MOST_WAITING = 16;
/** How long a client that is sent away may take to hear of it. */
const GOODBYE_MS = 1_000;

export function openSockets(grounds: Grounds) {
  const server = new WebSocketServer({ noServer: true, maxPayload: grounds.messageBytes, perMessageDeflate: false });
  return {
    /** Takes over a connection whose request was let in. */
    accept(request: IncomingMessage, socket: Duplex, head: Buffer) {
      server.handleUpgrade(request, socket, head, (webSocket) => converse(webSocket, grounds));
    },
    /** Says goodbye to every client. */
    close() {
      for (const socket of server.clients) sendAway(socket, CLOSE_GOING_AWAY, 'the server is shutting down');
    },
  };
}

/** A client that reads nothing would keep its connection, and what waits for it, for longer. */
function sendAway(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
}

/** One message after the other, in the order in which they come. */
function converse(socket: WebSocket, grounds: Grounds): void {
  const leaving = new AbortController();
  /** Resolves once the text is on its way: no further answer is made for a client that does not read those before. */
  const say = async (type: string, data: unknown) => {
    if (socket.readyState !== socket.OPEN) return;
    await new Promise((resolve) => socket.send(JSON.stringify({ type, data }), resolve));
  };
  const sayError = (error: unknown) => {
    const { message, code, headers } = grounds.toldOf(error);
    const { 'retry-after': retryAfter } = headers;
    return say('error', { message, code, ...(retryAfter !== undefined && { retry_after_s: Number(retryAfter) }) });
  };
  // A frame that is too large or broken closes the connection with a code of its own.
  socket.on('error', () => {});
  const { sessions } = grounds;
  let session: Session;
  try {
    session = sessions.open(() => {
      void say('error', { message: 'the session has ended by idleness', code: 'SESSION_ERROR' });
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
    // Reading goes on while a step is under way: only so is it seen that a client leaves.
    if (++waiting > MOST_WAITING) {
      const reason = `more than ${MOST_WAITING} messages wait for their answers, or for these to be read`;
      return sendAway(socket, CLOSE_POLICY, reason);
    }
    last = last
      .then(async () => {
        if (socket.readyState !== socket.OPEN) return;
        const { type, data } = readMessage(bytes, isBinary);
        if (type === 'close') socket.close(CLOSE_NORMAL);
        else await say(...(await reply(type, data, session, leaving.signal)));
      })
      .catch(sayError)
      .finally(() => waiting--);
  });
}

const ENVELOPE = z.object(
  {
    type: z.unknown().optional(),
    data: z.record(z.string(), z.unknown(), '"data" has to be a JSON object').default({}),
  },
  'a message has to be a JSON object',
);
const TYPES: readonly unknown[] = ['reset', 'step', 'state', 'close'];

/** @throws ApiError for what is no message of the protocol */
function readMessage(bytes: unknown, isBinary: boolean): { type: unknown; data: JsonObject } {
  const message = isBinary ? undefined : parseJson(String(bytes));
  if (message === undefined) throw new ApiError(400, 'a message has to be JSON, as text', 'INVALID_JSON');
  requireShallow(message);
  const { type, data } = read(ENVELOPE, message);
  if (TYPES.includes(type)) return { type, data };
  const name = typeof type === 'string' ? `"${type.slice(0, 100)}"` : 'none';
  throw new ApiError(400, `unknown type of message: ${name}; there are ${TYPES.join(', ')}`, 'UNKNOWN_TYPE', 'type');
}

async function reply(
  type: unknown,
  data: JsonObject,
  session: Session,
  signal: AbortSignal,
): Promise<[string, unknown]> {
  if (type === 'state') return ['state', session.state];
  if (type === 'step') return ['observation', await session.step(readAction(data), { signal })];
  const { start, episodeId = randomUUID() } = readReset(data);
  return ['observation', await session.reset(start, episodeId)];
}
