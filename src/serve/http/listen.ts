// Listening and closing, and in between every request: handed to its route, answered, counted, and waited for when the server closes.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import type { Engine } from '../engine-contract.js';
import { requireKeyOffLoopback } from './access.js';
import { toldOf } from './api-error.js';
import { answerError } from './body.js';
import { Desk, type DeskOptions, type Visit } from './desk.js';
import type { RequestRecord } from './metrics.js';
import { openPort, patienceOf, refuseBrokenRequest } from './port.js';
import { sumOf } from './replies.js';
import { handlerOf, routeName } from './routes.js';

export interface ServerOptions extends DeskOptions {
  /** Without an API key, a loopback name or address. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface RunningServer {
  /** Without a path: chat completions are at `/v1/chat/completions` below it. */
  readonly url: string;
  /**
   * Takes no more requests, lets those under way end for `drainMs`, then aborts them; resolves when every connection is closed.
   * A further call with less time shortens the wait. The engine stays open.
   */
  close(drainMs: number): Promise<void>;
}

/** How long aborted requests may take to tell their clients. */
const GRACE_MS = 1_000;

/**
 * Starts to listen. While `engine` is a promise the server answers 503 and `/health` says so; what it rejects with is the caller's.
 * Throws a UserError where the port is taken (69) or the address cannot be used or is open to others without a key (2).
 */
export async function startServer(engine: Engine | Promise<Engine>, options: ServerOptions): Promise<RunningServer> {
  requireKeyOffLoopback(options.host, options.apiKey ?? '');
  const desk = new Desk(engine, options);
  const underWay = new Set<AbortController>();
  /** Waits no longer for requests under way. */
  let giveUp = () => {};
  const idle = new Promise<void>((resolve) => {
    giveUp = resolve;
  });
  const settle = () => {
    if (desk.isDraining && underWay.size === 0) giveUp();
  };
  const server = createServer(patienceOf(options.requestTimeoutMs), (request, response) => {
    const abort = new AbortController();
    underWay.add(abort);
    response.on('close', () => abort.abort());
    const visit = { request, response, path: pathOf(request), signal: abort.signal, usages: [] };
    void serve(desk, visit, () => {
      underWay.delete(abort);
      settle();
    });
  });
  server.on('clientError', refuseBrokenRequest);
  const url = await openPort(server, options, { address: '--host', port: '--port' });
  server.on('error', (error) => options.onError?.(error));

  let closed: Promise<void> | undefined;
  let isIdle = false;
  const timers: NodeJS.Timeout[] = [];
  const later = (ms: number, act: () => void) => {
    if (!isIdle) timers.push(setTimeout(act, Math.min(ms, LONGEST_TIMER_MS)));
  };
  async function finish(): Promise<void> {
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    await idle;
    isIdle = true;
    for (const timer of timers) clearTimeout(timer);
    server.closeAllConnections();
    await ended;
  }
  return {
    url,
    close(drainMs) {
      desk.isDraining = true;
      settle();
      later(drainMs, () => {
        for (const abort of underWay) abort.abort();
        later(GRACE_MS, giveUp);
      });
      closed ??= finish();
      return closed;
    },
  };
}

/** The status that logs use for a client that left before it was answered. */
const CLIENT_LEFT = 499;

/** Serves one request to its end; `over` is called when the client has the answer or is gone, before it is counted. */
async function serve(desk: Desk, visit: Visit, over: () => void): Promise<void> {
  const { options, metrics } = desk;
  const { request, response, path } = visit;
  const startMs = performance.now();
  // Writing to a client that is gone is no event worth more than its closing.
  response.on('error', () => {});
  try {
    await handlerOf(visit, options)(desk, visit);
  } catch (error) {
    answerError(response, toldOf(error, visit.signal, options.onError));
  }
  await taken(response, options.requestTimeoutMs);
  over();
  const record: RequestRecord = {
    method: request.method ?? '',
    path,
    status: response.headersSent ? response.statusCode : CLIENT_LEFT,
    durationMs: performance.now() - startMs,
    usage: visit.usages.length === 0 ? undefined : sumOf(visit.usages),
  };
  metrics.count(routeName(path), record);
  options.onRequest?.(record);
}

function pathOf(request: IncomingMessage): string {
  return /^[^?]*/.exec(request.url ?? '')?.[0] ?? '';
}

/** Resolves when the reply is with the client or the client is gone. One that does not take it is cut off after `timeoutMs`. */
async function taken(response: ServerResponse, timeoutMs: number): Promise<void> {
  if (response.writableFinished || response.destroyed) return;
  response.setTimeout(Math.min(timeoutMs, LONGEST_TIMER_MS), () => response.destroy());
  await new Promise<void>((resolve) => {
    response.once('finish', resolve);
    response.once('close', resolve);
  });
}
