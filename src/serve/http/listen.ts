// Listening and closing: the process's side of the server.

import { createServer, type Server } from 'node:http';
import { LONGEST_TIMER_MS } from '../../timers.js';
import type { Engine } from '../engine-contract.js';
import { requireKeyOffLoopback } from './access.js';
import { type Desk, openDesk } from './desk.js';
import type { DeskOptions } from './desk-state.js';
import { openPort, patienceOf, refuseBrokenRequest } from './port.js';

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
  const desk = openDesk(engine, options);
  const server = createServer(patienceOf(options.requestTimeoutMs), desk.handle);
  server.on('clientError', refuseBrokenRequest);
  const url = await openPort(server, options, { address: '--host', port: '--port' });
  server.on('error', (error) => options.onError?.(error));
  return { url, close: closer(server, desk) };
}

function closer(server: Server, desk: Desk): RunningServer['close'] {
  let closed: Promise<void> | undefined;
  let isIdle = false;
  const timers: NodeJS.Timeout[] = [];
  const later = (ms: number, act: () => void) => {
    if (!isIdle) timers.push(setTimeout(act, Math.min(ms, LONGEST_TIMER_MS)));
  };
  async function finish(): Promise<void> {
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    await desk.idle;
    isIdle = true;
    for (const timer of timers) clearTimeout(timer);
    server.closeAllConnections();
    await ended;
  }
  return (drainMs) => {
    desk.drain();
    later(drainMs, () => {
      desk.abort();
      later(GRACE_MS, desk.giveUp);
    });
    closed ??= finish();
    return closed;
  };
}
