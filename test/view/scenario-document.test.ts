// Scenarios and episodes as data: what their files hold is there, and what there is no room for is counted.

import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { readJudgedRun } from '../../src/results/read-run.js';
import { episodesDocument, scenarioDocument } from '../../src/view/scenario-document.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { startPlayers, types } from '../support/episodes.js';
import { folderOf } from '../support/folder.js';
import { ioIn } from '../support/io.js';
import { rowsFolder, STEPS, SUITE, startWorldModel, suiteFolder, truthOf } from '../support/scripted-scenarios.js';

const servers: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

describe('scenarios', () => {
  /** A world model that follows where the row's number is even. */
  async function made(suite: string, mostBytes = 1e6) {
    const server = await startWorldModel((asked) => [
      truthOf(asked),
      ...(asked.wanted !== undefined && asked.row % 2 === 0 ? [asked.wanted] : []),
    ]);
    servers.push(server);
    const folder = await temporaryFolder();
    const data = await rowsFolder(join(folder, 'data'), { terminal: 6, mcp: 2 });
    const flags = ['--scenarios', await suiteFolder(suite), '--model-base-url', server.url, '--model-name', 'wm'];
    const out = join(folder, 'out');
    expect((await awb(['infer', '--data-dir', data, '--output-dir', out, ...flags], { cwd: folder })).code).toBe(0);
    const file = join(out, 'scenarios.jsonl');
    const { stdout } = await awb(['score', '--predictions', file, '--db', join(folder, 'db'), '--json']);
    const run = await readJudgedRun(file, [], () => {}, ioIn(folder));
    return { document: await scenarioDocument(run, 'r1', mostBytes), score: JSON.parse(stdout) };
  }

  test('have the numbers of awb score, and every sample with its twin and its verdicts', async () => {
    const { document, score } = await made(SUITE);
    const { overall, domains, scenarios } = document.figures;
    expect({ overall, domains, scenarios }).toEqual({
      overall: score.overall,
      domains: score.domains,
      scenarios: score.scenarios,
    });
    expect(document.page.blocks.at(-1)?.tables?.[0]?.groups[0]?.map(([name, rows]) => [name, rows])).toEqual([
      ['power-cut', '8'],
      ['slow-disk', '6'],
    ]);
    expect(document).toMatchObject({ leftOut: 0, samples: { length: 14 } });
    const followed = document.samples.find(({ measures }) => measures.followed === 100);
    expect(followed).toMatchObject({
      scenario: 'power-cut',
      instruction: expect.stringContaining('The power fails'),
      steps: [{ action: expect.stringContaining('step '), prediction: expect.stringContaining('POWER CUT') }],
    });
    const [step] = followed?.steps ?? [];
    expect(step?.twin).toMatch(/^result /);
    expect(step?.verdicts).toContainEqual({ verifier: 'contains', met: true, why: expect.any(String) });
  });

  test('of several steps have each of them', async () => {
    const { document } = await made(STEPS);
    const { steps = [] } = document.samples.find(({ scenario }) => scenario === 'reach-green') ?? {};
    expect(steps.map(({ action }) => action.includes('look'))).toEqual([false, true, true]);
  });

  test('are bounded: what there is no room for is counted, and its figures stay', async () => {
    const { document } = await made(SUITE, 300);
    expect(document.leftOut).toBeGreaterThan(8);
    expect(document.leftOut + document.samples.length).toBe(14);
    expect(document.figures.overall.samples).toBe(14);
  });
});

describe('episodes', () => {
  async function made(mostBytes?: number) {
    const players = await startPlayers({
      agent: ({ turn }) => (turn < 2 ? types(`ls ${turn}`) : 'Two files.\n\nDONE'),
    });
    servers.push(players);
    const folder = await folderOf({ 'tasks.txt': 'Count the files.\nCount them again.\n' });
    const flags = [...players.flags, '--output-dir', 'out', '--domain', 'terminal', '--tasks', 'tasks.txt'];
    const { code } = await awb(['simulate', ...flags, '--label', 'agents', '--meta', 'note=x'], { cwd: folder });
    expect(code).toBe(0);
    return episodesDocument(join(folder, 'out/episodes_test.jsonl'), 'e1', mostBytes ?? 1e6);
  }

  test('are transcripts: task, actions and observations turn by turn, and how they ended', async () => {
    const { episodes, ...document } = await made();
    expect(document).toMatchObject({ ref: 'e1', name: 'agents', leftOut: 0 });
    expect(document.facts).toEqual(
      expect.arrayContaining([
        ['world model', 'world'],
        ['agent', 'agent'],
        ['note', 'x'],
        ['file', 'episodes_test.jsonl'],
      ]),
    );
    expect(episodes.map(({ number, task }) => [number, task])).toEqual([
      [1, 'Count the files.'],
      [2, 'Count them again.'],
    ]);
    expect(episodes[0]).toMatchObject({ domain: 'terminal', end: 'done', said: 'Two files.' });
    expect(episodes[0]?.turns).toEqual([
      { action: expect.stringContaining('ls 0'), observation: '$ ls 0', isRecorded: false },
      { action: expect.stringContaining('ls 1'), observation: '$ ls 1', isRecorded: false },
    ]);
    // Neither the task nor the request to predict is part of an action.
    expect(episodes[0]?.turns.map(({ action }) => action).join()).not.toMatch(/Count|Please analyze/);
  });

  test('are bounded', async () => {
    expect(await made(1)).toMatchObject({ episodes: [], leftOut: 2 });
  });
});
