// How close a rollout comes to the ideal, and what it costs to plan one, to take one up again and to keep one in memory.
// node bench/rollout.mjs [speed] [plan] [--rounds 3] [--megabytes 400]   (all where none is named; `npm run build` first)

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BIN, inferOf, makeRecordedData, measured, median, startServer } from './workbench.mjs';

const LATENCY_MS = 200;
const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, megabytes: { type: 'string', default: '400' } },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
const does = (name) => positionals.length === 0 || positionals.includes(name);
const root = mkdtempSync(join(tmpdir(), 'awb-rollout-'));

try {
  if (does('speed')) for (const slots of [16, 64]) await speed(slots);
  if (does('plan')) await plan();
} finally {
  rmSync(root, { recursive: true });
}

/** Wall time against the least that is possible: the turns in as many slots, or the longest chain alone. */
async function speed(slots) {
  const lengths = Array.from({ length: 6 * slots }, (_, chain) => 3 + ((chain * 13) % 28));
  const data = makeTrajectories(lengths);
  const turns = lengths.reduce((sum, length) => sum + length, 0);
  const ideal = (Math.max(Math.ceil(turns / slots), ...lengths) * LATENCY_MS) / 1000;
  const walls = [];
  const cpus = [];
  for (let round = 0; round < rounds; round++) {
    const server = await startServer(LATENCY_MS);
    const out = join(root, `speed-${slots}-${round}`);
    const flags = ['--rollout', '--concurrency', String(slots)];
    const { wall, cpuMs } = await measured(root, [BIN, ...inferOf(server, data, out), ...flags]);
    walls.push(wall);
    cpus.push(cpuMs / turns);
    const asked = await server.stop();
    if (asked !== turns) throw new Error(`${asked} requests for ${turns} turns`);
  }
  const times = walls.map((wall) => (wall / ideal).toFixed(3)).join(', ');
  console.log(
    `speed: ${lengths.length} chains of ${Math.min(...lengths)} to ${Math.max(...lengths)} turns (${turns}), ${slots} slots, ${LATENCY_MS} ms: ` +
      `${median(walls).toFixed(2)} s, ideal ${ideal.toFixed(2)} s; rounds ${times} x ideal; ${median(cpus).toFixed(2)} ms CPU a turn`,
  );
}

/** The recorded rows, lengthened: a baseline rolls out the first turns alone, so that reading and planning are what takes time. */
async function plan() {
  const { dir, rows } = makeRecordedData(root, Number(values.megabytes));
  const out = join(root, 'plan');
  for (const [name, flags] of [
    ['ordinary', []],
    ['rollout', ['--rollout']],
  ]) {
    const found = [];
    for (let round = 0; round < rounds; round++) {
      const args = ['infer', '--baseline', 'empty', '--data-dir', dir, '--output-dir', `${out}-${name}-${round}`];
      found.push(await measured(root, [BIN, ...args, '--quiet', '--json', '--limit', '1', '--lean', ...flags]));
    }
    const wall = median(found.map((each) => each.wall)).toFixed(2);
    const peak = Math.max(...found.map((each) => each.peakMb)).toFixed(0);
    console.log(
      `plan: ${name}, one row of each domain of ${rows} (${values.megabytes} MB): ${wall} s, peak ${peak} MB`,
    );
  }
}

/** A row at the last turn of each trajectory and one in the middle. */
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
