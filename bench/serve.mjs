// Compares `awb serve` with llama.cpp's own server on one GGUF file: speed, prefix reuse and memory. bench/serve.md has the results.
// node bench/serve.mjs [--llama-server PATH] [--model tiny|large|full|FILE.gguf] [--parallel 1,2,4,8] …   (`npm run build` first)

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { getLlama } from 'node-llama-cpp';
import { buildMessages } from '../dist/infer/messages.js';
import { commonPrefix } from '../dist/serve/scheduler.js';
import { keptModel, RANDOM_MODELS } from '../test/support/tiny-model/maker.mjs';
import { ask, cpuSeconds, startLlamaServer, startOurs, user } from './serve-sides.mjs';

const { values: flags } = parseArgs({
  options: {
    'llama-server': { type: 'string' },
    /** Path to the dist/bin.js of another build of awb. */
    other: { type: 'string' },
    model: { type: 'string', default: 'large' },
    gpu: { type: 'string', default: 'off' },
    threads: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '1,2,4,8' },
    /** Tokens per slot. */
    context: { type: 'string', default: '12288' },
    /** Tokens generated per request. */
    tokens: { type: 'string', default: '128' },
    /** Approximate tokens of the prompt for measuring prefill. */
    prompt: { type: 'string', default: '2000' },
    /** File of rows for `trajectories`; an empty name skips it. */
    rows: { type: 'string', default: new URL('../fixtures/recorded/terminal_test.jsonl', import.meta.url).pathname },
    runs: { type: 'string', default: '5' },
  },
});
const [threads, context, tokens, promptWords, runs] = ['threads', 'context', 'tokens', 'prompt', 'runs'].map((name) =>
  Number(flags[name]),
);
const parallels = flags.parallel.split(',').map(Number);
const slots = Math.max(...parallels);
/** Words of one token each. */
const WORDS = [
  ' file',
  ' folder',
  ' list',
  ' the',
  ' command',
  ' error',
  ' line',
  ' output',
  ' name',
  ' path',
  ' test',
];
const root = mkdtempSync(join(tmpdir(), 'awb-bench-'));
const servers = [];
/** Makes every prompt different, so that nothing is reused unless reuse is measured. */
let asked = 0;

try {
  const made = RANDOM_MODELS[flags.model];
  const model = made === undefined ? flags.model : await keptModel(made, root);
  const settings = { gpu: flags.gpu, threads, slots, context };
  servers.push(await startOurs(model, settings));
  if (flags.other !== undefined) servers.push(await startOurs(model, { ...settings, bin: flags.other }));
  if (flags['llama-server'] !== undefined) {
    servers.push(await startLlamaServer(flags['llama-server'], model, settings));
  }
  for (const server of servers) await ask(server, [user('Begin.')], 8);
  console.log(
    `${flags.model}, ${slots} slots of ${context} tokens, ${threads} threads, ${servers[0].gpuLayers} layers on a GPU; median (min to max) of ${runs} runs; load ${loadavg()[0].toFixed(1)}`,
  );
  await generation();
  await prefill();
  if (flags.rows !== '') await trajectories(model);
  for (const server of servers) console.log(`peak memory, ${server.name}: ${(peakBytes(server) / 1e6).toFixed(0)} MB`);
} finally {
  for (const server of servers) await server.stop();
  rmSync(root, { recursive: true });
}

/** Short prompts: generated tokens of all requests, per second and per second of the server's CPU time. */
async function generation() {
  console.log(`\ngeneration, ${tokens} tokens per request, short prompts`);
  for (const parallel of parallels) {
    const results = await alternate(async (server) => {
      const questions = Array.from({ length: parallel }, () => [user(`Case ${asked++}: list the files.`)]);
      const [replies, { wall, cpu }] = await timed(server, () =>
        Promise.all(questions.map((messages) => ask(server, messages, tokens))),
      );
      const generated = replies.reduce((sum, { usage }) => sum + usage.completion_tokens, 0);
      return { 'tokens/s': generated / wall, 'tokens/CPU-s': generated / cpu, 'first token, ms': replies[0].firstMs };
    });
    show(`${parallel} in parallel`, results);
  }
}

