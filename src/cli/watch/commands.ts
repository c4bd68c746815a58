// The commands of a watch: their words, their environment, what they said last, and that they die with the watch, however it dies: each
// runs under a guard (guard.ts).

import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { UserError } from '../../core/errors.js';
import { parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import type { GuardReport, GuardTask } from './guard.js';

/** Compiled code alone can be started as a process. Tests run the sources, and what they start is what they have compiled before. */
export const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? '../../../dist/' : '../../', import.meta.url);
const GUARD = fileURLToPath(new URL('cli/watch/guard.js', PROGRAM));

interface GuardedCommand {
  readonly words: readonly string[];
  readonly env: Io['env'];
  readonly cwd: string;
  /** The file that its standard output is appended to; the log where absent. */
  readonly output?: string;
  /** The file that whatever else it writes is appended to, as far as `BoundedLog` keeps it. */
  readonly log: string;
  /** Its standard input; empty where absent. */
  readonly input?: string;
  readonly graceMs: number;
}

interface Guarded {
  /** Of the guard, which lives as long as the command. */
  readonly pid: number | undefined;
  /** Resolves once the command and all of its group have ended. */
  readonly ended: Promise<GuardReport>;
}

/** Starts a command, and ends it once the signal is aborted. @throws what opening its files throws */
export function startGuarded(
  { words, env, cwd, output, log, input = '', graceMs }: GuardedCommand,
  ending: AbortSignal,
): Guarded {
  const task: GuardTask = { words, graceMs, hasOutput: output !== undefined };
  const files = [openSync(log, 'a+'), ...(output === undefined ? [] : [openSync(output, 'a')])];
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(task)], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'ignore', ...files],
    detached: true,
  });
  for (const file of files) closeSync(file);
  // A guard that has ended reads nothing more.
  guard.stdin?.on('error', () => {});
  guard.stdin?.write(`${JSON.stringify(input)}\n`);
  const end = () => void guard.stdin?.end();
  ending.addEventListener('abort', end, { once: true });
  if (ending.aborted) end();
  let said = '';
  guard.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<GuardReport>((done) => {
    guard.once('error', ({ message }) => done({ code: null, signal: null, fault: message }));
    guard.once('close', (_code, signal) => done(reportIn(said) ?? { code: null, signal: signal ?? 'SIGKILL' }));
  });
  return { pid: guard.pid, ended: ended.finally(() => ending.removeEventListener('abort', end)) };
}

function reportIn(said: string): GuardReport | undefined {
  const value = parseObject(said);
  // Our own guard has written it.
  return value === undefined ? undefined : (value as unknown as GuardReport);
}

/** Names of variables that hold secrets, whoever reads them. */
const SECRET = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|JWT)$/i;
/** What programs need of the system, of a proxy, of their runtime and of the accelerator. */
const USUAL = new RegExp(
  `^(?:${[
    'PATH|HOME|USER|LOGNAME|SHELL|PWD|TERM|TZ|LANG|LANGUAGE|LC_.*|TMPDIR|TEMP|TMP|XDG_.*|HOSTNAME|LD_LIBRARY_PATH|DYLD_.*',
    'SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES.*',
    '(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE',
    'NODE_.*|PYTHON.*|CONDA_.*|VIRTUAL_ENV|OMP_.*|MKL_.*|OPENBLAS_.*|TORCH.*|PYTORCH_.*|TRITON_.*|CUDA.*|NVIDIA_.*|NCCL_.*',
    'ROCR?_.*|ROCM_.*|HIP_.*|HSA_.*|UCX_.*|GLOO_.*|RAY_.*|SLURM_.*|VLLM_.*|SGLANG_.*|SGL_.*|GGML_.*|LLAMA_.*',
    'HF_HOME|HF_HUB_.*|HF_ENDPOINT|TRANSFORMERS_.*',
  ].join('|')})$`,
  'i',
);

/** The environment of the user's own commands: what programs usually need, no secret, and the variables that are named. */
export function givenEnv(env: Io['env'], names: readonly string[]): Io['env'] {
  return pick(env, (name) => names.includes(name) || (USUAL.test(name) && !SECRET.test(name)));
}

/** The environment of a step of this program: of secrets, those that are named. */
export function stepEnv(env: Io['env'], keys: readonly string[]): Io['env'] {
  return pick(env, (name) => keys.includes(name) || !SECRET.test(name));
}

function pick(env: Io['env'], isGiven: (name: string) => boolean): Io['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => isGiven(name)));
}

const TAIL_LINES = 5;
const TAIL_BYTES = 4_000;

/** The last lines of a log, as the end of a sentence. */
export async function tailOf(log: string): Promise<string> {
  const lines = (await lastBytes(log, TAIL_BYTES)).trim().split('\n').slice(-TAIL_LINES);
  const said = oneLine(lines.join(' | '), 300);
  return said === '' ? '' : `; it last said: ${said}`;
}

/** A server may write gigabytes. */
async function lastBytes(path: string, count: number): Promise<string> {
  const handle = await open(path).catch(() => undefined);
  if (handle === undefined) return '';
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, Math.max(0, size - count));
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** What may stand in braces. */
type Values = Readonly<Record<string, string>>;

const PART =
  /'(?<single>[^']*)'|"(?<double>(?:\\[\s\S]|[^"\\])*)"|\\(?<escaped>[\s\S])|(?<plain>[^\s'"\\]+)|(?<space>\s+)/gy;

/**
 * The words of a command: a list as it is, or one text that is split as a POSIX shell would, with quotes and backslashes and nothing
 * else: no variables, no pipes.
 * @throws UserError (2) for a quote that does not end
 */
export function wordsOf(given: readonly string[], flag: string): string[] {
  const [text = '', ...others] = given;
  if (others.length > 0) return [...given];
  const words: string[] = [];
  let word: string | undefined;
  let end = 0;
  for (const match of text.matchAll(PART)) {
    end = match.index + match[0].length;
    const { single, double, escaped, plain, space } = match.groups ?? {};
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    word = `${word ?? ''}${single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? ''}`;
  }
  if (end < text.length)
    throw new UserError(`${flag}: a quote or a backslash has no end, at "${text.slice(end, end + 20)}"`);
  return word === undefined ? words : [...words, word];
}

/** The words with what stands in braces filled in; what was filled in is not read again, and other braces stay. */
export function filled(words: readonly string[], values: Values): string[] {
  return words.map((word) => word.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole));
}

/** The address of the server at a port. */
export function endpointAt(endpoint: string, port: number): string {
  return filled([endpoint.replace(/\/+$/, '')], { port: String(port) }).join('');
}
