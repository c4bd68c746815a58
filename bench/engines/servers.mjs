// Starts each engine and records its /health answers until it is ready.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const KEY = 'a-key-of-the-benchmark';
export const CONTEXT = 32_768;
const SLOTS = 4;
const READY_MS = 15 * 60_000;

/** vLLM on a CPU: a small cache, no compilation, no thread pinning. */
const VLLM_ENV = {
  VLLM_CPU_KVCACHE_SPACE: '1',
  VLLM_CPU_OMP_THREADS_BIND: 'nobind',
  VLLM_NO_USAGE_STATS: '1',
  OMP_NUM_THREADS: '2',
  HF_HUB_OFFLINE: '1',
};

/** By name: the command and its environment, the model's name on the server, and the key (empty if it has none). */
export const ENGINES = {
  vllm: {
    words: 'vLLM',
    model: () => 'tiny',
    key: KEY,
    command: (paths, port) => [
      paths.torch,
      '-m',
      'vllm.entrypoints.openai.api_server',
      ...vllmFlags(paths),
      '--port',
      `${port}`,
      '--api-key',
      KEY,
    ],
    env: VLLM_ENV,
  },
  transformers: {
    words: 'transformers serve',
    model: ({ model }) => model,
    key: '',
    command: ({ torch, model }, port) => [
      join(torch, '../transformers'),
      ...['serve', model, '--host', '127.0.0.1', '--port', `${port}`, '--device', 'cpu', '--dtype', 'float32'],
    ],
    env: { OMP_NUM_THREADS: '2', HF_HUB_OFFLINE: '1' },
  },
  llama: {
    words: 'llama.cpp',
    model: () => 'tiny',
    key: KEY,
    command: ({ llamaServer, gguf }, port) => [
      llamaServer,
      ...[
        '-m',
        gguf,
        '--alias',
        'tiny',
        '-c',
        `${SLOTS * CONTEXT}`,
        '-np',
        `${SLOTS}`,
        '-t',
        '2',
        '-ctk',
        'f32',
        '-ctv',
        'f32',
      ],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--api-key', KEY],
    ],
    env: {},
  },
};

function vllmFlags({ model }) {
  const sizes = [
    '--dtype',
    'float32',
    '--max-model-len',
    `${CONTEXT}`,
    '--max-num-seqs',
    `${SLOTS}`,
    '--enforce-eager',
  ];
  return [
    '--model',
    model,
    '--served-model-name',
    'tiny',
    ...sizes,
    '--reasoning-parser',
    'qwen3',
    '--host',
    '127.0.0.1',
  ];
}

/** Answers a file of requests by `vllm run-batch`, started as a module because the command requires a package of another name. */
export async function runBatch(paths, input, output, log) {
  const flags = vllmFlags(paths).slice(0, -2);
  const child = start(
    [paths.torch, '-m', 'vllm.entrypoints.openai.run_batch', '-i', input, '-o', output, ...flags],
    VLLM_ENV,
    log,
  );
  const [code] = await once(child, 'close');
  return code;
}

/** Starts an engine; `ready` resolves to the answers of /health before it was 200. */
export function serve(name, paths, port, log) {
  const { command, env, model, key } = ENGINES[name];
  const child = start(command(paths, port), env, log);
  const closed = once(child, 'close');
  const url = `http://127.0.0.1:${port}`;
  const end = () => process.kill(-child.pid, 'SIGTERM');
  process.once('exit', () => child.exitCode === null && child.signalCode === null && end());
  return {
    url,
    model: model(paths),
    key,
    ready: readiness(url, child, log),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) end();
      await Promise.race([closed, sleep(60_000, undefined, { ref: false })]);
    },
  };
}

function start([command, ...args], env, log) {
  const file = openSync(log, 'a');
  // Its own process group, so that the engine's children end with it.
  return spawn('nice', ['-n', '10', command, ...args], {
    stdio: ['ignore', file, file],
    env: { ...process.env, ...env },
    detached: true,
  });
}

async function readiness(url, child, log) {
  const seen = new Map();
  const started = performance.now();
  while (performance.now() - started < READY_MS) {
    if (child.exitCode !== null) throw new Error(`the engine ended with ${child.exitCode}; see its log ${log}`);
    const said = await health(url);
    seen.set(said, (seen.get(said) ?? 0) + 1);
    if (said.startsWith('200')) {
      return { seconds: Math.round((performance.now() - started) / 1000), before: [...seen.keys()].slice(0, -1) };
    }
    await sleep(100);
  }
  throw new Error(`the engine was not ready within ${READY_MS / 60_000} minutes; see its log ${log}`);
}

async function health(url) {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(5_000) });
    return `${response.status} ${(await response.text()).slice(0, 200)}`.trim();
  } catch (error) {
    return error.cause?.code ?? error.name;
  }
}
