// Scenarios and episodes as data: the contents of their files are there, and what does not fit is counted.

import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { readJudgedRun } from '../../src/results/read-run.js';
import type { Page, PageFold } from '../../src/view/documents.js';
import { episodesPage, scenarioPage } from '../../src/view/scenario-document.js';
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
    return { ...(await scenarioPage(run, { title: 'r1', blocks: [] }, mostBytes)), score: JSON.parse(stdout) };
  }

  const foldsOf = ({ blocks }: Page) => blocks.flatMap(({ folds = [] }) => folds);
  const samplesOf = (fold: PageFold | undefined) => fold?.blocks.flatMap(({ folds = [] }) => folds) ?? [];

  test('have the numbers of awb score, and every sample with its twin and its verdicts', async () => {
    const { page, leftOut, score } = await made(SUITE);
    const shown = (value: number | undefined) => value?.toFixed(1) ?? '–';
    const { followed, leaked, undisturbed, twin_false_positives: taken } = score.overall;
    expect(page.figures?.map(({ figure }) => figure)).toEqual([
      ...[followed, leaked, undisturbed, taken].map((estimate) => shown(estimate?.value)),
      '14',
    ]);
    expect(page.blocks[0]?.tables?.[0]?.groups.flat().map(([name, value]) => [name, value])).toEqual([
      ['MCP', shown(score.domains.mcp.followed.value)],
      ['Terminal', shown(score.domains.terminal.followed.value)],
      ['macro of 2', shown(followed.value)],
    ]);
    expect(page.blocks.at(-2)?.tables?.[0]?.groups[0]?.map(([name, rows]) => [name, rows])).toEqual([
      ['power-cut', '8'],
      ['slow-disk', '6'],
    ]);
    const folds = foldsOf(page);
    expect([leftOut, folds.map(({ title }) => title)]).toEqual([0, ['power-cut', 'slow-disk']]);
    expect(folds.flatMap(samplesOf)).toHaveLength(14);
    const last = samplesOf(folds[0]).at(-1);
    expect(last?.about?.[0]).toEqual({ text: 'followed', look: 'chip good' });
    expect(last?.blocks).toEqual([
      { title: 'Instruction', text: expect.stringContaining('The power fails') },
      {
        ...{ title: 'Action', text: expect.stringContaining('step ') },
        notes: expect.arrayContaining([{ text: expect.stringMatching(/^contains met: /), look: 'good' }]),
      },
      {
        pair: [
          { title: 'Without the instruction', text: expect.stringMatching(/^result /) },
          { title: 'With the instruction', text: expect.stringContaining('POWER CUT') },
        ],
      },
    ]);
  });

  test('of several steps have all of them', async () => {
    const { page } = await made(STEPS);
    const [sample] = samplesOf(foldsOf(page).find(({ title }) => title === 'reach-green'));
    const actions = sample?.blocks.flatMap(({ title = '', text }) => (title.endsWith('Action') ? [text] : []));
    expect(actions?.map((text) => text?.includes('look'))).toEqual([false, true, true]);
  });

  test('are bounded: what does not fit is counted, and its figures stay', async () => {
    const { page, leftOut } = await made(SUITE, 1000);
    const shown = foldsOf(page).flatMap(samplesOf);
    expect(leftOut).toBeGreaterThan(8);
    expect(leftOut + shown.length).toBe(14);
    expect(page.figures?.at(-1)?.figure).toBe('14');
    expect(page.blocks.at(-1)?.notes).toEqual([`${leftOut} more do not fit (--inline-limit).`]);
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
    return episodesPage(join(folder, 'out/episodes_test.jsonl'), mostBytes ?? 1e6);
  }

  test('are transcripts: task, actions and observations turn by turn, and how they ended', async () => {
    const { title, facts, blocks } = await made();
    expect(title).toBe('agents');
    expect(facts).toEqual(
      expect.arrayContaining([
        ['world model', 'world'],
        ['agent', 'agent'],
        ['note', 'x'],
        ['file', 'episodes_test.jsonl'],
      ]),
    );
    const [first, second] = blocks[0]?.folds ?? [];
    expect(second?.title).toBe('2: Count them again.');
    const turn = (at: number) => ({
      pair: [
        { title: `Turn ${at + 1}: action`, text: expect.stringContaining(`ls ${at}`) },
        { title: 'Observation', text: `$ ls ${at}` },
      ],
    });
    expect(first).toEqual({
      title: '1: Count the files.',
      about: ['terminal, 2 turns, done'],
      blocks: [
        { title: 'Task', text: 'Count the files.' },
        ...[turn(0), turn(1)],
        { title: 'End: done', text: 'Two files.' },
      ],
    });
    // Neither the task nor the request to predict is part of an action.
    const actions = first?.blocks.flatMap(({ pair = [] }) => pair.slice(0, 1).map(({ text }) => text));
    expect(actions?.join()).not.toMatch(/Count|Please analyze/);
  });

  test('are bounded', async () => {
    const notes = ['2 more do not fit (--inline-limit).'];
    expect((await made(1)).blocks).toMatchObject([{ folds: [], notes }]);
  });
});
