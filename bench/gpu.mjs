// Checks a machine with a GPU end to end: what is installed, planned and actual memory, speed next to llama.cpp's own server, and rows by
// `awb infer --local`.
// node bench/gpu.mjs [--model MODEL] [--llama-server PATH] [--gpu auto|cuda|vulkan|metal|off] …   (`npm run gpu` first; bench/gpu.md)

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { getLlama } from 'node-llama-cpp';
import { cacheFolder } from '../dist/benchmark/hub/client.js';
import { resolveModel } from '../dist/benchmark/hub/models.js';
import { keptModel, RANDOM_MODELS } from '../test/support/tiny-model/maker.mjs';
import { ask, startLlamaServer, startOurs, user } from './serve-sides.mjs';
import { BIN, HERE, median } from './workbench.mjs';

const { values: flags } = parseArgs({
  options: {
    /** A value of `awb serve --model`, or the name of a random model: `full` has the shapes of the 35B-A3B (20 GB, made in a few minutes). */
    model: { type: 'string', default: 'qwen-agentworld-35b-a3b' },
    gpu: { type: 'string', default: 'auto' },
    'llama-server': { type: 'string' },
    threads: { type: 'string', default: String(Math.max(1, cpus().length - 1)) },
    /** Concurrent requests, each on its own slot. */
    parallel: { type: 'string', default: '1,8,32' },
    /** Tokens per slot in the speed tests. */
    context: { type: 'string', default: '4096' },
    /** Tokens generated per request. */
    tokens: { type: 'string', default: '256' },
    runs: { type: 'string', default: '3' },
    /** Recorded rows per domain; there are 63 in total. */
    rows: { type: 'string', default: '9' },
    /** Maximum tokens of a row's prediction, thinking included. */
    'row-tokens': { type: 'string', default: '4096' },
    log: { type: 'string', default: 'gpu.log' },
  },
});
const [threads, context, tokens, runs] = ['threads', 'context', 'tokens', 'runs'].map((name) => Number(flags[name]));
const root = mkdtempSync(join(tmpdir(), 'awb-gpu-'));
const lines = [];
const llama = await getLlama({
  gpu: flags.gpu === 'off' ? false : flags.gpu,
  build: 'never',
  skipDownload: true,
  logLevel: 'error',
});

try {
  await machine();
  const model = await modelFile();
  for (const parallel of flags.parallel.split(',').map(Number)) await speed(model, parallel);
  await rows(model);
} catch (error) {
  say(`\nfailed: ${error.stack ?? error}`);
  process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true });
}

/** Prints the text and rewrites the log, so that the log is complete at any time. */
function say(text) {
  console.log(text);
  lines.push(text);
  writeFileSync(flags.log, `${lines.join('\n')}\n`);
}

async function machine() {
  if (llama.gpu === false && flags.gpu !== 'off')
    throw new Error(
      'llama.cpp finds no GPU; install its GPU code with `npm run gpu`, check the driver, or try this script with --gpu off',
    );
  const version = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version;
  const commit = output('git', ['-C', HERE, 'describe', '--always', '--dirty', '--abbrev=12']);
  const library = `node-llama-cpp ${version('../node_modules/node-llama-cpp/package.json')} (llama.cpp ${llama.llamaCppRelease.release})`;
  say(
    `${new Date().toISOString()}, commit ${commit}, ${library}, Node ${process.version}, ${process.platform} ${process.arch}`,
  );
  say(`${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${gib(totalmem())}`);
  const devices = llama.gpu === false ? 'none' : (await llama.getGpuDeviceNames()).join(', ');
  say(`--gpu ${flags.gpu}: llama.cpp computes on ${llama.gpu || 'the processor'}; GPUs: ${devices}`);
  say(
    output('nvidia-smi', ['--query-gpu=name,memory.total,driver_version', '--format=csv,noheader']) || 'no nvidia-smi',
  );
}

/** The output of a program, or an empty text if it is missing or fails. */
function output(program, args) {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}

