// awb score of a rollout: its curves in text, JSON and SQLite.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import { openStore } from '../../src/store/store.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { holdMessage, holdText } from '../support/messages.js';
import { type MadeStep, steppedLine } from '../support/rollouts.js';

/** Twelve trajectories in two domains, each step rated lower; the last step of every third one is off-script. */
const ROWS: MadeStep[] = (['mcp', 'terminal'] as const).flatMap((domain) =>
  Array.from({ length: 12 }, (_, trajectory) =>
    [1, 2, 4].map((step) => ({
      ...{ domain, trajectory, step },
      rating: 5 - step / 4 - (trajectory % 4) / 10,
      offScript: step === 4 && trajectory % 3 === 0 ? ['/srv/a'] : [],
    })),
  ).flat(),
);

async function judgedFile(rows: readonly MadeStep[] = ROWS): Promise<string> {
  const file = join(await temporaryFolder(), 'judged.jsonl');
  await writeFile(file, rows.map((row) => `${steppedLine(row)}\n`).join(''));
  return file;
}

async function score(file: string, ...more: string[]) {
  const { code, stdout, stderr } = await awb(['score', file, '--db', join(file, '../awb.sqlite'), ...more]);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return stdout;
}

function table(text: string, first: string): string[] {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => line.startsWith(first));
  return lines.slice(from, lines.indexOf('', from));
}

/** The same rows predicted with true histories: at every step as good as at the first. */
const FORCED: MadeStep[] = ROWS.map((row) => ({
  ...row,
  isTrue: true,
  rating: 4.75 - (row.trajectory % 4) / 10 - (row.trajectory % 3) * row.step * 0.01,
}));

