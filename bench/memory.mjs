// Measures bytes of memory per row: live memory of `awb infer` and `awb judge` over few and over many rows.
// node bench/memory.mjs [--rows 100000] [baseline] [asked] [resumed] [metrics] [judged]   (default: all; `npm run build` first).
// BENCH_BIN names another build to measure. bench/README.md has the results.

import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BIN, HERE, inferOf, makeData, measured, startServer, urlOf } from './workbench.mjs';

const FEW = 2_000;
const ROW_BYTES = 900;
const QUIET = ['--quiet', '--json'];
const { values, positionals } = parseArgs({
  options: { rows: { type: 'string', default: '100000' } },
  allowPositionals: true,
});
const sizes = [FEW, Number(values.rows)];
const does = (name) => positionals.length === 0 || positionals.includes(name);
const bin = process.env.BENCH_BIN ?? BIN;
const root = mkdtempSync(join(tmpdir(), 'awb-memory-'));

try {
  console.log(`bytes per row, from ${sizes.join(' to ')} rows`);
  const found = {};
  for (const rows of sizes) {
    for (const [name, reading] of await readingsOf(rows)) found[name] = [...(found[name] ?? []), reading];
  }
  for (const [name, readings] of Object.entries(found)) console.log(lineOf(name, readings));
} finally {
  rmSync(root, { recursive: true });
}

/** Readings of each kind of run over this many rows, by name. */
async function readingsOf(rows) {
  const data = await makeData(root, rows, ROW_BYTES);
  const out = join(root, `out-${rows}`);
  const predictions = ['--predictions', join(out, 'predictions.jsonl')];
  const server = await startServer(0);
  const found = [];
  const run = async (name, args) => {
    if (does(name)) found.push([name, await live([bin, ...args])]);
  };
  await run('asked', inferOf(server, data, join(root, `asked-${rows}`)));
  const baseline = ['infer', '--data-dir', data, '--output-dir', out, '--baseline', 'persistence', ...QUIET];
  found.push(['baseline', await live([bin, ...baseline])]);
  // Without its last record the run is unfinished, so the other records are read back from the journal.
  if (does('resumed')) dropLastLine(join(out, 'predictions.journal.jsonl'));
  await run('resumed', baseline);
  await run('metrics', ['judge', ...predictions, '--output-dir', out, '--mode', 'metrics', ...QUIET]);
  const judge = ['--judge-base-url', urlOf(server), '--judge-model', 'judge', '--concurrency', '64', ...QUIET];
  await run('judged', ['judge', ...predictions, '--output-dir', join(root, `judged-${rows}`), ...judge]);
  await server.stop();
  return found;
}

function dropLastLine(path) {
  const bytes = readFileSync(path);
  truncateSync(path, bytes.lastIndexOf('\n', -2) + 1);
}

async function live(args) {
  const liveFile = join(root, 'live.json');
  const usage = await measured(root, args, { preload: [join(HERE, 'live-memory.mjs')], env: { BENCH_LIVE: liveFile } });
  return { ...usage, ...JSON.parse(readFileSync(liveFile, 'utf8')) };
}

function lineOf(name, [few, many]) {
  const slope = (of) => ((of(many) - of(few)) / (sizes[1] - sizes[0])).toFixed(0);
  const begin = slope(({ begin }) => begin);
  const end = slope(({ end }) => end);
  const peak = slope(({ peakMb }) => peakMb * 1024 * 1024);
  return (
    `  ${name.padEnd(9)} ${begin} at the first record, ${end} at the last; peak of the process ${peak} ` +
    `(${many.peakMb.toFixed(0)} MB), ${many.wall.toFixed(1)} s, ${many.cpuMs.toFixed(0)} ms CPU`
  );
}
