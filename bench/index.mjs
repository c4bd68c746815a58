// From the start of `awb infer` to its first request over much data, read for the first time and unchanged since; what reading every
// row a second time takes; and the memory that a row takes in the index. What it showed stands in bench/README.md.
// node bench/index.mjs [--megabytes 1000] [start] [again] [row]   (all where none is named; `npm run build` first)
// BENCH_DIST names another build (a folder such as dist) to measure; `again` and `row` look into it.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { HERE, inferOf, makeData, makeRecordedData, median } from './workbench.mjs';

const ROUNDS = 3;
const { values, positionals } = parseArgs({
  options: { megabytes: { type: 'string', default: '1000' } },
  allowPositionals: true,
});
const megabytes = Number(values.megabytes);
const dist = process.env.BENCH_DIST ?? join(HERE, '../dist');
const does = (name) => positionals.length === 0 || positionals.includes(name);
const root = mkdtempSync(join(tmpdir(), 'awb-index-'));

try {
  if (does('start')) await start();
  if (does('again')) await again();
  if (does('row')) await row();
} finally {
  rmSync(root, { recursive: true });
}

async function start() {
  const data = makeRecordedData(root, megabytes);
  console.log(`start: to the first request, over ${megabytes} MB in ${data.rows} rows`);
  for (const [name, folder] of [
    ['read for the first time', (round) => join(root, `out-${round}`)],
    ['unchanged since', () => join(root, 'out-0')],
  ]) {
    const found = [];
    for (let round = 0; round < ROUNDS; round++) found.push(await firstRequest(data.dir, folder(round)));
    const seconds = median(found.map((each) => each.seconds)).toFixed(2);
    const cpu = median(found.map((each) => each.cpuSeconds)).toFixed(2);
    const peak = Math.max(...found.map((each) => each.peakMb)).toFixed(0);
    console.log(`  ${name.padEnd(24)} ${seconds} s (median of ${ROUNDS}), ${cpu} s CPU, peak ${peak} MB`);
  }
}

/** Starts infer, and ends it when its first request is there. */
async function firstRequest(data, out) {
  const server = createServer((request, response) => {
    if (request.method === 'POST') server.emit('asked', performance.now());
    else response.end('{"data":[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const started = performance.now();
  const child = spawn(process.execPath, [join(dist, 'bin.js'), ...inferOf(server.address(), data, out)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  const [at] = await Promise.race([once(server, 'asked'), ended.then(() => [undefined])]);
  if (at === undefined) throw new Error('infer ended without a request');
  // Clock ticks of 10 ms, in user mode and in the kernel, of all threads.
  const [user, system] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  const cpuSeconds = (Number(user) + Number(system)) / 100;
  const peakMb = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024;
  child.kill('SIGKILL');
  await ended;
  server.closeAllConnections();
  server.close();
  return { seconds: (at - started) / 1000, cpuSeconds, peakMb };
}

/** Indexing, and then every row in order. */
async function again() {
  const { indexSeconds, againSeconds, cpuSeconds, peakMb } = await reading(
    makeRecordedData(root, megabytes / 2).dir,
    'again',
  );
  console.log(
    `again: ${megabytes / 2} MB indexed in ${indexSeconds.toFixed(2)} s, every row read again in ${againSeconds.toFixed(2)} s, ` +
      `${cpuSeconds.toFixed(2)} s CPU, peak ${peakMb.toFixed(0)} MB`,
  );
}

async function row() {
  const few = await reading(await makeData(root, 2_000, 900));
  const many = await reading(await makeData(root, 100_000, 900));
  const bytes = (many.live - few.live) / (many.rows - few.rows);
  console.log(`row: ${bytes.toFixed(0)} bytes in the index, from ${few.rows} to ${many.rows} rows`);
}

async function reading(...args) {
  const flags = ['--expose-gc', '--heap-growing-percent=40', join(HERE, 'reading.mjs'), dist];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...args]);
  return JSON.parse(stdout);
}
