// `--local MODEL`: awb serve in a process of its own for as long as a run takes, reached over loopback like any other endpoint.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode, UserError } from '../errors.js';
import { printable } from '../printable.js';
import type { Identity } from '../run/manifest.js';
import type { Io } from '../types.js';
import type { ServeDocument } from './serve.js';
import type { OptionTable } from './settings.js';

export const LOCAL_OPTIONS = {
  local: {
    kind: 'text',
    value: 'MODEL',
    group: 'Model',
    help: 'serve this GGUF file or hub model here for the run (see awb serve; AWB_… settings of serve hold)',
  },
} as const satisfies OptionTable;

export interface LocalServer {
  /** Base URL, ending in /v1. */
  readonly url: string;
  /** The name it is served under. */
  readonly name: string;
  /** What a run's identity holds of it: the file and what moves its answers, not the port, the slots or the hardware. */
  readonly identity: Identity;
  close(): Promise<void>;
}

const BIN = fileURLToPath(new URL('../bin.js', import.meta.url));
const KILL_AFTER_MS = 10_000;

/**
 * Starts the server on a free port of loopback and waits until it takes requests; what it says goes to stderr. It ends by itself when
 * this process ends, since its standard input closes then.
 * @throws UserError with the server's own message and exit code where it cannot serve.
 */
export async function startLocal(
  model: string,
  io: Io,
  settings: {
    readonly quiet: boolean;
    readonly config?: string | undefined;
    readonly concurrency: number | 'adaptive';
  },
): Promise<LocalServer> {
  const slots = settings.concurrency === 'adaptive' ? [] : ['--parallel', String(settings.concurrency)];
  const args = [
    ...['serve', '--model', model, '--host', '127.0.0.1', '--port', '0', '--until-stdin-closes', '--json'],
    ...slots,
    ...(settings.config === undefined ? [] : ['--config', settings.config]),
  ];
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: io.cwd,
    // The server needs no key of any endpoint.
    env: Object.fromEntries(Object.entries(io.env).filter(([name]) => !/API_KEY$/.test(name))),
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C reaches the run alone, which lets the calls in flight end before it stops the server.
    detached: true,
  });
  const document = await ready(child, io, settings.quiet);
  const { sha256, kvCache } = document.model;
  return {
    url: document.url,
    name: document.model.name,
    identity: { sha256, kv_cache: kvCache },
    close: () => stop(child),
  };
}

/** Resolves with what the server prints once it takes requests. */
async function ready(child: ChildProcess, io: Io, quiet: boolean): Promise<ServeDocument> {
  // While it loads there is nothing to save, and loading cannot be broken off.
  const abort = () => child.kill('SIGKILL');
  io.stop.addEventListener('abort', abort, { once: true });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-4_000);
    if (!quiet) io.stderr.write(printable(text, { multiline: true }));
  });
  try {
    return await new Promise<ServeDocument>((done, failed) => {
      let printed = '';
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        if (printed.includes('\n')) done(JSON.parse(printed) as ServeDocument);
      });
      child.once('error', failed);
      child.once('close', (code) => failed(io.stop.aborted ? interrupted(io) : failure(code, said, quiet)));
    });
  } finally {
    io.stop.removeEventListener('abort', abort);
  }
}

function interrupted(io: Io): UserError {
  const exitCode = io.stop.reason === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
  return new UserError('interrupted while the local server was loading; the same command starts it again', exitCode);
}

function failure(code: number | null, said: string, quiet: boolean): UserError {
  const known = Object.values(EXIT).find((known) => known === code);
  const exitCode: ExitCode = known === undefined || known === EXIT.done ? EXIT.unavailable : known;
  const last = said.trim().split('\n').at(-1) ?? '';
  const why = quiet ? `: ${printable(last).replace(/^awb: /, '')}` : '; it said why above';
  return new UserError(`the local server ended before it took requests${why}`, exitCode);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  child.stdin?.end();
  const kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(kill);
}
