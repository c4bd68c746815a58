// Runs awb's commands against an engine and records their results.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIN, HERE } from '../workbench.mjs';
import { runBatch } from './servers.mjs';

const DATA = join(HERE, '../fixtures/recorded');
/** Few, short rows, since two cores serve them. */
const ROWS = ['--data-dir', DATA, '--domains', 'terminal,mcp', '--limit', '2'];
const OFF = '{"chat_template_kwargs": {"enable_thinking": false}}';
const FREE = '{"chat_template_kwargs": {"enable_thinking": false, "task": "free"}}';
const GREEDY = ['--temperature', '0', '--max-tokens', '24', '--extra-body', FREE];
const SHORT = ['--max-tokens', '64'];
const VERDICT = ['--max-tokens', '600', '--extra-body', OFF];

/** One step of the table: its name, exit code and result in words. */
const step = (name, code, words) => ({ name, code, words });

/** Starts a run of awb that waits until the engine is ready, then runs the other commands. */
export async function commands(server, folder, said) {
  rmSync(folder, { recursive: true, force: true });
  const steps = [];
  const add = (...parts) => {
    steps.push(step(...parts));
    said(steps.at(-1));
  };
  const model = (name = server.model, key = server.key) => [
    '--model-base-url',
    `${server.url}/v1`,
    '--model-name',
    name,
    ...(key === '' ? [] : ['--model-api-key', key]),
  ];
  const judge = [
    '--judge-base-url',
    `${server.url}/v1`,
    '--judge-model',
    server.model,
    ...(server.key === '' ? [] : ['--judge-api-key', server.key]),
  ];
  const out = (name) => join(folder, name);
  const infer = async (name, ...flags) => {
    const done = await awb('infer', ...ROWS, '--output-dir', out(name), ...flags);
    add(`infer, ${name}`, done.code, last(done));
    return done;
  };
  await infer('while it loads', ...model(), ...SHORT, '--wait-ready', '15m');
  const ready = await server.ready;
  add('ready', 0, `after ${ready.seconds} s; /health before: ${ready.before.join(', ')}`);
  await infer('streamed', ...model(), ...GREEDY);
  await infer('not streamed', ...model(), ...GREEDY, '--no-stream');
  const texts = ['streamed', 'not streamed'].map((name) => predicted(out(name)));
  const raw = await asked(
    server,
    texts[0].map(({ row }) => row),
  );
  const [streamed, whole] = texts.map((rows) => rows.map(({ gen }) => plain(gen)));
  const alike = streamed.filter((text, at) => text === whole[at] && text === raw[at]).length;
  add(
    'texts of streamed, not streamed and a plain request',
    alike === raw.length ? 0 : 1,
    `${alike} of ${raw.length} equal${firstApart(streamed, raw)}`,
  );
  const judged = ['judge', '--predictions', join(out('while it loads'), 'predictions.jsonl'), ...judge, ...VERDICT];
  for (const [name, ...flags] of [['judge'], ['judge --verdict-schema', '--verdict-schema']]) {
    const done = await awb(...judged, ...flags, '--output-dir', out(name));
    add(name, done.code, last(done));
  }
  const likelihood = await awb('likelihood', ...ROWS, ...model(), '--output-dir', out('likelihood'));
  add('likelihood', likelihood.code, last(likelihood));
  await infer('--preset model-card', ...model(), ...SHORT, '--preset', 'model-card');
  await infer(
    '--preset model-card --allow-param-drop',
    ...model(),
    ...SHORT,
    '--preset',
    'model-card',
    '--allow-param-drop',
  );
  await infer('--max-tokens 40000', ...model(), '--max-tokens', '40000');
  await infer('--max-tokens 40000 --fit-max-tokens', ...model(), '--max-tokens', '40000', '--fit-max-tokens');
  await infer('unknown model', ...model('no-such-model'), ...SHORT);
  await infer('wrong key', ...model(server.model, 'another-key'), ...SHORT);
  return steps;
}

