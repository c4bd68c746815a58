// Tests awb against real engines: a tiny random model served by vLLM, `transformers serve` and llama.cpp's own server.
// node bench/engines.mjs [install] [commands] [probes] [batch] [--engine NAME ...] [--folder DIR] [--python PYTHON] [--record DIR]
// (default: all steps; `npm run build` first). docs/endpoints.md and bench/README.md have the results.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { batches, commands, likelihoodsOf } from './engines/commands.mjs';
import { install, VERSIONS } from './engines/install.mjs';
import { KEPT, probe } from './engines/probes.mjs';
import { ENGINES, serve } from './engines/servers.mjs';
import { freePort } from './serve-sides.mjs';

const { values, positionals } = parseArgs({
  options: {
    engine: { type: 'string', multiple: true, default: Object.keys(ENGINES) },
    folder: { type: 'string', default: join(tmpdir(), 'awb-engines') },
    python: { type: 'string', default: 'python3' },
    record: { type: 'string' },
  },
  allowPositionals: true,
});
const does = (name) => positionals.length === 0 || positionals.includes(name);
const { folder } = values;
const paths = install(folder, { python: values.python, say: (text) => console.log(`installing ${text}`) });
console.log(
  `installed: ${Object.entries(VERSIONS)
    .map((pair) => pair.join(' '))
    .join(', ')}`,
);

// One at a time: each takes a few gigabytes.
for (const name of values.engine) {
  if (ENGINES[name] === undefined) throw new Error(`unknown engine ${name}; known: ${Object.keys(ENGINES).join(', ')}`);
  if (does('commands') || does('probes')) await serving(name);
  if (name === 'vllm' && does('batch')) keep(name, 'batch', await batches(paths, join(folder, 'runs-vllm'), show));
}
table();

async function serving(name) {
  console.log(`\n${ENGINES[name].words}`);
  const server = serve(name, paths, await freePort(), join(folder, `${name}.log`));
  const runs = join(folder, `runs-${name}`);
  try {
    if (does('commands')) keep(name, 'commands', await commands(server, runs, show));
    await server.ready;
    if (does('probes'))
      record(
        name,
        await probe(server, (what, { status, seconds }) => console.log(`  ${what}: ${status}, ${seconds} s`)),
      );
  } finally {
    await server.stop();
  }
  const compared = does('commands') ? likelihoodsOf(paths, runs) : undefined;
  if (compared !== undefined) keep(name, 'likelihood', [compared]);
}

function show({ name, code, words }) {
  console.log(`  ${name}: exit ${code}, ${words}`);
}

/** Keeps results by engine and part, so that each part can be repeated separately. */
function keep(name, part, steps) {
  const file = join(folder, 'found.json');
  const found = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  found[name] = { ...found[name], [part]: steps };
  writeFileSync(file, `${JSON.stringify(found, undefined, 1)}\n`);
}

function record(name, answers) {
  writeFileSync(join(folder, `answers-${name}.json`), `${JSON.stringify(answers, undefined, 1)}\n`);
  if (values.record === undefined) return;
  mkdirSync(values.record, { recursive: true });
  const kept = KEPT.map((what) => [what, { status: answers[what].status, body: answers[what].body }]);
  // A model served from a folder is named by its path, which differs between machines.
  const text = JSON.stringify(Object.fromEntries(kept), undefined, 1).replaceAll(paths.model, '/models/tiny-qwen3');
  writeFileSync(join(values.record, `${name}.json`), `${text}\n`);
}

function table() {
  const file = join(folder, 'found.json');
  if (!existsSync(file)) return;
  const found = JSON.parse(readFileSync(file, 'utf8'));
  const names = Object.keys(ENGINES).filter((name) => found[name] !== undefined);
  const steps = new Map();
  for (const name of names) {
    for (const { name: what, code } of Object.values(found[name]).flat()) {
      const codes = steps.get(what) ?? {};
      codes[name] = codes[name] === undefined ? `${code}` : `${codes[name]}, ${code}`;
      steps.set(what, codes);
    }
  }
  console.log(
    `\n| exit codes | ${names.map((name) => ENGINES[name].words).join(' | ')} |\n|---|${'--:|'.repeat(names.length)}`,
  );
  for (const [what, codes] of steps) console.log(`| ${what} | ${names.map((name) => codes[name] ?? '').join(' | ')} |`);
}
