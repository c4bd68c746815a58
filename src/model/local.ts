// `--local MODEL`: awb serve in a process of its own for as long as a run takes, reached over loopback like any other endpoint.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import type { Identity } from '../core/identity.js';
import { parseObject } from '../core/json.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import type { ModelFacts } from '../serve/load.js';

interface LocalServer {
  /** Base URL, ending in /v1. */
  readonly url: string;
  /** The name it is served under. */
  readonly name: string;
  /** The key that it asks for, made for this run alone. */
  readonly apiKey: string;
  /** Requests that it serves at the same time; more would only wait, and take each other's kept states. */
  readonly slots: number;
  /** What a run's identity holds of it: the file and what moves its answers, not the port, the slots or the hardware. */
  readonly identity: Identity;
  /** Aborted where it ends before it is closed; the reason is a UserError that says how. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/**
 * Starts the server on a free port of loopback and waits until it takes requests; what it says goes to stderr. It ends by itself when
 * this process ends, since its standard input closes then.
 * @throws UserError with the server's own message and exit code where it cannot serve, and where it falls silent while it loads (69).
 */
export async function startLocal(
  model: string,
  io: Io,
  settings: {
    readonly quiet: boolean;
    readonly config?: string | undefined;
    readonly concurrency: number | 'adaptive';
    /** Another name under which it is asked. */
    readonly alias?: string;
  },
  start: StartServer = (args, env) => startProcess(args, env, io),
): Promise<LocalServer> {
  if (io.stop.aborted) throw interrupted(io);
  const slots = settings.concurrency === 'adaptive' ? [] : ['--parallel', String(settings.concurrency)];
  const args = [
    ...['serve', '--model', model, '--host', '127.0.0.1', '--port', '0', '--until-stdin-closes', '--json'],
    ...slots,
    ...(settings.alias === undefined ? [] : ['--alias', settings.alias]),
    ...(settings.config === undefined ? [] : ['--config', settings.config]),
  ];
  const apiKey = randomBytes(24).toString('base64url');
  // The server needs no key of any endpoint; its own is not that of the settings file, which is for other clients.
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !/API_KEY$/.test(name)));
  const child = start(args, { ...env, AWB_API_KEY: apiKey });
  const words = wordsOf(child, io, settings.quiet);
  const document = await ready(child, io, words, settings.quiet);
  const { sha256, kvCache } = document.model;
  const lost = new AbortController();
  const onEnd = (code: number | null, signal: NodeJS.Signals | null) => lost.abort(died(code, signal, words.last()));
  child.once('close', onEnd);
  return {
    url: document.url,
    name: document.model.name,
    apiKey,
    slots: document.model.slots,
    identity: { sha256, kv_cache: kvCache },
    lost: lost.signal,
    close() {
      child.off('close', onEnd);
      return stopProcess(child);
    },
  };
}

function died(code: number | null, signal: NodeJS.Signals | null, last: string): UserError {
  return new UserError(
    `the local server ${howItDied(code, signal, last)}; all finished rows are saved, and the same command goes on with the others`,
    EXIT.unavailable,
  );
}

function howItDied(code: number | null, signal: NodeJS.Signals | null, last: string): string {
  if (signal === 'SIGKILL') {
    return 'was killed (SIGKILL), as systems do when they are out of memory: AWB_CONTEXT, AWB_KV_CACHE=q8_0 or a smaller file needs less';
  }
  const said = last === '' ? '' : ` and last said: ${last}`;
  return signal === null ? `ended with exit code ${code}${said}` : `ended by ${signal}${said}`;
}

/** What is printed once requests are taken: with --json this document, and nothing else. */
export interface ServeDocument {
  readonly schema: 'awb.serve/1';
  /** Base URL for clients, ending in /v1. */
  readonly url: string;
  readonly model: ModelFacts;
}