/** A long prompt without any cached prefix, and one generated token. */
async function prefill() {
  console.log(`\nprefill of about ${promptWords} tokens`);
  const results = await alternate(async (server) => {
    const words = Array.from({ length: promptWords }, (_, at) => WORDS[(at * at + asked) % WORDS.length]).join('');
    const message = user(`Case ${asked++}: ${words}`);
    const [{ usage, firstMs }, { cpu }] = await timed(server, () => ask(server, [message], 1));
    const evaluated = usage.prompt_tokens - cachedOf(usage);
    return { 'tokens/s': evaluated / (firstMs / 1000), 'tokens/CPU-s': evaluated / cpu, 'first token, ms': firstMs };
  });
  show('1 in parallel', results);
}

/** Recorded rows turn by turn: tokens evaluated, tokens that the previous turn did not have, and seconds to the first token. */
async function trajectories(model) {
  console.log('\ntrajectories, turn by turn');
  const tokensOf = await tokenizer(model);
  const totals = servers.map(() => ({
    first: { tokens: 0, evaluated: 0, seconds: 0, cpu: 0 },
    later: { tokens: 0, evaluated: 0, seconds: 0, cpu: 0 },
  }));
  for (const turns of readTrajectories(flags.rows)) {
    for (const [at, messages] of turns.entries()) {
      const prompt = tokensOf(messages);
      const fresh = prompt.length - (at === 0 ? 0 : commonPrefix(tokensOf(turns[at - 1]), prompt));
      for (const [index, server] of servers.entries()) {
        const [{ usage, firstMs }, { cpu }] = await timed(server, () => ask(server, messages, 1));
        if (usage.prompt_tokens !== prompt.length)
          throw new Error(`${server.name} counts ${usage.prompt_tokens} tokens, not ${prompt.length}`);
        const total = totals[index][at === 0 ? 'first' : 'later'];
        total.tokens += fresh;
        total.evaluated += usage.prompt_tokens - cachedOf(usage);
        total.seconds += firstMs / 1000;
        total.cpu += cpu;
      }
    }
  }
  for (const [index, server] of servers.entries()) {
    for (const [name, { tokens, evaluated, seconds, cpu }] of Object.entries(totals[index])) {
      console.log(
        `  ${`${name} turns`.padEnd(14)} ${server.name.padEnd(13)} ${evaluated} evaluated of ${tokens} new tokens = ${(evaluated / tokens).toFixed(3)}, ` +
          `${seconds.toFixed(1)} s, ${cpu.toFixed(1)} CPU-s`,
      );
    }
  }
}

/** The messages of every turn; the rows of a trajectory are in order in the file. */
function readTrajectories(path) {
  const byTrajectory = new Map();
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const row = JSON.parse(line);
    const sample = { turnIdx: row.turn_idx, prompts: row.prompt, responses: row.response };
    const turns = byTrajectory.get(row.id) ?? [];
    byTrajectory.set(row.id, [...turns, buildMessages(sample, 'history', row.system_str)]);
  }
  return [...byTrajectory.values()];
}

/** Counts a prompt's tokens independently of both servers. */
async function tokenizer(path) {
  const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'error' });
  const model = await llama.loadModel({ modelPath: path, vocabOnly: true });
  const require = createRequire(import.meta.url);
  const { Template } = createRequire(require.resolve('node-llama-cpp'))('@huggingface/jinja');
  const template = new Template(model.fileInfo.metadata.tokenizer.chat_template);
  return (messages) =>
    model.tokenize(template.render({ messages, add_generation_prompt: true, enable_thinking: false }), true);
}

/** Runs the servers alternately, so that other load on the machine affects each equally. */
async function alternate(measure) {
  const results = servers.map(() => []);
  for (let run = 0; run < runs; run++) {
    for (const [index, server] of servers.entries()) results[index].push(await measure(server));
  }
  return results;
}

function show(title, results) {
  for (const [index, server] of servers.entries()) {
    const cells = Object.keys(results[0][0]).map((name) => {
      const sorted = results[index].map((result) => result[name]).sort((a, b) => a - b);
      const [middle, ...ends] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)].map((value) => value.toFixed(1));
      return `${name} ${middle} (${ends.join(' to ')})`;
    });
    console.log(`  ${title.padEnd(14)} ${server.name.padEnd(13)} ${cells.join(' | ')}`);
  }
}

/** Runs `act`; resolves to its result, wall time and the server's CPU time (seconds). */
async function timed(server, act) {
  const [cpuBefore, before] = [cpuSeconds(server), performance.now()];
  const result = await act();
  return [result, { wall: (performance.now() - before) / 1000, cpu: cpuSeconds(server) - cpuBefore }];
}

function peakBytes({ pid }) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

function cachedOf({ prompt_tokens_details: details }) {
  return details?.cached_tokens ?? 0;
}
