// The processes of a watch: parses commands, prepares their environment, starts commands that end with the watch, and serves checkpoints.

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { UserError } from '../../core/errors.js';
import { isObject, parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import type { WatchSettings } from './checkpoints.js';
import type { GuardReport, GuardTask } from './guard.js';

/** Only compiled code can be started as a process. Tests run the sources, and start code compiled before. */
export const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? '../../../dist/' : '../../', import.meta.url);
const GUARD = fileURLToPath(new URL('cli/watch/guard.js', PROGRAM));

/**
 * Starts a command under a guard (guard.ts), and ends it once the signal is aborted.
 * @returns resolves once the command and its process group have ended
 * @throws if its files cannot be opened
 */
export function startGuarded({ env, cwd, ...task }: GuardTask & Pick<Io, 'env' | 'cwd'>, ending: AbortSignal) {
  // Opened here first, since the guard could not report a failure.
  for (const path of [task.log, task.output ?? task.log]) closeSync(openSync(path, 'a+'));
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(task)], {
    ...{ cwd, env, detached: true },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // A guard that has ended no longer reads.
  guard.stdin.on('error', () => {});
  const end = () => void guard.stdin.end();
  ending.addEventListener('abort', end, { once: true });
  if (ending.aborted) end();
  let said = '';
  guard.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<GuardReport>((done) => {
    guard.once('error', ({ message }) => done({ code: null, signal: null, fault: message }));
    guard.once('close', (_code, signal) =>
      // Written by our own guard.
      done((parseObject(said) as GuardReport | undefined) ?? { code: null, signal: signal ?? 'SIGKILL' }),
    );
  });
  return ended.finally(() => ending.removeEventListener('abort', end));
}

/** Names of variables with secrets, and addresses with a password, which only proxy variables may keep. */
const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|JWT|WEBHOOK)$/i;
const WITH_PASSWORD = /:\/\/[^/\s]*:[^/\s]*@/;
/** The environment of processes that the watch starts, without secrets other than the named ones. */
export function envFor(env: Io['env'], keys: readonly string[]): Io['env'] {
  const isSecret = (name: string, value = '') =>
    SECRET_NAME.test(name) || (!/_proxy$/i.test(name) && WITH_PASSWORD.test(value));
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => keys.includes(name) || !isSecret(name, value)),
  );
}

const TAIL_LINES = 5;
const TAIL_CHARACTERS = 4_000;

/** The last lines of a log, as the end of a sentence. */
export async function tailOf(log: string): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '');
  const lines = text.slice(-TAIL_CHARACTERS).trim().split('\n').slice(-TAIL_LINES);
  const said = oneLine(lines.join(' | '), 300);
  return said === '' ? '' : `; it last said: ${said}`;
}

const PIECE = /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|[^\s'"\\]/g;
const WORD = new RegExp(`(?:${PIECE.source})+`, 'g');

/**
 * The words of a command: a list unchanged, or one text split as a POSIX shell would, with quotes and backslashes but no variables or
 * pipes.
 * @throws UserError (2) for an unclosed quote
 */
export function wordsOf(given: readonly string[], flag: string): string[] {
  const [text = '', ...others] = given;
  if (others.length > 0) return [...given];
  if (text.replace(WORD, '').trim() !== '') throw new UserError(`${flag}: close the quote, or complete the backslash`);
  const unquoted = (piece: string, single?: string, double?: string, escaped?: string) =>
    single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? piece;
  return (text.match(WORD) ?? []).map((word) => word.replace(PIECE, unquoted));
}

/** Replaces names in braces by their values. Values are not expanded again, and unknown names stay. */
export function filled(words: readonly string[], values: Readonly<Record<string, string>>): string[] {
  return words.map((word) => word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole));
}

/** The address of the server, by the template of --endpoint. */
export function endpointAt(endpoint: string, port: number): string {
  return filled([endpoint.replace(/\/+$/, '')], { port: String(port) }).join('');
}