const PROGRAM = fileURLToPath(new URL('../bin.js', import.meta.url));
const KILL_AFTER_MS = 10_000;
/** While it downloads, checks and loads it says every few seconds how far it is. */
const MOST_SILENCE_MS = 10 * 60_000;
/** Of what it says, so much is kept for a message. */
const KEPT_WORDS = 4_000;

/** Starts a server process with these arguments and environment, its three streams piped. */
type StartServer = (args: readonly string[], env: Readonly<Record<string, string | undefined>>) => ChildProcess;

/** Starts this program's own `awb serve`. */
function startProcess(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  io: Io,
): ChildProcess {
  return spawn(process.execPath, [PROGRAM, ...args], {
    cwd: io.cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C reaches the run alone, which lets the calls in flight end before it stops the server.
    detached: true,
  });
}

/** What the server says: shown as it comes unless quiet, and the last line kept. */
function wordsOf(child: ChildProcess, io: Io, quiet: boolean): { last(): string } {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-KEPT_WORDS);
    if (!quiet) io.stderr.write(printable(text, { multiline: true }));
  });
  return { last: () => printable(said.trim().split('\n').at(-1) ?? '').replace(/^awb: /, '') };
}

/** Resolves with the document that the server prints once it takes requests; where it does not, the process has ended. */
async function ready(child: ChildProcess, io: Io, words: { last(): string }, quiet: boolean): Promise<ServeDocument> {
  // While it loads there is nothing to save, and loading cannot be broken off.
  const kill = () => child.kill('SIGKILL');
  let isSilent = false;
  const deadline = setTimeout(() => {
    isSilent = true;
    kill();
  }, MOST_SILENCE_MS);
  const heard = () => deadline.refresh();
  io.stop.addEventListener('abort', kill, { once: true });
  child.stderr?.on('data', heard);
  const printed = child.stdout && createInterface({ input: child.stdout });
  try {
    return await new Promise<ServeDocument>((done, failed) => {
      printed?.on('line', (line) => {
        const document = documentIn(line);
        if (document !== undefined) done(document);
      });
      child.once('error', failed);
      child.once('close', (code) => {
        if (io.stop.aborted) failed(interrupted(io));
        else failed(isSilent ? silent(words.last()) : failure(code, words.last(), quiet));
      });
    });
  } finally {
    clearTimeout(deadline);
    io.stop.removeEventListener('abort', kill);
    child.stderr?.off('data', heard);
    printed?.close();
    // Whatever else comes must not fill the pipe.
    child.stdout?.resume();
  }
}

/** Undefined for a line of anybody else: a GPU's driver may print there too. */
function documentIn(line: string): ServeDocument | undefined {
  const value = parseObject(line);
  // This very version of the program has printed it.
  return value?.schema === 'awb.serve/1' ? (value as unknown as ServeDocument) : undefined;
}

/** What an interrupt before the server takes requests ends a run with. */
function interrupted(io: Io): UserError {
  const exitCode = interruption(io.stop);
  return new UserError('interrupted before the local server took requests; the same command starts it again', exitCode);
}

function silent(last: string): UserError {
  const heard = last === '' ? '' : `; it last said: ${last}`;
  return new UserError(
    `the local server said nothing for ${MOST_SILENCE_MS / 60_000} minutes while it loaded, and was ended${heard}`,
    EXIT.unavailable,
  );
}

function failure(code: number | null, last: string, quiet: boolean): UserError {
  const known = Object.values(EXIT).find((exitCode) => exitCode === code);
  const exitCode: ExitCode = known === undefined || known === EXIT.done ? EXIT.unavailable : known;
  const why = last === '' ? '' : quiet ? `: ${last}` : '; it said why above';
  return new UserError(`the local server ended before it took requests${why}`, exitCode);
}

/** Ends the process: it does by itself once its standard input has ended, and is killed where it does not in time. */
async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  child.stdin?.end();
  const kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(kill);
}
