// Measures wall time, CPU time and memory of `awb compare` and `awb gate` on large runs. bench/README.md has the results.
// node bench/comparison.mjs [rows]   (default: 100,000; `npm run build` first)

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BIN = process.env.BENCH_BIN ?? new URL('../dist/bin.js', import.meta.url).pathname;
const USAGE = new URL('usage.mjs', import.meta.url).pathname;
const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];
const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'];
const TURNS = 10;
const ROW_BYTES = 2_000;
const rows = Number(process.argv[2] ?? 100_000);
const root = mkdtempSync(join(tmpdir(), 'awb-bench-'));

try {
  const db = join(root, 'runs.sqlite');
  const files = [];
  for (const [name, level] of [
    ['base', 0],
    ['candidate', 1],
  ]) {
    files.push(await writeRun(name, level));
    await awb('score', '--predictions', files.at(-1), '--db', db);
  }
  console.log(`${rows} rows of ${ROW_BYTES / 1000} kB in each of two runs, ${TURNS} turns per trajectory`);
  for (const command of ['compare', 'gate']) {
    report(`${command}, from SQLite`, await awb(command, 'base', 'candidate', '--db', db));
    report(`${command}, judged files`, await awb(command, ...files));
  }
} finally {
  rmSync(root, { recursive: true });
}

function report(name, { wall, cpuMs, peakMb }) {
  console.log(
    `  ${name.padEnd(24)} ${wall.toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s of CPU, peak ${peakMb.toFixed(0)} MB`,
  );
}

/** Writes a judged file and its manifest. Ratings differ from row to row, and a little between the runs. */
async function writeRun(name, level) {
  const dir = join(root, name);
  mkdirSync(dir);
  const path = join(dir, 'judged.jsonl');
  const file = createWriteStream(path);
  const chosen = {};
  const filler = 'drwxr-xr-x 2 root root 4096 Nov 20 10:15 some-folder-name\\n'
    .repeat(ROW_BYTES / 58)
    .slice(0, ROW_BYTES - 700);
  for (let at = 0; at < rows; at++) {
    const domain = DOMAINS[at % DOMAINS.length];
    const trajectory = hash(`${domain} ${Math.floor(at / DOMAINS.length / TURNS)}`);
    chosen[domain] = (chosen[domain] ?? 0) + 1;
    const ratings = DIMENSIONS.map((_, index) => 1 + ((at * 7 + index * 3 + (at % 11 === 0 ? level : 0)) % 5));
    const row = {
      task: `lwm/${domain}`,
      turn_idx: 1 + (Math.floor(at / DOMAINS.length) % TURNS),
      gen: filler,
      total_score: ratings.reduce((sum, rating) => sum + rating, 0) / ratings.length,
      ...Object.fromEntries(DIMENSIONS.map((dimension, index) => [dimension, ratings[index]])),
      failed: 0,
      weaknesses: ['one value differs'],
      awb: { key: hash(`row ${at}`), trajectory, repeat: 0, flags: [], judge: { status: 'ok' } },
    };
    if (!file.write(`${JSON.stringify(row)}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
  const identity = {
    mode: 'rubric',
    judge: 'judge',
    rubrics: { name: 'bundled', fingerprint: 'ab' },
    verdicts: 'strict',
    sampling: {},
  };
  const startedAt = `2026-01-01T00:00:0${level}.000Z`;
  const predictions = {
    label: name,
    meta: {},
    identity: { model: 'wm', protocol: 'history', data: 'data' },
    startedAt,
  };
  const manifest = { schema: 'awb.manifest/1', kind: 'judge', meta: {}, identity, startedAt, chosen, predictions };
  writeFileSync(join(dir, 'judged.manifest.json'), JSON.stringify(manifest));
  return path;
}

function hash(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

async function awb(...args) {
  const usageFile = join(root, 'usage.json');
  const started = performance.now();
  const child = spawn(process.execPath, ['--import', USAGE, BIN, ...args, '--json'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, BENCH_USAGE: usageFile },
  });
  const [code] = await once(child, 'close');
  // 4 and 5 are verdicts of the gate.
  if (![0, 4, 5].includes(code)) throw new Error(`awb ${args[0]} ended with ${code}`);
  return { wall: (performance.now() - started) / 1000, ...JSON.parse(readFileSync(usageFile, 'utf8')) };
}
