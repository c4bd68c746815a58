// Measures wall time, CPU time and memory of `awb infer` against a loopback server. bench/README.md has the results.
// node bench/pipeline.mjs [speed] [beside] [memory] [resume]   (default: all; `npm run build` first)
// BENCH_OTHER=path/to/dist/bin.js adds another build of awb to `beside`.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BIN, fileIn, HERE, inferOf, makeData, measured, median, startServer, urlOf } from './workbench.mjs';

/** Programs to compare, each as the arguments of node. */
const PROGRAMS = {
  'bare client': (server, data, out) => [join(HERE, 'bare-client.mjs'), fileIn(data), urlOf(server), `${out}.jsonl`],
  awb: (server, data, out) => [BIN, ...inferOf(server, data, out)],
  ...(process.env.BENCH_OTHER && {
    'other awb': (server, data, out) => [process.env.BENCH_OTHER, ...inferOf(server, data, out)],
  }),
};
const ROUNDS = 5;
const wanted = process.argv.slice(2);
const does = (name) => wanted.length === 0 || wanted.includes(name);
const root = mkdtempSync(join(tmpdir(), 'awb-bench-'));

try {
  if (does('speed')) await speed();
  if (does('beside')) await beside();
  if (does('memory')) await memory();
  if (does('resume')) await resume();
} finally {
  rmSync(root, { recursive: true });
}

/** 200 ms latency, 64 in flight: wall time relative to the ideal, marginal CPU per request, peak memory. */
async function speed() {
  console.log('speed: 200 ms latency, 64 in flight, rows of 2 kB');
  for (const mode of ['--no-stream', '--stream']) {
    const few = await measure({ rows: 500, rowBytes: 2_000, latencyMs: 200, flags: [mode] });
    const many = await measure({ rows: 2_000, rowBytes: 2_000, latencyMs: 200, flags: [mode] });
    const ideal = Math.ceil(2_000 / 64) * 0.2;
    const margin = (many.cpuMs - few.cpuMs) / 1_500;
    console.log(
      `  ${mode.padEnd(11)} 2,000 rows: ${many.wall.toFixed(2)} s = ${(many.wall / ideal).toFixed(3)} x ideal, ` +
        `${margin.toFixed(2)} ms marginal CPU per request, peak ${many.peakMb.toFixed(0)} MB (500 rows: ${few.wall.toFixed(2)} s, ${few.peakMb.toFixed(0)} MB)`,
    );
  }
}

/**
 * Marginal CPU per request, compared with the bare client. The programs alternate, so that other load on the machine affects all of
 * them, and each round has its own ratio.
 */
async function beside() {
  for (const pieces of [8, 400]) {
    console.log(`beside: 100 ms latency, 64 in flight, streaming, rows of 2 kB, replies of ${pieces} chunks`);
    const [few, many] = await Promise.all([makeData(root, 300, 2_000), makeData(root, 1_300, 2_000)]);
    const server = await startServer(100, pieces);
    const margins = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, argsOf] of Object.entries(PROGRAMS)) {
        const cpu = [];
        for (const data of [few, many]) {
          const out = join(root, `beside-${pieces}-${round}-${name.replace(' ', '-')}-${cpu.length}`);
          cpu.push((await measured(root, argsOf(server, data, out))).cpuMs);
        }
        margins[name].push((cpu[1] - cpu[0]) / 1_000);
      }
    }
    await server.stop();
    const bare = margins['bare client'];
    for (const [name, own] of Object.entries(margins)) {
      const ratios = own.map((margin, round) => margin / bare[round]);
      const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
      console.log(
        `  ${name.padEnd(11)} ${median(own).toFixed(2)} ms CPU per request (median of ${ROUNDS}), ` +
          `${median(ratios).toFixed(2)} x the bare client's (${range})`,
      );
    }
  }
}

/** Peak memory must not grow with the number of rows. */
async function memory() {
  console.log('memory: no latency, 64 in flight, streaming');
  for (const rowBytes of [20_000, 200_000]) {
    const peaks = [];
    for (const megabytes of [50, 500]) {
      const { peakMb, wall } = await measure({ rows: (megabytes * 1e6) / rowBytes, rowBytes, latencyMs: 0, flags: [] });
      peaks.push(peakMb);
      console.log(
        `  rows of ${rowBytes / 1000} kB, ${megabytes} MB: peak ${peakMb.toFixed(0)} MB, ${wall.toFixed(1)} s`,
      );
    }
    console.log(`  rows of ${rowBytes / 1000} kB: ${(peaks[1] / peaks[0]).toFixed(2)} x from 50 MB to 500 MB`);
  }
}

/** Repeats the command on a finished run of 2,170 rows. */
async function resume() {
  const data = await makeData(root, 2_170, 2_000);
  const server = await startServer(0);
  const out = join(root, 'resume');
  await infer(server, data, out, []);
  const walls = [];
  for (let i = 0; i < 5; i++) walls.push((await infer(server, data, out, [])).wall);
  const requests = await server.stop();
  console.log(
    `resume: a finished run of 2,170 rows continues in ${median(walls).toFixed(2)} s (median of 5), ${requests - 2_170} further requests`,
  );
}

async function measure({ rows, rowBytes, latencyMs, flags }) {
  const data = await makeData(root, rows, rowBytes);
  const server = await startServer(latencyMs);
  const out = join(root, `out-${rows}-${rowBytes}-${flags.join('')}`);
  const result = await infer(server, data, out, flags);
  const requests = await server.stop();
  if (requests !== rows) throw new Error(`${requests} requests for ${rows} rows`);
  rmSync(data, { recursive: true });
  rmSync(out, { recursive: true });
  return result;
}

async function infer(server, data, out, flags) {
  return measured(root, [BIN, ...inferOf(server, data, out), ...flags]);
}
