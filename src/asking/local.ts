// `--local MODEL`: awb serve in a process of its own for as long as a run takes, reached over loopback like any other endpoint.

import { randomBytes } from 'node:crypto';
import { EXIT, UserError } from '../errors.js';
import type { Identity } from '../run/identity.js';
import type { Io } from '../types.js';
import { interrupted, ready, type StartServer, startProcess, stopProcess, wordsOf } from './server-process.js';

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
