// The status of runs in words: in 80 columns, nothing important is cut off.

import { expect, test } from 'vitest';
import { statusText } from '../../../src/cli/status.js';
import { type RunStatus, sumOf } from '../../../src/results/status.js';

const RUN: RunStatus = {
  dir: 'results/checkpoints/qwen-agentworld-35b/step-2000/shards/3',
  name: 'predictions',
  kind: 'infer',
  label: 'step-2000',
  state: 'running',
  process: { pid: 4_194_303, host: 'gpu-node-17.cluster.example.com' },
  ended_at: undefined,
  started_at: '2026-11-22T00:00:00.000Z',
  last_record_at: '2026-11-22T01:00:00.000Z',
  ...{ total: 100_000, ok: 12_345, failed: 1_234, left: 86_421 },
  ...{ rows_per_second: 0.24, seconds_left: 360_087, tokens: 123_456_789, usd: 12.5 },
  domains: { mcp: { total: 100_000, ok: 12_345, failed: 1_234, left: 86_421 } },
  failures: [{ class: 'refused', rows: 1_234, reason: 'a reason '.repeat(20) }],
};

const LOOK = { columns: 80, color: false, blocks: false };

test('with a long folder, a long host and large counts, state and time left stay within 80 columns', () => {
  const runs = [RUN, { ...RUN, dir: 'a', state: 'incomplete' } as const];
  const text = statusText(runs, sumOf(runs), Date.parse('2026-11-22T01:00:05.000Z'), LOOK);
  const lines = text.split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  const said = text.replace(/\s+/g, ' ');
  expect(said).toContain('running on gpu-node-17.cluster.example.com, if process 4194303 is alive there');
  expect(said).toContain('86,421 left, 0.24 rows/s, about 4 days left, 123,456,789 tokens, $12.50');
  expect(said).toContain('step-2000/shards/3: infer "step-2000", running');
  expect(said).toMatch(/all 2 runs: .* 172,842 left, 0\.48 rows\/s, about 4 days left $/);
  expect(lines.filter((line) => line.startsWith('    refused 1,234: a reason'))).toHaveLength(2);
});

test('names that could control the terminal are shown as text', () => {
  const text = statusText([{ ...RUN, dir: 'a\u001b[2J', label: 'b\u0007' }], sumOf([RUN]), 0, LOOK);
  expect(text).not.toMatch(/[\u0007\u001b]/);
});