/** A server that does not end when told to is killed after this time. */
const GRACE_MS = 15_000;
const LOOK_EVERY_MS = 250;
const LONGEST_LOOK_MS = 5_000;

/** Why a checkpoint could not be evaluated, in one sentence. It says nothing about the checkpoint's quality. */
export class NotEvaluated extends Error {}

/** A server that is ready. */
export interface Server {
  readonly url: string;
  readonly model: string;
  /** Aborted with a `NotEvaluated` if the server ends by itself. */
  readonly lost: AbortSignal;
}

/**
 * Starts the server of a checkpoint, waits until it lists its models, and stops it after use.
 * @param dir folder for its log
 * @throws NotEvaluated if it cannot be started, ends, or is not ready in time
 */
export async function withServer<T>(
  checkpoint: { readonly name: string; readonly path: string },
  dir: string,
  settings: WatchSettings,
  io: Io,
  use: (server: Server) => Promise<T>,
): Promise<T> {
  const port = await portFor(settings.port);
  const values = { checkpoint: checkpoint.path, name: checkpoint.name, port: String(port) };
  const words = filled(wordsOf(settings.serveCommand, '--serve-command'), values);
  const url = endpointAt(settings.endpoint, port);
  const log = join(dir, 'server.log');
  const env = envFor(io.env, settings.passEnv);
  const [stopping, lost] = [new AbortController(), new AbortController()];
  const ended = startGuarded({ words, env, cwd: io.cwd, log, graceMs: GRACE_MS }, stopping.signal).then(
    async ({ code, signal, fault }) => {
      const how = `the server exited unexpectedly (${signal ?? `exit code ${code}`})${await tailOf(log)}`;
      const reason = fault === undefined ? how : `the server could not be started (${fault})`;
      if (!stopping.signal.aborted) lost.abort(new NotEvaluated(reason));
    },
  );
  try {
    const model = await ready(url, log, lost.signal, settings, io);
    return await use({ url, model, lost: lost.signal });
  } finally {
    stopping.abort();
    await ended;
  }
}

/** Resolves with the name of the model once the server lists one. */
async function ready(
  url: string,
  log: string,
  lost: AbortSignal,
  { waitReady, servedModel }: WatchSettings,
  { env, stop }: Io,
): Promise<string> {
  const { AWB_MODEL_API_KEY: key } = env;
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const until = performance.now() + waitReady * 1000;
  const ending = AbortSignal.any([lost, stop]);
  while (performance.now() < until) {
    ending.throwIfAborted();
    const signal = AbortSignal.any([ending, AbortSignal.timeout(LONGEST_LOOK_MS)]);
    const look = fetch(`${url}/models`, { headers, signal }).then(modelsIn);
    const listed = await look.catch(() => undefined);
    const model = listed && (servedModel ?? listed[0]);
    if (model !== undefined) return model;
    if (listed) throw new NotEvaluated(`${url}/models lists no model; name it with --served-model`);
    await wait(LOOK_EVERY_MS, undefined, { signal: ending }).catch(() => undefined);
  }
  throw new NotEvaluated(`the server was not ready after ${waitReady} s (--wait-ready)${await tailOf(log)}`);
}

/** The models that a server lists; none if it wants another key; undefined while it is not ready. */
async function modelsIn(response: Response): Promise<readonly string[] | undefined> {
  const data = parseObject(await response.text())?.data;
  if (response.status === 401 || response.status === 403) return [];
  if (!response.ok) return undefined;
  const models: unknown[] = Array.isArray(data) ? data : [];
  return models.flatMap((model) => (isObject(model) && typeof model.id === 'string' ? model.id : []));
}

/** Below the range of ephemeral ports, which could be taken while a server loads its model. */
const [FIRST_PORT, LAST_PORT] = [10_000, 30_000];

/** @throws NotEvaluated if another process has the port: that server would be asked instead of ours */
async function portFor(port = randomInt(FIRST_PORT, LAST_PORT)): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening').catch(() => {
    throw new NotEvaluated(`port ${port} is taken by another process`);
  });
  server.close();
  return port;
}
