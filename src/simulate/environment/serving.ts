// An environment from its start to its end: over HTTP until it is stopped, or over standard input and output until they end.

import { resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { EXIT, type ExitCode, interruption, messageOf, UserError } from '../../core/errors.js';
import { present } from '../../core/present.js';
import { printable } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { ApiError } from '../../serve/http/api-error.js';
import { requestLine } from '../../serve/http/metrics.js';
import { startEnvironment } from './http.js';
import { type Grounds, importSdk, mcpRoute, serveStdio } from './mcp.js';
import { type EnvironmentSettings, placeOf } from './options.js';
import { openRecords } from './record.js';
import { NOT_RECORDED, Sessions } from './sessions.js';
import type { Simulator } from './simulator.js';

/** With the limit of steps, which agents that are played here have, too. */
type ServingSettings = EnvironmentSettings & { readonly steps: number };

/** Steps under way get this long after the first interrupt. */
const DRAIN_MS = 60_000;

/** @throws UserError as `startEnvironment`, (69) where MCP's SDK is not installed, (73) where there can be no records */
export async function serveEnvironment(simulator: Simulator, settings: ServingSettings, io: Io): Promise<ExitCode> {
  const say = (text: string) => settings.quiet || io.stderr.write(`${printable(text)}\n`);
  const onError = (error: unknown) => void say(`environment: ${messageOf(error)}`);
  const sdk = settings.mcp ? await importSdk() : undefined;
  const records = settings.record === undefined ? undefined : await openRecords(resolve(io.cwd, settings.record));
  const sessions = new Sessions(
    { simulator, steps: settings.steps, records },
    { sessions: settings.sessions, idleMs: settings.sessionIdle * 1_000 },
  );
  const messageBytes = settings.messageKib * 1_024;
  const grounds: Grounds = { simulator, sessions, messageBytes, toldOf: (error) => told(error, onError) };
  if (settings.listen === undefined) {
    if (sdk === undefined) throw new UserError('give --listen HOST:PORT, --mcp, or both');
    io.setLastWords('ended at once; recorded episodes stand at their last finished step');
    const streams = { input: Readable.from(io.input?.() ?? [], { objectMode: false }), output: sinkStream(io) };
    await serveStdio(sdk, grounds, streams, io.stop);
    await sessions.stop(DRAIN_MS);
    return io.stop.aborted ? interruption(io.stop) : EXIT.done;
  }
  // The option's own check has let it through.
  const { host, port } = present(placeOf(settings.listen));
  const { url, close } = await startEnvironment({
    ...grounds,
    host,
    port,
    apiKey: settings.listenKey ?? '',
    mcp: sdk === undefined ? undefined : mcpRoute(sdk, grounds),
    onError,
    onRequest: settings.verbose ? (record) => say(requestLine({ ...record, usage: undefined }, new Date())) : undefined,
  });
  const { model } = simulator;
  const mcp = settings.mcp ? `${url}/mcp` : undefined;
  const also = mcp === undefined ? '' : `; MCP at ${mcp}`;
  io.stdout.write(
    settings.json
      ? `${JSON.stringify({ schema: 'awb.environment/1', url, mcp, model })}\n`
      : `worlds of ${printable(model)} at ${url} (OpenEnv; WebSockets at /ws)${also}\n`,
  );
  io.setLastWords('ended at once; recorded episodes stand at their last finished step');
  await stopped(io.stop);
  say('stopping: steps under way may end; interrupt again to end at once');
  await close(DRAIN_MS);
  return interruption(io.stop);
}

/** What clients are told; the rest is for whoever runs the server. */
function told(error: unknown, onError: (error: unknown) => void): ApiError {
  if (error instanceof ApiError) {
    // A full disk is mended by whoever runs the server; agents can only try again.
    if (error.code === NOT_RECORDED) onError(error);
    return error;
  }
  onError(error);
  return new ApiError(500, "the environment failed; the server's own messages say why", 'EXECUTION_ERROR');
}

function sinkStream({ stdout }: Io): Writable {
  return new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      stdout.write(String(text));
      done();
    },
  });
}

function stopped(stop: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (stop.aborted) done();
    stop.addEventListener('abort', () => done(), { once: true });
  });
}
