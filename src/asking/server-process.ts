// The process of a local server: started, listened to until it takes requests, and ended.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode, interruption, UserError } from '../errors.js';
import { parseObject } from '../json.js';
import { printable } from '../printable.js';
import type { ModelFacts } from '../serve/engine-contract.js';
import type { Io } from '../types.js';

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
export type StartServer = (args: readonly string[], env: Readonly<Record<string, string | undefined>>) => ChildProcess;

/** Starts this program's own `awb serve`. */
export function startProcess(
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
export function wordsOf(child: ChildProcess, io: Io, quiet: boolean): { last(): string } {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(-KEPT_WORDS);
    if (!quiet) io.stderr.write(printable(text, { multiline: true }));
  });
  return { last: () => printable(said.trim().split('\n').at(-1) ?? '').replace(/^awb: /, '') };
}

/** Resolves with the document that the server prints once it takes requests; where it does not, the process has ended. */
export async function ready(
  child: ChildProcess,
  io: Io,
  words: { last(): string },
  quiet: boolean,
): Promise<ServeDocument> {
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
export function interrupted(io: Io): UserError {
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
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  child.stdin?.end();
  const kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(kill);
}
