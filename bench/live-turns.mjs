// Acts in worlds of `awb serve`, and compares the tokens that it evaluates at each turn with the minimum. README.md has the results.
// node bench/live-turns.mjs [--model tiny|large|full|FILE.gguf] [--reply 48] [--parallel 1] …  (`npm run build` first)

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { getLlama } from 'node-llama-cpp';
import { afterObservation, afterReply, readTurnPrompt, requestOf, worldAt } from '../dist/infer/world.js';
import { commonPrefix } from '../dist/serve/scheduler.js';
import { keptModel, RANDOM_MODELS } from '../test/support/tiny-model/maker.mjs';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string', default: 'tiny' },
    context: { type: 'string', default: '32768' },
    /** Maximum tokens of a reply. */
    reply: { type: 'string', default: '48' },
    domains: { type: 'string', default: 'mcp,search,terminal,swe,android,web,os' },
    /** Trajectories per domain to act along. */
    trajectories: { type: 'string', default: '2' },
    /** Concurrent trajectories of a domain, each on its own slot. */
    parallel: { type: 'string', default: '1' },
    bin: { type: 'string', default: new URL('../dist/bin.js', import.meta.url).pathname },
  },
});
const root = mkdtempSync(join(tmpdir(), 'awb-bench-'));
const GUI = ['android', 'web', 'os'];

try {
  const made = RANDOM_MODELS[flags.model];
  const model = made === undefined ? flags.model : await keptModel(made, root);
  const tokensOf = await tokenizer(model);
  const server = await start(model);
  try {
    const sums = { evaluated: 0, least: 0 };
    for (const domain of flags.domains.split(',')) {
      for (const repeats of GUI.includes(domain) ? [false, true] : [false]) {
        const seen = { evaluated: 0, least: 0, turns: 0, worst: 0 };
        const waiting = longestRows(domain).slice(0, Number(flags.trajectories));
        const agents = Array.from({ length: Number(flags.parallel) }, async () => {
          for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
            await alongRow(server, tokensOf, startOf(domain, row, repeats), row, seen);
          }
        });
        await Promise.all(agents);
        sums.evaluated += seen.evaluated;
        sums.least += seen.least;
        show(`${domain}${repeats ? ', the state in every prompt' : ''}`, seen);
      }
    }
    show('all', sums);
  } finally {
    await server.stop();
  }
} finally {
  rmSync(root, { recursive: true });
}

/** Takes the recorded actions in a world that the model makes up. First turns have no previous prompt, so they do not count. */
async function alongRow(server, tokensOf, start, row, seen) {
  let [world, before] = [start, undefined];
  for (const prompt of row.prompt) {
    const { action } = readTurnPrompt(prompt);
    const { messages } = requestOf(world, action);
    const tokens = tokensOf(messages);
    if (tokens.length > Number(flags.context) - Number(flags.reply) - 1) return;
    const { content, usage } = await ask(server, messages);
    if (usage.prompt_tokens !== tokens.length)
      throw new Error(`the server counts ${usage.prompt_tokens} tokens, not ${tokens.length}`);
    if (before !== undefined) {
      const evaluated = usage.prompt_tokens - (usage.prompt_tokens_details?.cached_tokens ?? 0);
      const least = tokens.length - commonPrefix(before, tokens);
      seen.evaluated += evaluated;
      seen.least += least;
      seen.turns++;
      seen.worst = Math.max(seen.worst, evaluated - least);
    }
    before = tokens;
    world = afterReply(world, action, content) ?? afterObservation(world, action, '(nothing)');
  }
}

function show(name, { evaluated, least, turns, worst }) {
  const each = turns === undefined ? '' : `, ${turns} later turns, at most ${worst} too many in one`;
  console.log(`${name.padEnd(36)} ${evaluated} evaluated of ${least} = ${(evaluated / least).toFixed(4)}${each}`);
}

/** The longest row of each recorded trajectory. */
function longestRows(domain) {
  const path = new URL(`../fixtures/recorded/${domain}_test.jsonl`, import.meta.url);
  const longest = new Map();
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const row = JSON.parse(line);
    if ((longest.get(row.id)?.prompt.length ?? 0) < row.prompt.length) longest.set(row.id, row);
  }
  return [...longest.values()];
}

/** The world before the first turn. In the real data, every prompt of the GUI domains repeats the state. */
function startOf(domain, row, repeats) {
  const last = row.prompt.at(-1);
  const tail = last.slice(last.lastIndexOf('\n\nPlease analyze'));
  const bare = row.prompt.length === 1 ? last.slice(0, last.length - tail.length) : row.prompt[0];
  const world = worldAt({
    ...{ key: 'k', trajectory: 't', domain, turnIdx: 1, currentPrompt: bare, systemPrompt: row.system_str },
    ...{ prompts: [bare + tail], responses: row.response },
  });
  return repeats ? { ...world, repeated: { heading: 'Current State', text: row.response[0] } } : world;
}

async function tokenizer(path) {
  const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, logLevel: 'error' });
  const model = await llama.loadModel({ modelPath: path, vocabOnly: true });
  const require = createRequire(import.meta.url);
  const { Template } = createRequire(require.resolve('node-llama-cpp'))('@huggingface/jinja');
  const template = new Template(model.fileInfo.metadata.tokenizer.chat_template);
  return (messages) => model.tokenize(template.render({ messages, add_generation_prompt: true }), true);
}

async function ask({ url, model }, messages) {
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: Number(flags.reply), temperature: 0.6, seed: 1 }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { choices, usage } = await response.json();
  const { content, reasoning_content: thought } = choices[0].message;
  return { content: content || thought || '', usage };
}

async function start(model) {
  const child = spawn(
    process.execPath,
    [
      ...[flags.bin, 'serve', '--model', model, '--port', '0', '--until-stdin-closes', '--json', '--quiet'],
      ...[
        '--gpu',
        'off',
        '--threads',
        flags.parallel === '1' ? '1' : '2',
        '--parallel',
        flags.parallel,
        '--context',
        flags.context,
      ],
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const [printed] = await Promise.race([once(child.stdout, 'data'), once(child, 'close').then(() => [])]);
  if (printed === undefined) throw new Error('awb serve did not start');
  const { url, model: facts } = JSON.parse(printed);
  return {
    ...{ url, model: facts.name },
    async stop() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}
