// Measures batch files with many requests: how fast they are written, rescanned without results, and read back, with memory and
// event-loop blocks. node bench/batch.mjs [--rows 100000] [--kb 20] [--reply-kb 10]   (`npm run build` first; needs twice the rows' size
// of disk space in the temporary folder). bench/README.md has the results.

import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { BIN, HERE, makeData, measured } from './workbench.mjs';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    kb: { type: 'string', default: '20' },
    'reply-kb': { type: 'string', default: '10' },
    prof: { type: 'string' },
  },
});
const LONG_MS = 50;
const rows = Number(values.rows);
const root = mkdtempSync(join(tmpdir(), 'awb-batch-'));
const [out, batch] = [join(root, 'out'), join(root, 'batch')];

try {
  const data = await makeData(root, rows, Number(values.kb) * 1000);
  console.log(`${rows} rows of ${values.kb} kB, replies of ${values['reply-kb']} kB`);
  const args = ['infer', '--data-dir', data, '--output-dir', out, '--model-name', 'm', '--batch-dir', batch];
  const command = [...args, '--assume-params', '--quiet', '--json'];
  const written = await stage('written', command, 75);
  say('written', written, bytesOf(/^requests-/));
  say('without results', await stage('awaited', command, 75), 0);
  await answer();
  const journal = watchedJournal();
  const read = await stage('read', command, 0);
  say('read back', read, bytesOf(/^outputs-/));
  const seconds = journal.grewUntil() - read.started;
  console.log(
    `  until everything was in the journal ${seconds.toFixed(1)} s (${((seconds / bytesOf(/^outputs-/)) * 1e9).toFixed(1)} s per GB)`,
  );
} finally {
  rmSync(root, { recursive: true });
}

async function stage(name, args, code) {
  const file = join(root, 'blocks.json');
  const prof = values.prof ? ['--cpu-prof', '--cpu-prof-dir', join(values.prof, name)] : [];
  const started = performance.now() / 1000;
  const usage = await measured(root, [...prof, BIN, ...args], {
    preload: [join(HERE, 'loop-blocks.mjs')],
    env: { BENCH_BLOCKS: file },
    code,
  });
  return { ...usage, started, ...JSON.parse(readFileSync(file, 'utf8')) };
}

/** `grewUntil` returns the second (of `performance.now()`) in which the journal last grew. */
function watchedJournal() {
  const file = join(out, 'predictions.journal.jsonl');
  let [bytes, at] = [0, 0];
  const look = () => {
    const { size } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0 };
    if (size > bytes) [bytes, at] = [size, performance.now() / 1000];
  };
  const timer = setInterval(look, 20);
  return {
    grewUntil() {
      clearInterval(timer);
      look();
      return at;
    },
  };
}

function say(name, { wall, cpuMs, peakMb, blocks }, bytes) {
  const cpu = cpuMs / 1000;
  const long = blocks.filter(({ ms }) => ms > LONG_MS);
  const longest = Math.max(0, ...blocks.map(({ ms }) => ms));
  const speed =
    bytes === 0
      ? ''
      : `, ${(bytes / 1e6).toFixed(0)} MB: ${(bytes / 1e6 / wall).toFixed(0)} MB/s, ${(bytes / 1e6 / cpu).toFixed(0)} MB per second of CPU (${((cpu / bytes) * 1e9).toFixed(1)} s per GB)`;
  console.log(
    `  ${name.padEnd(16)} ${wall.toFixed(1)} s, ${cpu.toFixed(1)} s CPU, peak ${peakMb.toFixed(0)} MB${speed}; ` +
      `${long.length} blocks over ${LONG_MS} ms${long.map(({ at, ms }) => ` (${ms} ms after ${(at / 1000).toFixed(1)} s)`).join('')}, longest ${longest} ms`,
  );
}

function bytesOf(pattern) {
  const names = readdirSync(batch).filter((name) => pattern.test(name));
  return names.reduce((sum, name) => sum + statSync(join(batch, name)).size, 0);
}

/** Writes a result for each request next to the requests, file by file. */
async function answer() {
  const text = 'drwxr-xr-x 2 root root 4096 Nov 20 10:15 some-folder-name\n'.repeat(
    Math.ceil((Number(values['reply-kb']) * 1000) / 58),
  );
  for (const name of readdirSync(batch).filter((each) => each.startsWith('requests-'))) {
    const file = createWriteStream(join(batch, name.replace('requests', 'outputs')));
    for await (const line of createInterface({ input: createReadStream(join(batch, name)) })) {
      const custom_id = /"custom_id":"([^"]+)"/.exec(line)[1];
      const message = {
        role: 'assistant',
        content: `<predicted_observation>\n${custom_id}\n${text}</predicted_observation>`,
      };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      const usage = { prompt_tokens: 5000, completion_tokens: 2500, total_tokens: 7500 };
      const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: 'm', choices, usage };
      const response = { status_code: 200, request_id: 'req_1', body };
      if (!file.write(`${JSON.stringify({ id: 'batch_req_1', custom_id, response, error: null })}\n`))
        await once(file, 'drain');
    }
    file.end();
    await once(file, 'close');
  }
}