/** Compares predictions and judgements by `vllm run-batch` with live ones. One start of the engine answers both files. */
export async function batches(paths, folder, said) {
  const steps = [];
  const add = (...parts) => {
    steps.push(step(...parts));
    said(steps.at(-1));
  };
  const at = (name) => join(folder, name);
  for (const name of ['batch', 'batched', 'run-batch']) rmSync(at(name), { recursive: true, force: true });
  mkdirSync(at('run-batch'), { recursive: true });
  // Nothing listens there: all answers come from the files.
  const nobody = 'http://127.0.0.1:9/v1';
  const batch = (name) => ['--output-dir', at('batched'), '--batch-dir', at(`batch/${name}`), '--assume-params'];
  const asked = {
    infer: ['infer', ...ROWS, '--model-name', 'tiny', '--model-base-url', nobody, ...GREEDY, ...batch('infer')],
    judge: [
      ...['judge', '--predictions', at('while it loads/predictions.jsonl'), ...VERDICT],
      ...['--judge-model', 'tiny', '--judge-base-url', nobody, ...batch('judge')],
    ],
  };
  for (const [name, command] of Object.entries(asked)) {
    const done = await awb(...command);
    add(`${name} --batch-dir`, done.code, last(done));
  }
  const requests = Object.keys(asked).flatMap((name) => linesOf(at(`batch/${name}/requests-0001.jsonl`)));
  const [input, output] = [at('run-batch/requests.jsonl'), at('run-batch/results.jsonl')];
  writeFileSync(input, requests.map((line) => `${line}\n`).join(''));
  const code = await runBatch(paths, input, output, at('run-batch/log'));
  const results = code === 0 ? linesOf(output) : [];
  add('vllm run-batch', code, `${requests.length} requests, ${results.length} results`);
  for (const [name, command] of Object.entries(asked)) {
    const ids = new Set(linesOf(at(`batch/${name}/requests-0001.jsonl`)).map((line) => JSON.parse(line).custom_id));
    const own = results.filter((line) => ids.has(JSON.parse(line).custom_id));
    writeFileSync(at(`batch/${name}/outputs-0001.jsonl`), own.map((line) => `${line}\n`).join(''));
    const done = await awb(...command);
    add(`${name} --batch-dir, again`, done.code, last(done));
  }
  const [live, batched] = ['streamed', 'batched'].map((name) => predicted(at(name)).map(({ gen }) => plain(gen)));
  const alike = live.filter((text, row) => text === batched[row]).length;
  const words = `${alike} of ${live.length} equal${firstApart(live, batched)}`;
  add('texts of the batch and of live requests', alike === live.length ? 0 : 1, words);
  return steps;
}

function linesOf(file) {
  return readFileSync(file, 'utf8').trim().split('\n').filter(Boolean);
}

/** Compares awb's likelihoods with those of transformers' own forward pass. */
export function likelihoodsOf(paths, folder) {
  const file = join(folder, 'likelihood/likelihood.jsonl');
  if (!existsSync(file)) return undefined;
  const script = join(HERE, 'engines/likelihood.py');
  const { stdout } = spawnSync('nice', ['-n', '10', paths.torch, script, paths.model, file], { encoding: 'utf8' });
  const rows = stdout
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  if (rows.length === 0) return undefined;
  const apart = rows.map(({ awb: [told], here: [found] }) => Math.abs(told - found) / found);
  const tokens = rows.every(({ awb: [, told], here: [, found] }) => told === found);
  const words = `${rows.length} rows, ${tokens ? 'the same tokens' : 'different tokens'}, nats differ by at most ${Math.max(...apart).toExponential(1)}`;
  return step("likelihood and transformers' forward pass", tokens && Math.max(...apart) < 1e-5 ? 0 : 1, words);
}

async function awb(...args) {
  const child = spawn(process.execPath, [BIN, ...args, '--retry-minutes', '1', '--quiet'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].on('data', (chunk) => {
      text[name] += chunk;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...text };
}

/** The lines that a user reads first. */
function last({ stdout, stderr }) {
  const lines = `${stderr.trim() === '' ? stdout : stderr}`.trim().split('\n');
  return lines.slice(0, 2).join('; ');
}

function predicted(folder) {
  const file = join(folder, 'predictions.jsonl');
  const rows = existsSync(file) ? linesOf(file).map((line) => JSON.parse(line)) : [];
  return rows.map((row) => ({ gen: row.gen, row }));
}

/**
 * Some engines put the white space that ends the prompt before a reply, some only in a stream. Some report a character that the budget
 * cut off.
 */
const plain = (text) => text.trimStart().replace(/\ufffd+$/, '');

/** The first pair of texts that differ, from their first difference on. */
function firstApart(ours, theirs) {
  const at = ours.findIndex((text, row) => text !== theirs[row]);
  if (at < 0) return '';
  const from = [...ours[at]].findIndex((character, place) => character !== [...`${theirs[at]}`][place]);
  return `; row ${at} from character ${from}: ${JSON.stringify(ours[at].slice(from))}, ${JSON.stringify(theirs[at]?.slice(from))}`;
}

/** Asks the rows by plain requests in the benchmark's protocol: every earlier turn, then this one. */
async function asked({ url, model, key }, rows) {
  const texts = [];
  for (const { system_str: system, prompt, response, turn_idx: turns } of rows) {
    const messages = [{ role: 'system', content: system }];
    for (let at = 0; at < turns - 1; at++) {
      messages.push({ role: 'user', content: prompt[at] }, { role: 'assistant', content: response[at] });
    }
    messages.push({ role: 'user', content: prompt[turns - 1] });
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages, temperature: 0, max_tokens: 24, ...JSON.parse(FREE) }),
    });
    texts.push(plain((await answer.json()).choices?.[0]?.message?.content ?? ''));
  }
  return texts;
}
