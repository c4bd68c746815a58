// Measures a rollout relative to the ideal and to an ordinary run, and the cost of planning one. bench/README.md has the results.
// node bench/rollout.mjs [speed] [few] [plan] [--rounds 3] [--megabytes 400]   (default: speed and plan; `npm run build` first)

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDataset } from '../dist/benchmark/dataset.js';
import { planRollout } from '../dist/infer/rollout/plan.js';
import { BIN, inferOf, makeData, makeRecordedData, measured, median, startServer } from './workbench.mjs';

const LATENCY_MS = 200;
/** About as long as the rows of a trajectory of 15 turns. */
const ROW_BYTES = 30_000;
const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, megabytes: { type: 'string', default: '400' } },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
const does = (name) => positionals.length === 0 || positionals.includes(name);
const root = mkdtempSync(join(tmpdir(), 'awb-rollout-'));

try {
  if (does('speed')) for (const slots of positionals.includes('few') ? [16] : [16, 64]) await speed(slots);
  if (does('plan')) await plan();
} finally {
  rmSync(root, { recursive: true });
}

/**
 * Wall time relative to the minimum: the turns divided over the slots, or the longest chain. It alternates with an ordinary run of as
 * many rows, since milliseconds do not transfer between machines or hours.
 */
async function speed(slots) {
  const lengths = Array.from({ length: 6 * slots }, (_, chain) => 3 + ((chain * 13) % 28));
  const turns = lengths.reduce((sum, length) => sum + length, 0);
  const ideal = (Math.max(Math.ceil(turns / slots), ...lengths) * LATENCY_MS) / 1000;
  console.log(
    `speed: ${lengths.length} chains of ${Math.min(...lengths)} to ${Math.max(...lengths)} turns (${turns} in total), ${slots} slots, ${LATENCY_MS} ms: ideal ${ideal.toFixed(2)} s`,
  );
  const programs = {
    rollout: { data: makeTrajectories(lengths), flags: ['--rollout'], found: [] },
    ordinary: { data: await makeData(root, turns, ROW_BYTES), flags: [], found: [] },
  };
  for (let round = 0; round < rounds; round++) {
    for (const [name, { data, flags, found }] of Object.entries(programs)) {
      const server = await startServer(LATENCY_MS);
      const args = inferOf(server, data, join(root, `speed-${slots}-${name}-${round}`));
      found.push(await measured(root, [BIN, ...args, '--concurrency', String(slots), ...flags]));
      const asked = await server.stop();
      if (asked !== turns) throw new Error(`${asked} requests for ${turns} turns`);
    }
  }
  for (const [name, { found }] of Object.entries(programs)) {
    const times = found.map(({ wall }) => (wall / ideal).toFixed(3)).join(', ');
    const cpu = median(found.map(({ cpuMs }) => cpuMs / turns)).toFixed(2);
    console.log(`  ${name.padEnd(8)} ${times} x ideal, ${cpu} ms CPU per request (start-up included)`);
  }
}

/** Times making the chains of the lengthened recorded rows, which reads every row again. */
async function plan() {
  const { dir, rows } = makeRecordedData(root, Number(values.megabytes));
  const seconds = [];
  for (let round = 0; round < rounds; round++) {
    const dataset = await openDataset(dir);
    const started = performance.now();
    await planRollout({ dataset, chosen: dataset.rows }, new Set(), 0, new AbortController().signal);
    seconds.push((performance.now() - started) / 1000);
    await dataset.close();
  }
  const each = seconds.map((time) => time.toFixed(2)).join(', ');
  console.log(`plan: chains of all ${rows} rows (${values.megabytes} MB): ${each} s`);
}

/** Writes two rows per trajectory: one in the middle and one at its last turn. */
function makeTrajectories(lengths) {
  const dir = mkdtempSync(join(root, 'trajectories-'));
  const rows = lengths.flatMap((length, id) => [rowAt(id, Math.ceil(length / 2)), rowAt(id, length)]);
  writeFileSync(join(dir, 'terminal_test.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return dir;
}

function rowAt(id, turn_idx) {
  const act = (turn) =>
    `### Turn ${turn}\n**Action:**\n\`\`\`json\n[{"keystrokes": "ls ${turn}\\n", "duration": 0.4}]\n\`\`\``;
  const turns = Array.from({ length: turn_idx }, (_, index) => index + 1);
  const shown = 'drwxr-xr-x 2 root root 4096 Nov 20 10:15 some-folder-name\n'.repeat(30);
  return {
    task: 'terminal',
    id,
    prompt: turns.map((turn) => (turn < turn_idx ? act(turn) : `${act(turn)}\n\nPlease analyze the input above.`)),
    response: turns.map((turn) => `**Environment Observation:**\n${turn} ${shown}`),
    current_prompt: act(turn_idx),
    system_str: `You are terminal ${id}.`,
    turn_idx,
    total_turns: turn_idx,
  };
}
