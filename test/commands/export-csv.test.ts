// `awb export csv` end to end: what a CSV reader finds in it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { csvRecords } from '../../src/benchmark/ratings.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

let dir: string;
beforeEach(async () => {
  dir = await temporaryFolder();
});

const run = (...words: string[]) => awb(['export', 'csv', ...words], { cwd: dir });

/** The records of a CSV text, keyed by its first line. */
function read(text: string): Record<string, string>[] {
  const [head, ...records] = csvRecords(text, () => new Error());
  return records.map(({ cells }) => Object.fromEntries(cells.map((cell, at) => [String(head?.cells[at]), cell])));
}

test('a run has one line per judgement; failures have their class and no rating', async () => {
  const source = await judgedRun(join(dir, 'a'), {
    label: 'a',
    rating: (_, row) => (row === 0 ? undefined : 4),
    refuses: (domain, row) => domain === 'web' && row === 1,
  });
  const { code, stdout } = await run(source);
  expect(code).toBe(0);
  const lines = read(stdout);
  const rows = readFileSync(source, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ key }) => key)).toEqual(rows.map(({ awb: own }) => own.key));
  expect(lines[1]).toMatchObject({
    label: 'a',
    domain: 'mcp',
    judgement: '0',
    total: '4',
    score: '75',
    status: 'ok',
    class: '',
  });
  expect(lines.find(({ status }) => status === 'failed')).toMatchObject({ total: '', score: '' });
  expect(lines.filter(({ total }) => total === '').map(({ format }) => format)).toEqual(
    lines.filter(({ status }) => status === 'failed').map(() => ''),
  );
  expect(lines.filter((line) => line.class === 'refused')).toMatchObject([{ domain: 'web', score: '0' }]);
  expect(new Set(lines.map((line) => line.run))).toHaveLength(1);
});

test('--scores writes the figures of score to a file', async () => {
  const source = await judgedRun(join(dir, 'a'), { label: 'a', rating: around(3) });
  const { code, stderr } = await run(source, '--scores', '--output', 'scores.csv');
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'written: scores.csv\n' });
  const scores = JSON.parse((await awb(['score', source, '--json'], { cwd: dir })).stdout);
  const lines = read(readFileSync(join(dir, 'scores.csv'), 'utf8'));
  const of = (domain: string) =>
    lines.find((line) => line.domain === domain && line.kind === 'official' && line.figure === 'total');
  expect(Number(of('overall')?.value)).toBe(scores.overall.total_score);
  expect(Number(of('web')?.trajectories)).toBeGreaterThan(1);
});

describe('nothing in it', () => {
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '＝1'])('is a formula if a label is %j', async (label) => {
    const source = await judgedRun(join(dir, 'a'), { label, rating: around(3) });
    for (const flags of [[], ['--scores']]) {
      for (const line of read((await run(source, ...flags)).stdout)) expect(line.label?.trim()).toMatch(/^'/);
    }
  });
});

test('--json is refused with the commands that print JSON', async () => {
  expect(await run('a', '--json')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('use awb samples --json'),
  });
});
