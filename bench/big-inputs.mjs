// Runs many rows and large rows through infer, judge and score, and measures event-loop blocks and peak memory.
// node bench/big-inputs.mjs [--rows 100000x20,2000x400] [infer] [judge] [metrics] [score]   (rows x kB; default: all stages; `npm run
// build` first). BENCH_BIN names another build to measure. bench/README.md has the results.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BIN, HERE, inferOf, makeData, measured, startServer, urlOf } from './workbench.mjs';

const { values, positionals } = parseArgs({
  options: { rows: { type: 'string', default: '100000x20,2000x400' }, prof: { type: 'string' } },
  allowPositionals: true,
});
const named = (name) => positionals.length === 0 || positionals.includes(name);
/** Score reads the output of judge. */
const does = (name) => named(name) || (name === 'judge' && named('score'));
const bin = process.env.BENCH_BIN ?? BIN;
const LONG_MS = 50;

for (const shape of values.rows.split(',')) {
  const [rows, kilobytes] = shape.split('x').map(Number);
  const root = mkdtempSync(join(tmpdir(), 'awb-big-'));
  try {
    console.log(`${rows} rows of ${kilobytes} kB`);
    await stages(root, await makeData(root, rows, kilobytes * 1000));
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** Each stage works on the output of the stage before it. */
async function stages(root, data) {
  const out = join(root, 'out');
  const server = await startServer(0);
  const judge = ['judge', '--predictions', join(out, 'predictions.jsonl'), '--output-dir'];
  const asking = [
    '--judge-base-url',
    urlOf(server),
    '--judge-model',
    'judge',
    '--concurrency',
    '64',
    '--quiet',
    '--json',
  ];
  await stage(root, 'infer', inferOf(server, data, out));
  await stage(root, 'infer again', inferOf(server, data, out));
  await stage(root, 'judge', [...judge, out, ...asking]);
  await stage(root, 'metrics', [...judge, join(root, 'metrics'), '--mode', 'metrics', '--quiet', '--json']);
  await stage(root, 'score', ['score', '--predictions', join(out, 'judged.jsonl'), '--db', join(root, 'a.sqlite')]);
  await server.stop();
}

async function stage(root, name, args) {
  if (name !== 'infer' && !does(name.split(' ')[0])) return;
  const file = join(root, 'blocks.json');
  const prof = values.prof ? ['--cpu-prof', '--cpu-prof-dir', join(values.prof, name.replace(' ', '-'))] : [];
  const usage = await measured(root, [...prof, bin, ...args], {
    preload: [join(HERE, 'loop-blocks.mjs')],
    env: { BENCH_BLOCKS: file },
  });
  const { blocks, longestGcMs } = JSON.parse(readFileSync(file, 'utf8'));
  const longest = blocks.toSorted((a, b) => b.ms - a.ms);
  const long = longest.filter(({ ms }) => ms > LONG_MS);
  const shown = longest.slice(0, 8).map(({ ms, at }) => `${ms} ms at ${(at / 1000).toFixed(1)} s`);
  console.log(
    `  ${name.padEnd(12)} ${usage.wall.toFixed(1)} s, ${(usage.cpuMs / 1000).toFixed(1)} s CPU, peak ${usage.peakMb.toFixed(0)} MB; ` +
      `${long.length} blocks over ${LONG_MS} ms; longest: ${shown.join(', ')}; longest garbage collection pause ${longestGcMs.toFixed(0)} ms`,
  );
}
