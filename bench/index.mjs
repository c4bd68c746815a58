// Measures starting over a lot of data: from the start of `awb infer` to its first request, and how long the same command takes on a
// finished run. bench/README.md has the results.
// node bench/index.mjs [--megabytes 402] [start] [again]   (default: both; `npm run build` first)
// BENCH_DIST names another build (a folder such as dist) to measure.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HERE, inferOf, makeData, makeRecordedData, measured, median } from './workbench.mjs';

const ROUNDS = 3;
/** Rows of the benchmark. */
const ROWS = 2_170;
const { values, positionals } = parseArgs({
  options: { megabytes: { type: 'string', default: '402' } },
  allowPositionals: true,
});
const bin = join(process.env.BENCH_DIST ?? join(HERE, '../dist'), 'bin.js');
const does = (name) => positionals.length === 0 || positionals.includes(name);
const root = mkdtempSync(join(tmpdir(), 'awb-index-'));

try {
  const data = makeRecordedData(root, Number(values.megabytes));
  const what = `${values.megabytes} MB in ${data.rows} rows`;
  if (does('start')) await rounds(`first request, ${what}`, (round) => firstRequest(data.dir, join(root, `${round}`)));
  if (does('again')) {
    await again(`a finished run again, ${ROWS} rows of 2 kB`, await makeData(root, ROWS, 2_000));
    await again(`a finished run again, ${what}`, data.dir);
  }
} finally {
  rmSync(root, { recursive: true });
}

async function rounds(name, once) {
  const found = [];
  for (let round = 0; round < ROUNDS; round++) found.push(await once(round));
  const middle = (of) => median(found.map(of)).toFixed(2);
  const peak = Math.max(...found.map(({ peakMb }) => peakMb)).toFixed(0);
  const [wall, cpu] = [middle(({ wall }) => wall), middle(({ cpuMs }) => cpuMs / 1000)];
  console.log(`${name}: ${wall} s (median of ${ROUNDS}), ${cpu} s CPU, peak ${peak} MB`);
}

/** Starts infer and ends it at its first request. */
async function firstRequest(data, out) {
  const server = createServer((request, response) => {
    if (request.method === 'POST') server.emit('asked', performance.now());
    else response.end('{"data":[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const started = performance.now();
  const child = spawn(process.execPath, [bin, ...inferOf(server.address(), data, out)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  const [at] = await Promise.race([once(server, 'asked'), ended.then(() => [undefined])]);
  if (at === undefined) throw new Error('infer ended without a request');
  // Clock ticks of 10 ms in user and kernel mode, over all threads.
  const [user, system] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
  child.kill('SIGKILL');
  await ended;
  server.closeAllConnections();
  server.close();
  return { wall: (at - started) / 1000, cpuMs: (Number(user) + Number(system)) * 10, peakMb };
}

async function again(name, data) {
  const out = mkdtempSync(join(root, 'finished-'));
  const run = () =>
    measured(root, [
      ...[bin, 'infer', '--data-dir', data, '--output-dir', out],
      ...['--baseline', 'persistence', '--quiet', '--json'],
    ]);
  await run();
  await rounds(name, run);
}
