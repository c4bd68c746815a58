// `--local MODEL`: awb serve in its own process for the duration of a run, reached over loopback like any other endpoint.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EXIT, interruption, UserError, unavailable } from '../core/errors.js';
import type { Identity } from '../core/identity.js';
import { parseObject } from '../core/json.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import type { ModelFacts } from '../serve/load.js';

/** What is printed once requests are accepted: with --json only this document. */
export interface ServeDocument {
  readonly schema: 'awb.serve/1';
  /** Base URL for clients, ending in /v1. */
  readonly url: string;
  readonly model: ModelFacts;
}

const PROGRAM = fileURLToPath(new URL('../bin.js', import.meta.url));
const KILL_AFTER_MS = 10_000;
/** While it downloads, checks and loads, it reports its progress every few seconds. */
const MOST_SILENCE_MS = 10 * 60_000;
/** How many characters of its output are kept for a message. */
const KEPT_WORDS = 4_000;

/** Starts a server process with these arguments and environment, and with its three streams piped. */
type StartServer = (args: readonly string[], env: Readonly<Record<string, string | undefined>>) => ChildProcess;

/**
 * Starts the server on a free loopback port and waits until it accepts requests; its output goes to stderr. It ends by itself when this
 * process ends, since its standard input closes then. `alias` is another name under which it accepts requests.
 * @throws UserError with the server's own message and exit code if it cannot serve, or if it falls silent while it loads (69).
 */
export async function startLocal(
  model: string,
  io: Io,
  settings: Readonly<{ quiet: boolean; config?: string | undefined; concurrency: number | 'adaptive'; alias?: string }>,
  start: StartServer = (args, env) =>
    // Ctrl-C reaches only the run, which lets the calls in flight end before it stops the server.
    spawn(process.execPath, [PROGRAM, ...args], { cwd: io.cwd, env, stdio: 'pipe', detached: true }),
) {
  const { quiet, config, concurrency, alias } = settings;
  if (io.stop.aborted) throw interrupted(io);
  const args = [
    ...['serve', '--model', model, '--host', '127.0.0.1', '--port', '0', '--until-stdin-closes', '--json'],
    ...(concurrency === 'adaptive' ? [] : ['--parallel', String(concurrency)]),
    ...(alias === undefined ? [] : ['--alias', alias]),
    ...(config === undefined ? [] : ['--config', config]),
  ];
  const apiKey = randomBytes(24).toString('base64url');
  // The server needs no key of any endpoint; its own key is not the one in the settings file, which is for other clients.
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !/API_KEY$/.test(name)));
  const child = start(args, { ...env, AWB_API_KEY: apiKey });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-KEPT_WORDS);
    if (!quiet) io.stderr.write(printable(text, { multiline: true }));
  });
  const lastWords = () => printable(said.trim().split('\n').at(-1) ?? '').replace(/^awb: /, '');
  const document = await ready(child, io, lastWords);
  const { sha256, kvCache, name, slots } = document.model;
  const lost = new AbortController();
  const onEnd = (code: number | null, signal: NodeJS.Signals | null) => {
    // SIGKILL is what systems send when they are out of memory.
    const how = `the local server ended with ${signal ?? `exit code ${code}`} and last said: ${lastWords()}`;
    const saved = 'all finished rows are saved; run the same command again for the others';
    lost.abort(unavailable(`${how}; if it ran out of memory, use a smaller AWB_CONTEXT or model file; ${saved}`));
  };
  child.once('close', onEnd);
  const identity: Identity = { sha256, kv_cache: kvCache };
  return {
    /** Base URL, ending in /v1. */
    url: document.url,
    /** The name under which it is served. */
    name,
    /** The key that it requires, made only for this run. */
    apiKey,
    /** Requests that it serves at the same time; more would only wait, and evict each other's cached states. */
    slots,
    /** Its part of a run's identity: the file and what affects its answers, not the port, the slots or the hardware. */
    identity,
    /** Aborted if it ends before it is closed; the reason is a UserError that says how. */
    lost: lost.signal,
    close() {
      child.off('close', onEnd);
      return stopProcess(child);
    },
  };
}

/** Resolves to the document that the server prints once it accepts requests; rejects if the process ends before that. */
async function ready(child: ChildProcess, io: Io, lastWords: () => string): Promise<ServeDocument> {
  // While it loads there is nothing to save, and loading cannot be cancelled.
  const kill = () => child.kill('SIGKILL');
  const deadline = setTimeout(kill, MOST_SILENCE_MS);
  const heard = () => deadline.refresh();
  io.stop.addEventListener('abort', kill, { once: true });
  child.stderr?.on('data', heard);
  const printed = child.stdout && createInterface({ input: child.stdout });
  try {
    return await new Promise<ServeDocument>((done, failed) => {
      printed?.on('line', (line) => {
        const value = parseObject(line);
        // A GPU driver may print there, too. The document was printed by this same version of the program.
        if (value?.schema === 'awb.serve/1') done(value as unknown as ServeDocument);
      });
      child.once('error', failed);
      child.once('close', (code) => failed(io.stop.aborted ? interrupted(io) : unready(code, lastWords())));
    });
  } finally {
    clearTimeout(deadline);
    io.stop.removeEventListener('abort', kill);
    child.stderr?.off('data', heard);
    printed?.close();
    // Further output must not fill the pipe.
    child.stdout?.resume();
  }
}

/** The error for an interrupt before the server accepts requests. */
function interrupted(io: Io): UserError {
  const exitCode = interruption(io.stop);
  return new UserError('interrupted before the local server was ready; the same command starts it again', exitCode);
}

function unready(code: number | null, last: string): UserError {
  const known = Object.values(EXIT).find((exitCode) => exitCode === code && exitCode !== EXIT.done);
  const message = `the local server ended, or said nothing for ${MOST_SILENCE_MS / 60_000} minutes, before it was ready: ${last}`;
  return new UserError(message, known ?? EXIT.unavailable);
}

/** Ends the process: it exits once its standard input has ended, and is killed if it does not do so in time. */
async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  child.stdin?.end();
  const kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(kill);
}
