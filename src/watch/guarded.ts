// Commands that die with the watch, however it dies: each runs under a guard (guard.ts).

import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseObject } from '../json.js';
import type { Io } from '../types.js';
import type { GuardReport, GuardTask } from './guard.js';

/** Compiled code alone can be started as a process. Tests run the sources, and what they start is what they have compiled before. */
export const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? '../../dist/' : '../', import.meta.url);
const GUARD = fileURLToPath(new URL('watch/guard.js', PROGRAM));

interface GuardedCommand {
  readonly words: readonly string[];
  readonly env: Io['env'];
  readonly cwd: string;
  /** Files that its standard output and standard error are appended to. */
  readonly output: string;
  readonly errors: string;
  /** Its standard input; empty where absent. */
  readonly input?: string;
  readonly graceMs: number;
}

interface Guarded {
  /** Of the guard, which lives as long as the command. */
  readonly pid: number | undefined;
  /** Resolves once the command and all of its group have ended. */
  readonly ended: Promise<GuardReport>;
  /** Asks it to end, and ends it after its grace. */
  end(): void;
}

/** Starts a command. @throws what opening its files throws */
export function startGuarded({ words, env, cwd, output, errors, input = '', graceMs }: GuardedCommand): Guarded {
  const task: GuardTask = { words, graceMs };
  const out = openSync(output, 'a');
  const err = openSync(errors, 'a');
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(task)], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'ignore', out, err],
    detached: true,
  });
  closeSync(out);
  closeSync(err);
  // A guard that has ended reads nothing more.
  guard.stdin?.on('error', () => {});
  guard.stdin?.write(`${JSON.stringify(input)}\n`);
  let said = '';
  guard.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<GuardReport>((done) => {
    guard.once('error', ({ message }) => done({ code: null, signal: null, fault: message }));
    guard.once('close', (_code, signal) => done(reportIn(said) ?? { code: null, signal: signal ?? 'SIGKILL' }));
  });
  return { pid: guard.pid, ended, end: () => void guard.stdin?.end() };
}

function reportIn(said: string): GuardReport | undefined {
  const value = parseObject(said);
  // Our own guard has written it.
  return value === undefined ? undefined : (value as unknown as GuardReport);
}

/** The environment of commands that are not of this program: no key of an endpoint is theirs. */
export function withoutKeys(env: Io['env']): Io['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(AWB_.*|OPENAI_)API_KEY$/.test(name)));
}
