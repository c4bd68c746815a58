// Shared by the benchmarks: made-up rows, the loopback server, and measuring a process from outside.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createWriteStream, mkdtempSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export const HERE = new URL('.', import.meta.url).pathname;
const RECORDED = join(HERE, '../fixtures/recorded');
const ROW_CHARACTERS = 185_000;
export const BIN = new URL('../dist/bin.js', import.meta.url).pathname;

/** Runs a process and measures its wall time (s), CPU time (ms) and peak memory (MB). `root` is a folder for temporary files. */
export async function measured(root, args, { preload = [], env = {}, code: expected = 0 } = {}) {
  const usageFile = join(root, 'usage.json');
  const preloaded = [join(HERE, 'usage.mjs'), ...preload].flatMap((file) => ['--import', file]);
  const started = performance.now();
  const child = spawn(process.execPath, [...preloaded, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env, BENCH_USAGE: usageFile },
  });
  const [code] = await once(child, 'close');
  if (code !== expected) throw new Error(`${args[0]} ended with ${code}`);
  return { wall: (performance.now() - started) / 1000, ...JSON.parse(readFileSync(usageFile, 'utf8')) };
}

/** Makes a folder in `root` with rows of about the given size, ten per trajectory. */
export async function makeData(root, rows, rowBytes) {
  const dir = mkdtempSync(join(root, 'data-'));
  const file = createWriteStream(fileIn(dir));
  const filler = 'drwxr-xr-x 2 root root 4096 Nov 20 10:15 some-folder-name\n'
    .repeat(Math.ceil(rowBytes / 58))
    .slice(0, Math.max(0, rowBytes - 700));
  for (let i = 0; i < rows; i++) {
    const id = Math.floor(i / 10);
    const current = `### Turn 2\n**Action:**\n\`\`\`json\n[{"keystrokes": "ls ${i}\\n", "duration": 0.4}]\n\`\`\``;
    const row = {
      task: 'terminal',
      id,
      prompt: [
        `### Turn 1\n**Current State:**\nroot@host:/app# ${id}`,
        `${current}\n\nPlease analyze the input above.`,
      ],
      response: [`**Environment Observation:**\n${filler}`, '**Environment Observation:**\nroot@host:/app#'],
      current_prompt: current,
      system_str: 'You are a terminal.',
      turn_idx: 2,
      total_turns: 2,
    };
    if (!file.write(`${JSON.stringify(row)}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  return dir;
}

/** Makes a folder in `root` with as many lengthened recorded rows as fill the megabytes. */
export function makeRecordedData(root, megabytes) {
  const dir = mkdtempSync(join(root, 'recorded-'));
  const names = readdirSync(RECORDED).filter((name) => name.endsWith('_test.jsonl'));
  let rows = 0;
  for (const name of names) {
    const recorded = readFileSync(join(RECORDED, name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const file = openSync(join(dir, name), 'w');
    for (let written = 0, at = 0; written < (megabytes * 1e6) / names.length; at++, rows++) {
      written += writeSync(file, `${JSON.stringify(lengthened(recorded[at % recorded.length], at))}\n`);
    }
    closeSync(file);
  }
  return { dir, rows };
}

/** Repeats the turns of a row up to the benchmark's average length. Five rows share a trajectory id, as in the benchmark. */
function lengthened({ id, prompt, response, turn_idx: turns, ...rest }, at) {
  const unit = JSON.stringify(prompt).length + JSON.stringify(response).length;
  const times = Math.max(1, Math.round(ROW_CHARACTERS / unit));
  const repeat = (texts) => Array.from({ length: times }, () => texts.slice(0, turns)).flat();
  const [prompts, responses] = [repeat(prompt), repeat(response)];
  responses[0] = `${at} ${responses[0]}`;
  const turn_idx = prompts.length;
  return {
    ...rest,
    id: `${id}-${Math.floor(at / 5)}`,
    prompt: prompts,
    response: responses,
    turn_idx,
    total_turns: turn_idx,
  };
}

export function fileIn(dir) {
  return join(dir, 'terminal_test.jsonl');
}

/** Starts `bench/server.mjs`; `stop` resolves to the number of chat requests. */
export async function startServer(latencyMs, pieces = 8) {
  const child = spawn(process.execPath, [join(HERE, 'server.mjs'), String(latencyMs), String(pieces)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  while (!printed.includes('\n')) await once(child.stdout, 'data');
  return {
    port: Number(printed),
    async stop() {
      child.stdin.end();
      await once(child, 'close');
      return Number(printed.trim().split('\n')[1]);
    },
  };
}

/** The arguments of `awb infer` for the data and the server. */
export function inferOf(server, data, out) {
  const fixed = ['--model-name', 'm', '--concurrency', '64', '--quiet', '--json', '--model-base-url', urlOf(server)];
  return ['infer', '--data-dir', data, '--output-dir', out, ...fixed];
}

export function urlOf({ port }) {
  return `http://127.0.0.1:${port}/v1`;
}

export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
