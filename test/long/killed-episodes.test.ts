// Episodes of an agent whose process is killed in the middle, again and again: no saved reply is asked for again, and the trajectories
// equal those of an uninterrupted run.

import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { awb, startAwb } from '../support/cli.js';
import { type Players, shows, startPlayers, typedIn, types } from '../support/episodes.js';
import { folderOf } from '../support/folder.js';
import { rowsOf } from '../support/judging.js';
import { readRows } from '../support/run-folder.js';

const open: Players[] = [];
afterAll(() => Promise.all(open.map((players) => players.close())));

const EPISODES = 4;
const STEPS = 6;
const SIDE_BY_SIDE = 2;
const KILLS = 5;

async function players(alarm: { at: number; ring(): void }) {
  let count = 0;
  const said = (content: string) => {
    if (++count >= alarm.at) alarm.ring();
    return { content, latencyMs: 15 };
  };
  const both = await startPlayers({
    agent: ({ turn }) => said(types(`step ${turn}`)),
    world: ({ last, turn }) => said(shows(`${turn}: ${typedIn(last)}`)),
  });
  open.push(both);
  return Object.assign(both, { seen: () => count });
}

test('killed episodes continue where they were, and cost only the calls in flight', async () => {
  const folder = await folderOf({ 'tasks.txt': 'one\ntwo\nthree\n' });
  const alarm = { at: Number.POSITIVE_INFINITY, ring() {} };
  const servers = await players(alarm);
  const flags = ['--domain', 'terminal', '--tasks', 'tasks.txt', '--episodes', String(EPISODES), '--seed', '1'];
  const limits = ['--steps', String(STEPS), '--concurrency', String(SIDE_BY_SIDE)];
  const args = ['simulate', ...servers.flags, ...flags, ...limits];
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, ended } = startAwb([...args, '--output-dir', 'out'], {}, folder);
    await new Promise<void>((resolve) => {
      Object.assign(alarm, { at: servers.seen() + 7 + kill, ring: resolve });
    });
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
  }
  alarm.at = Number.POSITIVE_INFINITY;
  const last = await awb([...args, '--output-dir', 'out'], { cwd: folder });
  expect(last.code, last.stderr).toBe(0);
  const calls = 2 * EPISODES * STEPS;
  expect(servers.seen()).toBeGreaterThanOrEqual(calls);
  expect(servers.seen()).toBeLessThanOrEqual(calls + KILLS * SIDE_BY_SIDE);
  const records = await readRows(join(folder, 'out/episodes_test.journal.jsonl'));
  const ids = records.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(calls + EPISODES);
  const whole = await awb([...args, '--output-dir', 'whole'], { cwd: folder });
  expect(whole.code).toBe(0);
  const rows = (name: string) => rowsOf(join(folder, name, 'episodes_test.jsonl'));
  expect(await rows('out')).toEqual(await rows('whole'));
});
