// `awb simulate` with an agent in every domain: it starts at a recorded row, and acts in that domain's format.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DOMAINS } from '../../src/core/types.js';
import { awb, RECORDED } from '../support/cli.js';
import { shows, startPlayers } from '../support/episodes.js';
import { folderOf } from '../support/folder.js';
import { rowsOf } from '../support/judging.js';

/** The example in the agent's own prompt is an action in its domain. */
const exampleIn = (system: string) => /```[\s\S]*?\n```/.exec(system)?.[0] ?? '';

test.each(DOMAINS)('in %s the recorded turns stay unchanged, and the new ones come after them', async (domain) => {
  const players = await startPlayers({
    agent: ({ system }) => exampleIn(system),
    world: ({ turn }) => shows(`what turn ${turn} shows`),
  });
  const folder = await folderOf({});
  const [from = {}] = await rowsOf(join(RECORDED, `${domain}_test.jsonl`));
  const name = `${domain}:${from.id}:${from.turn_idx}`;
  const starts = ['--from', name, '--data-dir', RECORDED, '--episodes', '2', '--steps', '2'];
  const done = await awb(['simulate', ...players.flags, ...starts, '--output-dir', 'out', '--json'], { cwd: folder });
  await players.close();
  expect([done.code, JSON.parse(done.stdout).ends]).toEqual([0, { steps: 2 }]);
  const rows = await rowsOf(join(folder, 'out/episodes_test.jsonl'));
  expect(rows).toHaveLength(2);
  for (const row of rows) {
    const before = from.turn_idx - 1;
    expect(row.turn_idx).toBe(before + 2);
    expect(row.prompt.slice(0, before)).toEqual(from.prompt.slice(0, before));
    expect(row.response.slice(0, before)).toEqual(from.response.slice(0, before));
    expect(row.system_str).toBe(from.system_str);
    const action = exampleIn(players.asked.agent[0]?.system ?? '');
    const body = action.split('\n').slice(1, -1).join('\n');
    expect(row.prompt[before]).toContain(`**Action:**\n\`\`\``);
    expect(row.prompt[before].replace(/\s/g, '')).toContain(body.replace(/\s/g, ''));
    expect(row.response[before]).toContain('what turn');
  }
});
