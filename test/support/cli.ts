// The program in tests: in this process with its output recorded, or in another process that can be killed.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { DOCUMENTS } from '../../src/cli/schemas.js';
import { COMMANDS, main } from '../../src/cli.js';
import type { Io } from '../../src/core/types.js';

export const ROOT = resolve(import.meta.dirname, '../..');
export const RECORDED = join(ROOT, 'fixtures/recorded');
/** A rubric pack without a checklist and without optional slots. */
export const PLAIN_PACK = join(ROOT, 'fixtures/plain-pack');

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs `awb` with these arguments in this process. If a single-valued option is repeated, the last one counts, so tests can override shared
 * arguments.
 */
export async function awb(
  args: readonly string[],
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
    readonly stop?: AbortSignal;
    /** Set if a single-valued option should really be given twice. */
    readonly asTyped?: true;
    /** Replaces the process's stderr. */
    readonly stderr?: Io['stderr'];
    /** Standard input, like that of a pipe. */
    readonly input?: string;
  } = {},
): Promise<CliResult> {
  let stdout = '';
  let stderr = '';
  const io: Io = {
    stdout: {
      isTTY: false,
      columns: 80,
      write(text) {
        stdout += text;
      },
    },
    stderr: options.stderr ?? {
      isTTY: false,
      columns: 80,
      write(text) {
        stderr += text;
      },
    },
    env: options.env ?? {},
    cwd: options.cwd ?? ROOT,
    stop: options.stop ?? new AbortController().signal,
    setLastWords() {},
    stdinClosed: () => new Promise(() => {}),
    ...(options.input === undefined ? {} : { input: () => Readable.from([Buffer.from(options.input ?? '')]) }),
  };
  const code = await main(options.asTyped ? args : await overridden(args), io);
  requireSchema(stdout);
  return { code, stdout, stderr };
}

/** Checks every document that a command prints in any test against its schema. */
function requireSchema(stdout: string): void {
  const name = /^\{\s*"schema":\s*"(awb\.[^"]+)"/.exec(stdout)?.[1];
  if (name === undefined) return;
  const form = DOCUMENTS[name];
  if (form === undefined) throw new Error(`${name} has no schema in src/cli/schemas.ts`);
  const issues = form.safeParse(JSON.parse(stdout)).error?.issues;
  if (issues !== undefined) throw new Error(`${name} is not as its schema says: ${JSON.stringify(issues.slice(0, 3))}`);
}

/** The arguments without values of single-valued options that later ones override. */
async function overridden(args: readonly string[]): Promise<readonly string[]> {
  const entry = COMMANDS.find(({ name }) => name === args[0] || name === args.slice(0, 2).join(' '));
  const repeated = args.filter((word, at) => /^--[a-z]/.test(word) && args.indexOf(word, at + 1) > at);
  if (entry === undefined || repeated.length === 0) return args;
  const { options } = (await entry.load()).command;
  const isOverridden = (at: number) => {
    const [word = ''] = args.slice(at);
    const kind = options[word.slice(2)]?.kind ?? 'boolean';
    return repeated.includes(word) && args.indexOf(word, at + 1) > at && !['list', 'map', 'boolean'].includes(kind);
  };
  return args.filter((_, at) => !isOverridden(at) && !(at > 0 && isOverridden(at - 1)));
}

export interface CliProcess {
  readonly child: ChildProcess;
  /** Resolves when the process has ended in any way; a killed one has no code. */
  readonly ended: Promise<CliResult & { readonly signal: NodeJS.Signals | null }>;
}

/** Starts the compiled `awb` (vitest compiles it before the tests). */
export function startAwb(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd: string = ROOT,
  stdin: 'ignore' | 'pipe' = 'ignore',
): CliProcess {
  const child = spawn(process.execPath, [join(ROOT, 'dist/bin.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<CliResult & { signal: NodeJS.Signals | null }>((done) => {
    child.on('close', (code, signal) => done({ code: code ?? -1, signal, stdout, stderr }));
  });
  return { child, ended };
}

/** A new empty folder; the global teardown removes it. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'awb-test-'));
}