/** Downloads or makes the model unless it is in awb's cache folder. */
async function modelFile() {
  const { env } = process;
  const directory = cacheFolder(env);
  const made = RANDOM_MODELS[flags.model];
  if (made !== undefined) return keptModel(made, directory);
  const signal = new AbortController().signal;
  const beforeDownload = ({ bytes }) => say(`downloading ${gib(bytes)}`);
  const settings = { beforeDownload, cwd: process.cwd(), directory, env, signal };
  return resolveModel(flags.model, settings);
}

/** One server at a time, so that each has the GPU to itself. */
async function speed(model, parallel) {
  say(
    `\n${flags.model}, ${parallel} in parallel, ${tokens} tokens per request, slots of ${context} tokens, median of ${runs} runs`,
  );
  const settings = { gpu: flags.gpu, threads, slots: parallel, context };
  await measured('awb serve', parallel, (told) => startOurs(model, { ...settings, told }));
  const path = flags['llama-server'];
  if (path !== undefined) await measured('llama-server', parallel, () => startLlamaServer(path, model, settings));
}

async function measured(name, parallel, start) {
  const [free, began] = [await freeBytes(), performance.now()];
  let plan = '';
  const server = await start((text) => {
    plan += text;
  });
  const loaded = (performance.now() - began) / 1000;
  try {
    await replies(server, parallel, 8);
    const speeds = [];
    for (let run = 0; run < runs; run++) {
      const before = performance.now();
      const generated = await replies(server, parallel, tokens);
      speeds.push(generated / ((performance.now() - before) / 1000));
    }
    if (plan !== '') say(plan.trimEnd().replace(/^/gm, '    '));
    const taken = `took ${gib(free - (await freeBytes()))} of GPU memory and ${gib(residentBytes(server))} of host memory`;
    const range = [Math.min(...speeds), Math.max(...speeds)].map((value) => value.toFixed(1)).join(' to ');
    say(
      `  ${name.padEnd(12)}  ${median(speeds).toFixed(1)} tokens/s (${range}); loaded in ${loaded.toFixed(1)} s; ${taken}`,
    );
  } finally {
    await server.stop();
  }
}

/** Asks different short prompts; resolves to the total of generated tokens. */
async function replies(server, parallel, most) {
  const asked = Array.from({ length: parallel }, (_, at) => ask(server, [user(`Case ${at}: list the files.`)], most));
  return (await Promise.all(asked)).reduce((sum, { usage }) => sum + usage.completion_tokens, 0);
}

/** Free memory of the GPU. It includes what other programs take, so run nothing else at the same time. */
async function freeBytes() {
  return llama.gpu === false ? 0 : (await llama.getVramState()).free;
}

/** Peak resident memory of the process, including weights mapped from the file; 0 if the system does not report it. */
function residentBytes({ pid }) {
  if (process.platform !== 'linux') return 0;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

async function rows(model) {
  const most = flags['row-tokens'];
  say(`\n${flags.rows} recorded rows per domain by awb infer --local, at most ${most} tokens each`);
  const data = join(HERE, '../fixtures/recorded');
  const args = ['infer', '--data-dir', data, '--limit', flags.rows, '--max-tokens', most, '--local', model];
  const env = { ...process.env, AWB_GPU: flags.gpu, AWB_THREADS: String(threads), AWB_PARALLEL: '8' };
  const child = spawn(process.execPath, [BIN, ...args, '--output-dir', join(root, 'results'), '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  });
  let [printed, said] = ['', ''];
  child.stdout.on('data', (text) => {
    printed += text;
  });
  child.stderr.on('data', (text) => {
    said += text;
    process.stderr.write(text);
  });
  const [code] = await once(child, 'close');
  // Leave progress out.
  const notes = said.replace(/^infer \d.*\n/gm, '').trimEnd();
  lines.push(notes.replace(/^/gm, '    '));
  if (printed === '') throw new Error(`awb infer ended with ${code}: ${notes.split('\n').at(-1)}`);
  const { counts, tokens: used, seconds } = JSON.parse(printed);
  say(
    `  exit ${code}: ${counts.ok} of ${counts.chosen} rows, ${counts.failed} failed ${JSON.stringify(counts.failures)}, in ${seconds.toFixed(1)} s; ` +
      `${used.promptTokens} prompt tokens (${used.cachedTokens} cached), ${used.completionTokens} generated`,
  );
}

function gib(bytes) {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}
