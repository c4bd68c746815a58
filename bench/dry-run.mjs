// Measures wall time, CPU time of all threads and peak memory of `awb infer --dry-run` and `awb judge --dry-run` over a lot of data.
// node bench/dry-run.mjs [--megabytes 500] [--rounds 3] [--tokenizer FILE] [infer] [judge]   (default: both; `npm run build` first).
// BENCH_BIN names another build to measure. bench/README.md has the results.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BIN, makeRecordedData, measured, median } from './workbench.mjs';

const QUIET = ['--quiet', '--json'];
/** No server listens there. A dry run only requests the server's description of its model. */
const NOBODY = 'http://127.0.0.1:9/v1';
const { values, positionals } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '3' },
    tokenizer: { type: 'string' },
  },
  allowPositionals: true,
});
const does = (name) => positionals.length === 0 || positionals.includes(name);
const bin = process.env.BENCH_BIN ?? BIN;
const root = mkdtempSync(join(tmpdir(), 'awb-dry-run-'));

try {
  const { dir: data, rows } = makeRecordedData(root, Number(values.megabytes));
  console.log(`dry runs over ${values.megabytes} MB in ${rows} rows`);
  const dry = ['--dry-run', ...QUIET, ...(values.tokenizer === undefined ? [] : ['--tokenizer', values.tokenizer])];
  if (does('infer')) {
    await report('infer', ['--data-dir', data, '--model-base-url', NOBODY, '--model-name', 'm', ...dry]);
  }
  if (does('judge')) {
    const out = join(root, 'predicted');
    await measured(root, [
      bin,
      'infer',
      '--data-dir',
      data,
      '--output-dir',
      out,
      '--baseline',
      'persistence',
      ...QUIET,
    ]);
    const predictions = join(out, 'predictions.jsonl');
    console.log(`  (predictions of ${(statSync(predictions).size / 1e6).toFixed(0)} MB)`);
    await report('judge', ['--predictions', predictions, '--judge-base-url', NOBODY, '--judge-model', 'm', ...dry]);
  }
} finally {
  rmSync(root, { recursive: true });
}

/** Prints medians of a command. Each round has its own folder, so that no round reuses files of an earlier one. */
async function report(command, args) {
  const found = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    found.push(await measured(root, [bin, command, ...args, '--output-dir', join(root, `${command}-${round}`)]));
  }
  const of = (figure) => median(found.map(figure));
  const [wall, cpu] = [of((each) => each.wall), of((each) => each.cpuMs / 1000)];
  const peak = Math.max(...found.map(({ peakMb }) => peakMb));
  const load = loadavg()[0].toFixed(1);
  console.log(
    `  ${command.padEnd(6)} ${wall.toFixed(2)} s, ${cpu.toFixed(2)} s CPU, peak ${peak.toFixed(0)} MB (load ${load})`,
  );
}