describe('a rollout', () => {
  it('shows its score by distance, off-script rows separately, within 80 columns', async () => {
    const text = await score(await judgedFile(), '--explain');
    const lines = table(text, 'Distance');
    expect(lines[0]).toMatch(/^Distance +Rows +Score +95 % interval +On script$/);
    expect(lines.slice(1, 4).map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['1', '24', '90.00'],
      ['2', '24', '83.75'],
      ['4', '24', '71.25'],
    ]);
    expect(text).toContain('without the 8 predictions of 72');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('shows every domain under --verbose', async () => {
    const lines = table(await score(await judgedFile(), '--verbose'), 'Distance').join('\n');
    expect(lines).toMatch(/^MCP 1 +12/m);
  });

  it('shows the rows on script of a domain in which all are', async () => {
    const file = await judgedFile(ROWS.map((row) => (row.domain === 'mcp' ? { ...row, offScript: [] } : row)));
    const cwd = join(file, '..');
    await holdMessage('score-rollout', ['score', 'judged.jsonl', '--verbose'], {}, { cwd });
  });

  it('has the same in JSON', async () => {
    const { rollout } = JSON.parse(await score(await judgedFile(), '--json'));
    expect(rollout).toMatchObject({ measure: null, from: [0], predictions: 72, off_script: 8, chains: 24 });
    expect(rollout.domains.mcp).toMatchObject({ predictions: 36, off_script: 4, chains: 12 });
    expect(rollout.by_distance).toMatchObject([
      { from: 1, to: 1, score: { value: 90, rows: 24, clusters: 24 }, on_script: { rows: 24 } },
      { from: 2, to: 2, score: { value: 83.75 } },
      { from: 4, to: 4, score: { value: 71.25 }, on_script: { rows: 16 } },
    ]);
    expect(rollout.by_step).toEqual(rollout.by_distance);
  });

  it('is in SQLite by step and distance, and is read back unchanged', async () => {
    const file = await judgedFile();
    await score(file);
    const database = openSqlite(join(file, '../awb.sqlite'), { readonly: true });
    const rows = database
      .prepare(
        'SELECT distance, count(*) AS rows, sum(json_array_length(off_script) > 0) AS off FROM judgements GROUP BY 1 ORDER BY 1',
      )
      .all();
    database.close();
    expect(rows).toEqual([
      { distance: 1, rows: 24, off: 0 },
      { distance: 2, rows: 24, off: 0 },
      { distance: 4, rows: 24, off: 8 },
    ]);
    const store = openStore(join(file, '../awb.sqlite'));
    const [row] = store.judgements(1).filter(({ key }) => key === 'mcp-t3-s4');
    store.close();
    expect(row?.rollout).toEqual({ chain: 'mcp-t3', from: 0, step: 4, distance: 4, offScript: ['/srv/a'] });
  });

  it('is shown by runs show, too', async () => {
    const file = await judgedFile();
    await score(file);
    const { stdout } = await awb(['runs', 'show', '1', '--db', join(file, '../awb.sqlite')]);
    expect(table(stdout, 'Distance')[1]).toMatch(/^MCP 1 +12/);
  });

  it('has nothing in common with the output of an ordinary run', async () => {
    const file = await judgedFile(ROWS.map((row) => ({ ...row, isTrue: true })));
    expect(await score(file)).not.toContain('Distance');
    expect(JSON.parse(await score(file, '--json'))).not.toHaveProperty('rollout');
  });
});

describe('a rollout next to a teacher-forced run', () => {
  it('shows its drift by domain, with and without off-script rows, within 80 columns', async () => {
    const forced = await judgedFile(FORCED);
    const text = await score(await judgedFile(), '--teacher-forced', forced);
    const lines = table(text, 'Drift');
    expect(lines[0]).toMatch(/^Drift +Rows +Traj\. +Per step +95 % interval +On script +Change +95 % interval$/);
    expect(lines.slice(1).map((line) => line.split(' ')[0])).toEqual(['MCP', 'Terminal']);
    const mean = text.split('\n').find((line) => /^macro of 2 +72 +24/.test(line));
    expect(mean).toMatch(/-6\.00 +-6\.\d+ to -5\.\d+/);
    expect(Math.max(...[...lines, ...table(text, 'Distance')].map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('has the drift and the paired curve in JSON', async () => {
    const forced = await judgedFile(FORCED);
    const { rollout } = JSON.parse(await score(await judgedFile(), '--teacher-forced', forced, '--json'));
    expect(rollout.drift).toMatchObject({ paired: 72, unpaired: 0 });
    const { slope } = rollout.drift.overall;
    // 6.25 points per step, minus what the partners lose themselves: a quarter of a point times 0, 1 and 2.
    expect(slope.value).toBeCloseTo(-6, 9);
    expect(slope.low).toBeLessThan(-6);
    expect(slope.high).toBeLessThan(-5.5);
    expect(slope.clusters).toBe(24);
    expect(rollout.by_distance[2]).toMatchObject({ teacher_forced: { rows: 24 }, difference: { rows: 24 } });
    expect(rollout.drift.overall.on_script.slope.rows).toBe(64);
  });

  it.each<[string, readonly MadeStep[], readonly MadeStep[], number, RegExp]>([
    ['is refused of a run that is none', FORCED, FORCED, 2, /takes a run without --rollout/],
    ['is refused beside another rollout', ROWS, ROWS, 2, /takes a run without --rollout/],
    [
      'is refused if no row is in both',
      ROWS,
      FORCED.map((row) => ({ ...row, trajectory: row.trajectory + 99 })),
      65,
      /no row in common/,
    ],
  ])('%s', async (_what, rows, partners, expected, words) => {
    const [file, forced] = [await judgedFile(rows), await judgedFile(partners)];
    const { code, stderr } = await awb(['score', file, '--db', join(file, '../a.sqlite'), '--teacher-forced', forced]);
    expect(stderr).toMatch(words);
    expect(code).toBe(expected);
  });

  it('is refused if judge, rubrics, protocol or world model differ, and says which', async () => {
    const manifest = (judge: string, model: string, rollout?: object) => ({
      ...{ schema: 'awb.manifest/1', kind: 'judge', meta: {}, startedAt: '2026-01-01T00:00:00.000Z' },
      identity: { mode: 'rubric', judge, rubrics: { name: 'a', fingerprint: 'b' }, verdicts: 'strict', sampling: {} },
      predictions: { meta: {}, identity: { model, protocol: 'history', system_prompt: 'row', rollout } },
    });
    const [file, forced] = [await judgedFile(), await judgedFile(FORCED)];
    const scored = async (judge: string, model: string) => {
      const own = manifest('j', 'm', { from: 0, version: 1 });
      await writeFile(file.replace('.jsonl', '.manifest.json'), JSON.stringify(own));
      await writeFile(forced.replace('.jsonl', '.manifest.json'), JSON.stringify(manifest(judge, model)));
      return awb(['score', file, '--db', join(file, '../awb.sqlite'), '--teacher-forced', forced]);
    };
    expect((await scored('j', 'm')).code).toBe(0);
    const { code, stderr } = await scored('k', 'n');
    expect(code).toBe(78);
    await holdText('score-teacher-forced-refused', stderr);
  });
});
