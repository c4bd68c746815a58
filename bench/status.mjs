// Measures the cost of reading a run's status: node bench/status.mjs [ROWS]   (`npm run build` first)
// Writes journals of made-up records, short and long, to a temporary folder, and runs `awb status` on each three times.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { sealed } from '../dist/run/journal.js';
import { BIN, measured, median } from './workbench.mjs';

const ROWS = Number(process.argv[2] ?? 100_000);
const MANIFEST = {
  schema: 'awb.manifest/1',
  kind: 'infer',
  tool: { name: 'agentworldbench', version: '0' },
  ...{ meta: {}, identity: {}, fingerprint: '', settings: {}, endpoints: [], servedModels: [] },
  ...{ data: {}, chosen: {}, tokens: {}, notices: [] },
  counts: { chosen: 2 * ROWS, ok: 0, failed: 0, notDone: 2 * ROWS, absent: 0, failures: {}, flags: {} },
  ...{ startedAt: new Date().toISOString(), state: 'running' },
  process: { pid: process.pid, host: hostname(), totals: { mcp: ROWS, terminal: ROWS } },
};

function recordOf(row, characters) {
  const key = (row * 2_654_435_761).toString(16).padStart(32, '0');
  const awb = { key, trajectory: key, repeat: 0, status: 'ok', flags: [] };
  const at = new Date(Date.now() - ROWS + row).toISOString();
  const usage = { promptTokens: 100, completionTokens: 10 };
  const log = { attempts: 1, usage, ms: 100, host: 'h:1', dropped: '', at, domain: row % 2 ? 'mcp' : 'terminal' };
  return sealed({ id: `${key}/0`, row: { gen: 'word '.repeat(characters / 5), awb }, log });
}

for (const characters of [500, 3_000]) {
  const dir = mkdtempSync(join(tmpdir(), 'awb-bench-'));
  writeFileSync(join(dir, 'predictions.manifest.json'), JSON.stringify(MANIFEST));
  const journal = join(dir, 'predictions.journal.jsonl');
  for (let row = 0; row < ROWS; row += 1_000) {
    const records = Array.from({ length: Math.min(1_000, ROWS - row) }, (_, index) =>
      recordOf(row + index, characters),
    );
    appendFileSync(journal, Buffer.concat(records));
  }
  const runs = [];
  for (let run = 0; run < 3; run++) runs.push(await measured(dir, [BIN, 'status', dir, '--json'], { code: 75 }));
  const [wall, cpuMs, peakMb] = ['wall', 'cpuMs', 'peakMb'].map((name) => median(runs.map((run) => run[name])));
  console.log(
    `${ROWS} records of ${characters} characters: ${wall.toFixed(2)} s, ${(cpuMs / 1000).toFixed(2)} s CPU, peak ${peakMb.toFixed(0)} MB`,
  );
  rmSync(dir, { recursive: true });
}
