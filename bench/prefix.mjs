// Measures how well the order of requests uses a prefix cache: tokens charged by a server with a cache like vLLM's, compared with the
// minimum (the size of the tree of all prompts). bench/README.md has the results.
// node bench/prefix.mjs [--slots 8] [--copies 24] [--shards 4] [--repeats 1] [live] [sharded] [batch] [serve [--parallel 2] [--rounds 5]
// [--domains mcp,terminal] [--alone]]   (`npm run build` first; `serve` starts `awb serve` with a tiny model and needs node-llama-cpp)

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keptModel, RANDOM_MODELS } from '../test/support/tiny-model/maker.mjs';
import { blocksOf, leastBlocks, PrefixBlocks, promptOf } from './prefix-blocks.mjs';
import { cpuSeconds, startOurs } from './serve-sides.mjs';
import { BIN, HERE } from './workbench.mjs';

const RECORDED = join(HERE, '../fixtures/recorded');
const REPLY = '<predicted_observation>\nroot@host:/app# ls\n</predicted_observation>';
const { values: flags, positionals } = parseArgs({
  options: {
    slots: { type: 'string', default: '8' },
    /** Slots of `awb serve`. */
    parallel: { type: 'string', default: '2' },
    /** Copies of each recorded trajectory. */
    copies: { type: 'string', default: '24' },
    shards: { type: 'string', default: '4' },
    repeats: { type: 'string', default: '1' },
    order: { type: 'string', default: 'prefix' },
    rounds: { type: 'string', default: '5' },
    domains: { type: 'string', default: 'mcp,terminal' },
    /** Also measure one request at a time. */
    alone: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const slots = Number(flags.slots);
const does = (name) => positionals.includes(name) || (positionals.length === 0 && name !== 'serve');
const root = mkdtempSync(join(tmpdir(), 'awb-prefix-'));

try {
  const data = makeTrajectories(root, Number(flags.copies));
  const out = join(root, 'out');
  const infer = ['infer', '--data-dir', data, '--order', flags.order, '--repeats', flags.repeats, '--output-dir'];
  const judge = [
    'judge',
    '--predictions',
    join(out, 'predictions.jsonl'),
    '--judge-repeats',
    flags.repeats,
    '--output-dir',
  ];
  if (does('live')) {
    show('infer, live', [await live([...infer, out], 'model')]);
    show('judge, live', [await live([...judge, out], 'judge')]);
  }
  if (does('sharded')) {
    const shards = Array.from({ length: Number(flags.shards) }, (_, at) => `${at + 1}/${flags.shards}`);
    const [inferred, judged] = [[], []];
    for (const [at, shard] of shards.entries()) {
      const dir = join(root, `shard-${at}`);
      inferred.push(await live([...infer, dir, '--shard', shard], 'model'));
      judged.push(
        await live(
          [
            'judge',
            '--predictions',
            join(dir, 'predictions.jsonl'),
            '--judge-repeats',
            flags.repeats,
            '--output-dir',
            dir,
          ],
          'judge',
        ),
      );
    }
    show(`infer, ${shards.length} shards`, inferred);
    show(`judge, ${shards.length} shards`, judged);
  }
  if (does('batch')) {
    if (!existsSync(join(out, 'predictions.jsonl'))) await live([...infer, out], 'model');
    show('infer, batch files', [await batch([...infer, join(root, 'batched')], 'model')]);
    show('judge, batch files', [await batch([...judge, join(root, 'batched')], 'judge')]);
  }
  if (does('serve')) await serveRounds();
} finally {
  rmSync(root, { recursive: true });
}

/**
 * Compares `awb infer` with as many slots as `awb serve` has with the ideal order: one run per slot, one request at a time, each with
 * complete trajectories of its own, so that all slots share evaluations. Optionally also one request at a time. They alternate.
 */
async function serveRounds() {
  const parallel = Number(flags.parallel);
  const found = { alone: [], ideal: [], ours: [] };
  for (let round = 0; round < Number(flags.rounds); round++) {
    if (flags.alone) found.alone.push(await serveRound(`alone-${round}`, parallel, 1, 1));
    found.ideal.push(await serveRound(`ideal-${round}`, parallel, 1, parallel));
    found.ours.push(await serveRound(`prefix-${round}`, parallel, parallel, 1));
    const [ideal, ours] = [found.ideal.at(-1), found.ours.at(-1)];
    const alone = found.alone.at(-1);
    console.log(
      `awb serve, ${parallel} slots: ${ours.cpu.toFixed(1)} s of CPU, ideal ${ideal.cpu.toFixed(1)} = ${(ours.cpu / ideal.cpu).toFixed(3)}; ` +
        `${ours.evaluated} tokens evaluated, ideal ${ideal.evaluated} = ${(ours.evaluated / ideal.evaluated).toFixed(4)}; ` +
        `${ours.wall.toFixed(1)} s, ideal ${ideal.wall.toFixed(1)}` +
        (alone === undefined
          ? ''
          : `; one request at a time ${alone.cpu.toFixed(1)} s of CPU, ${alone.evaluated} tokens`),
    );
  }
  for (const [name, of] of [
    ['CPU', ({ cpu }) => cpu],
    ['tokens', ({ evaluated }) => evaluated],
  ]) {
    const [ideal, ours] = [found.ideal, found.ours].map((rounds) => rounds.map(of).sort((a, b) => a - b));
    const middle = (sorted) => sorted[(sorted.length - 1) >> 1];
    console.log(
      `${name}: minimum ${(ours[0] / ideal[0]).toFixed(3)} of the ideal order's, median ${(middle(ours) / middle(ideal)).toFixed(3)}`,
    );
  }
}

/** Concurrent runs of infer against a new server. Returns the server's CPU seconds and the prompt tokens that it evaluated. */
async function serveRound(name, parallel, concurrency, runs) {
  const model = await keptModel(RANDOM_MODELS.tiny, root);
  const settings = { gpu: 'off', threads: '1', slots: parallel, context: 16_384 };
  const server = await startOurs(model, settings);
  const [before, began] = [cpuSeconds(server), performance.now()];
  const asking = [
    ...['--model-base-url', server.url, '--model-name', server.model],
    ...['--concurrency', String(concurrency), '--max-tokens', '16'],
  ];
  const outs = Array.from({ length: runs }, (_, at) => join(root, `${name}-${at}`));
  await Promise.all(
    outs.map((out, at) =>
      awb(
        [
          ...['infer', '--data-dir', RECORDED, '--domains', flags.domains, '--order', 'prefix'],
          ...['--shard', `${at + 1}/${runs}`, '--output-dir', out, ...asking],
        ],
        [0, 3],
      ),
    ),
  );
  const [cpu, wall] = [cpuSeconds(server) - before, (performance.now() - began) / 1000];
  const evaluated = outs.reduce((sum, out) => {
    const { tokens } = JSON.parse(readFileSync(join(out, 'predictions.manifest.json'), 'utf8'));
    return sum + tokens.promptTokens - (tokens.cachedTokens ?? 0);
  }, 0);
  await server.stop();
  return { cpu, wall, evaluated };
}

/** Runs awb against a server with a cache, and returns its prompts and charge. */
async function live(args, role) {
  const prompts = [];
  const server = await cachingServer(prompts);
  await awb([...args, ...endpoint(role, server.address().port), '--concurrency', String(slots)]);
  server.closeAllConnections();
  server.close();
  return { prompts, charged: server.blocks().charged };
}

/** Lets awb write batch files, and feeds their lines to the slots in order, as `vllm run-batch` does. */
async function batch(args, role) {
  const dir = join(root, `batch-${role}`);
  const more = ['--batch-dir', dir, '--assume-params'];
  await awb([...args, ...endpoint(role, 9), ...more], [75]);
  const files = readdirSync(dir).filter((name) => /^requests-\d+\.jsonl$/.test(name));
  const prompts = files
    .sort()
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').trim().split('\n'))
    .map((line) => promptOf(JSON.parse(line).body.messages));
  return { prompts, charged: replayed(prompts) };
}

/** Replies differ in length, which decides which slot is free next. */
function replayed(prompts) {
  const cache = new PrefixBlocks(roomFor(prompts));
  const running = [];
  for (const [at, prompt] of prompts.entries()) {
    if (running.length === slots) {
      running.sort((a, b) => a.until - b.until);
      cache.end(running.shift().request);
    }
    // Reply lengths vary, but are the same each time.
    running.push({ until: at + ((at * 7_919) % 31), request: cache.begin(prompt) });
  }
  return cache.charged;
}

/** Room for the trajectories of all slots: the longest prompt times the slots. */
function roomFor(prompts) {
  return slots * Math.max(...prompts.map((prompt) => blocksOf(prompt).length));
}

function show(name, parts) {
  const charged = parts.reduce((sum, part) => sum + part.charged, 0);
  const least = parts.reduce((sum, { prompts }) => sum + leastBlocks(prompts), 0);
  const all = parts.reduce(
    (sum, { prompts }) => sum + prompts.reduce((own, prompt) => own + blocksOf(prompt).length, 0),
    0,
  );
  const requests = parts.reduce((sum, { prompts }) => sum + prompts.length, 0);
  console.log(
    `${name.padEnd(20)} ${requests} requests of ${all * 16} tokens: minimum ${least * 16}, charged ${charged * 16} = ` +
      `${(charged / least).toFixed(4)}`,
  );
}

async function awb(args, codes = [0]) {
  const child = spawn(process.execPath, [BIN, ...args, '--quiet', '--json'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'close');
  if (!codes.includes(code)) throw new Error(`awb ${args[0]} ended with ${code}`);
}

function endpoint(role, port) {
  const url = `http://127.0.0.1:${port}/v1`;
  return role === 'judge'
    ? ['--judge-base-url', url, '--judge-model', 'judge']
    : ['--model-base-url', url, '--model-name', 'model'];
}

/** A verdict in the tags that the end of a judge's prompt requires. */
function verdictFor(asked) {
  const [tag] = asked.match(/final_evaluation-[0-9a-f]{16}/) ?? ['final_evaluation'];
  const scores = '{"format":4,"factuality":3,"consistency":4,"realism":4,"quality":3}';
  return `<${tag}>{"strengths":[],"weaknesses":[],"scores":${scores}}</${tag}>`;
}

/** An OpenAI-compatible endpoint with a cache. Uncached blocks cost time, and replies differ in length. */
async function cachingServer(prompts) {
  const longest = Math.max(...readdirSync(join(root, 'data')).map((name) => longestIn(join(root, 'data', name))));
  const cache = new PrefixBlocks(slots * Math.ceil(longest / 64));
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') {
        response.end('{"data":[]}');
        return;
      }
      const { messages, model, stream } = JSON.parse(Buffer.concat(chunks).toString());
      const prompt = promptOf(messages);
      prompts.push(prompt);
      const begun = cache.begin(prompt);
      const waitMs = 2 + (begun.blocks.length - begun.cached) / 50 + (prompts.length % 7);
      setTimeout(() => {
        cache.end(begun);
        const usage = {
          prompt_tokens: Math.ceil(prompt.length / 4),
          completion_tokens: 20,
          total_tokens: Math.ceil(prompt.length / 4) + 20,
          prompt_tokens_details: { cached_tokens: begun.cached * 16 },
        };
        answer(response, model === 'judge' ? verdictFor(messages.at(-1).content.slice(-300)) : REPLY, usage, stream);
      }, waitMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(server, { blocks: () => cache });
}

function answer(response, content, usage, stream) {
  const message = { role: 'assistant', content };
  if (!stream) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    );
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (choices, more) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`;
  response.write(event([{ index: 0, delta: message, finish_reason: 'stop' }]));
  response.end(`${event([], { usage })}data: [DONE]\n\n`);
}

/** Bytes of the longest prompt: about its line, and for a judge the rubric before it. */
function longestIn(path) {
  return (
    Math.max(
      ...readFileSync(path, 'utf8')
        .split('\n')
        .map((line) => line.length),
    ) + 20_000
  );
}

/** Trajectories like the recorded ones, with one row per turn. Each has a distinct start after a system prompt that others share. */
function makeTrajectories(folder, copies) {
  const dir = join(folder, 'data');
  mkdirSync(dir);
  for (const name of readdirSync(RECORDED).filter((file) => file.endsWith('_test.jsonl'))) {
    const recorded = readFileSync(join(RECORDED, name), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const rows = [];
    for (let copy = 0; copy < copies; copy++) {
      for (const row of recorded) {
        const marked = (texts) => texts.map((text, at) => (at === 0 ? text.replace(/\n/, `\n[${copy}] `) : text));
        rows.push({ ...row, id: `${row.id}-${copy}`, prompt: marked(row.prompt), response: marked(row.response) });
      }
    }
    // As in a shuffled file, where the place of a row says nothing about its trajectory.
    const shuffled = rows.map((row, at) => ({ row, rank: (at * 2_654_435_761) % 4_294_967_296 }));
    shuffled.sort((a, b) => a.rank - b.rank);
    writeFileSync(join(dir, name), `${shuffled.map(({ row }) => JSON.stringify(row)).join('\n')}\n`);
  }
  return dir;
}
