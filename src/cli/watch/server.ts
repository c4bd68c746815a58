// The server of a checkpoint: started, awaited until it lists its models, and stopped with all that it has started.

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { isObject, parseObject } from '../../core/json.js';
import type { Io } from '../../core/types.js';
import { isAlive } from '../../run/run.js';
import { endpointAt, filled, givenEnv, startGuarded, tailOf, wordsOf } from './commands.js';
import type { WatchSettings } from './options.js';

/** A server that takes no end is killed after so long. */
const GRACE_MS = 15_000;
/** Below the ports that systems give to whoever asks for any: one of those could be taken while a server loads its model. */
const FIRST_PORT = 10_000;
const LAST_PORT = 30_000;
const MOST_PORTS = 100;
const LOOK_EVERY_MS = 250;
const LONGEST_LOOK_MS = 5_000;

/** What keeps a checkpoint from being evaluated, in one sentence; it says nothing of the checkpoint's quality. */
export class NotEvaluated extends Error {}

interface Server {
  readonly url: string;
  readonly model: string;
  /** Aborted where it ends by itself; the reason is a `NotEvaluated`. */
  readonly lost: AbortSignal;
  stop(): Promise<void>;
}

/**
 * Starts the server of a checkpoint. What it writes goes to the log.
 * @param pidFile tells the next watch, should this one be killed, whose end to wait for
 * @throws NotEvaluated where it cannot be started, ends, or is not ready in time
 */
export async function startServer(
  checkpoint: { readonly name: string; readonly path: string },
  { log, pidFile }: { readonly log: string; readonly pidFile: string },
  settings: WatchSettings,
  io: Io,
): Promise<Server> {
  await endOfEarlier(pidFile);
  const port = await portFor(settings.port);
  const values = { checkpoint: checkpoint.path, name: checkpoint.name, port: String(port) };
  const words = filled(wordsOf(settings.serveCommand, '--serve-command'), values);
  const url = endpointAt(settings.endpoint, port);
  const env = givenEnv(io.env, settings.passEnv);
  const stopping = new AbortController();
  const guarded = startGuarded({ words, env, cwd: io.cwd, log, graceMs: GRACE_MS }, stopping.signal);
  const lost = new AbortController();
  const ended = guarded.ended.then(async ({ code, signal, fault }) => {
    const how =
      fault === undefined
        ? `the server ended by itself (${signal ?? `exit code ${code}`})${await tailOf(log)}`
        : `the server cannot be started (${fault})`;
    if (!stopping.signal.aborted) lost.abort(new NotEvaluated(how));
  });
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  try {
    await writeFile(pidFile, `${guarded.pid}\n`);
    const model = await ready(url, log, lost.signal, settings, io);
    return { url, model, lost: lost.signal, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The server of a watch that was killed ends by itself, but may take its grace for it, and holds the GPU until then. */
async function endOfEarlier(pidFile: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  const until = performance.now() + GRACE_MS;
  while (isAlive(pid) && performance.now() < until) await wait(LOOK_EVERY_MS);
}

/** Resolves with the name of the model once the server lists one. */
async function ready(url: string, log: string, lost: AbortSignal, settings: WatchSettings, io: Io): Promise<string> {
  const { waitReady, servedModel } = settings;
  const until = performance.now() + waitReady * 1000;
  const ending = AbortSignal.any([lost, io.stop]);
  while (performance.now() < until) {
    ending.throwIfAborted();
    const listed = await modelsAt(url, io);
    if (listed !== undefined) {
      const model = servedModel ?? listed[0];
      if (model !== undefined) return model;
      throw new NotEvaluated(`${url}/models lists no model; name it with --served-model`);
    }
    await wait(LOOK_EVERY_MS, undefined, { signal: ending }).catch(() => undefined);
  }
  throw new NotEvaluated(
    `the server was not ready after ${waitReady} s (--wait-ready): ${url}/models${await tailOf(log)}`,
  );
}

/** The models that a server lists, none where it asks for another key; undefined while it is not ready. */
async function modelsAt(url: string, { env, stop }: Io): Promise<readonly string[] | undefined> {
  const { AWB_MODEL_API_KEY: key } = env;
  try {
    const response = await fetch(`${url}/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.any([stop, AbortSignal.timeout(LONGEST_LOOK_MS)]),
    });
    const text = await response.text();
    if (response.status === 401 || response.status === 403) return [];
    if (!response.ok) return undefined;
    const data = parseObject(text)?.data;
    return Array.isArray(data)
      ? data.flatMap((model) => (isObject(model) && typeof model.id === 'string' ? model.id : []))
      : [];
  } catch {
    return undefined;
  }
}

/** @throws NotEvaluated where somebody else has the port: that server would be asked in place of ours */
async function portFor(given: number | undefined): Promise<number> {
  if (given !== undefined && (await isFree(given))) return given;
  if (given !== undefined) throw new NotEvaluated(`port ${given} is taken by another process`);
  for (let tries = 0; tries < MOST_PORTS; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) return port;
  }
  throw new NotEvaluated(`no port is free: of ${MOST_PORTS} none could be listened at`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
