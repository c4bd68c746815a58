// Opens an endpoint at a loopback server for a test, and gives the outcome of a call; `closeAll` closes everything opened.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import type { ModelRequest } from '../../src/core/types.js';
import type { Attempt } from '../../src/model/attempt.js';
import { openContextWatch } from '../../src/model/context.js';
import { type EndpointOptions, openEndpoint } from '../../src/model/endpoint/endpoint.js';
import { openDialect } from '../../src/model/endpoint/request.js';
import { type Answer, type Handler, type LoopbackServer, startLoopbackServer } from './loopback-server.js';

export const closers: (() => unknown)[] = [];

export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export const MESSAGES = [{ role: 'user', content: 'what happens?' }] as const;
export const REQUEST: ModelRequest = { messages: MESSAGES, seedOffset: 0 };
export const KEY = 'sk-test-0123456789';
export const NEVER = new AbortController().signal;

export type Overrides = Partial<EndpointOptions> & {
  allowParamDrop?: boolean;
  dropped?: readonly string[];
  fitMaxTokens?: boolean;
};

export async function serve(script?: Handler | readonly Answer[], options = {}): Promise<LoopbackServer> {
  const server = await startLoopbackServer(script, options);
  closers.push(server.close);
  return server;
}

export function open(
  baseUrl: string,
  { allowParamDrop = false, dropped = [], fitMaxTokens: fits = false, ...overrides }: Overrides = {},
) {
  const notices: string[] = [];
  const dialect = openDialect({ allowParamDrop, dropped, onNotice: (text) => notices.push(text) });
  const options = { ...optionsOf(baseUrl), sampling: { maxTokens: 32_768, temperature: 0.6 }, stream: true };
  const { sampling } = { ...options, ...overrides };
  const context = openContextWatch({ maxTokens: sampling.maxTokens, fits, onNotice: (text) => notices.push(text) });
  const endpoint = openEndpoint({ ...options, dialect, context, ...overrides });
  closers.push(() => endpoint.close());
  return { endpoint, dialect, notices };
}

/** A call without streaming, with only a token budget as sampling. */
export function optionsOf(baseUrl: string): EndpointOptions {
  return {
    baseUrl,
    apiKey: KEY,
    model: 'wm-35b',
    sampling: { maxTokens: 32_768 },
    stream: false,
    clocks: { firstTokenTimeoutMs: 5_000, gapTimeoutMs: 5_000, callTimeoutMs: 10_000 },
    dialect: openDialect({ allowParamDrop: false, onNotice() {} }),
    context: openContextWatch({ maxTokens: 32_768, fits: false, onNotice() {} }),
    flagPrefix: 'model',
  };
}

/** One call at a server that answers by the script. */
export async function ask(
  script: Handler | readonly Answer[] | undefined,
  overrides: Overrides = {},
  request = REQUEST,
) {
  const server = await serve(script);
  const opened = open(server.url, overrides);
  const attempt = await opened.endpoint.call(request, 0, NEVER);
  return { attempt, server, ...opened, body: server.requests[0]?.body, headers: server.requests[0]?.headers };
}

export function failure(attempt: Attempt) {
  if (attempt.status !== 'failed') throw new Error(`expected a failure, got ${JSON.stringify(attempt)}`);
  return attempt;
}

export function reply(attempt: Attempt) {
  if (attempt.status !== 'ok') throw new Error(`expected a reply, got ${JSON.stringify(attempt)}`);
  return attempt;
}

/** The base URL of a server that listens on loopback from now on. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Writes the same piece for as long as the reader takes it. */
export function pour(target: Writable, piece: string): void {
  while (!target.destroyed && target.write(piece));
  target.once('drain', () => pour(target, piece));
}
