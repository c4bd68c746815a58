import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { saveCalibration } from '../../src/cli/calibrate.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { CompareDocument, RunDocument, TrajectoryTexts } from '../../src/view/documents.js';
import { openLibrary } from '../../src/view/library.js';
import { calibrationManifest, madeUpDocument } from '../support/calibrations.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { startPlayers, types } from '../support/episodes.js';
import { folderOf } from '../support/folder.js';
import { ioIn } from '../support/io.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';
import { rowsFolder, startWorldModel, suiteFolder, truthOf } from '../support/scripted-scenarios.js';

async function runsIn(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const path = await judgedRun(join(folder, name), {
      label: name,
      rating: around(3 + Number(name.slice(-3)) / 1000),
    });
    expect((await awb(['score', path], { cwd: folder })).code).toBe(0);
  }
}

const open = (folder: string, ...places: readonly string[]) =>
  openLibrary(
    places.map((place) => join(folder, place)),
    { io: ioIn(folder), tool: 'awb 0' },
  );

describe('what the viewer finds', () => {
  test('is each run once, in a SQLite file or next to it, with what score leads with', async () => {
    const folder = await temporaryFolder();
    await runsIn(folder, ['step-100', 'step-200']);
    const { runs, unread } = await open(folder, '.').index();
    expect(unread).toEqual([]);
    expect(runs.map(({ name }) => name).sort()).toEqual(['step-100', 'step-200']);
    const score = JSON.parse((await awb(['score', 'step-100', '--json'], { cwd: folder })).stdout);
    const listed = runs.find(({ name }) => name === 'step-100');
    expect(listed?.overall?.value).toBe(score.overall_with_failures.total_score);
    expect(listed?.trust).toBe('uncalibrated');
  });

  test('includes an unscored judged file: its figures follow once it is read', async () => {
    const folder = await temporaryFolder();
    await judgedRun(join(folder, 'step-100'), { label: 'step-100', rating: around(3) });
    const library = open(folder, 'step-100');
    const [before] = (await library.index()).runs;
    expect(before).toMatchObject({ name: 'step-100', state: 'not scored', overall: null });
    await library.run(before?.ref ?? '').open();
    const [after] = (await library.index()).runs;
    expect(after).toMatchObject({ ref: before?.ref, state: 'complete' });
    expect(after?.overall?.value).toBeGreaterThan(0);
  });

  test('is found again when it has changed, under the same name', async () => {
    const folder = await temporaryFolder();
    await runsIn(folder, ['step-100']);
    const library = open(folder, 'awb.sqlite');
    const [{ ref = '' } = {}] = (await library.index()).runs;
    await awb(['runs', 'rename', '1', 'renamed'], { cwd: folder });
    expect((await library.index()).runs).toMatchObject([{ ref, name: 'renamed' }]);
    await runsIn(folder, ['step-200']);
    expect((await library.index()).runs).toHaveLength(2);
    await awb(['runs', 'remove', 'renamed', '--yes'], { cwd: folder });
    expect((await library.index()).runs.map(({ name }) => name)).toEqual(['step-200']);
    expect(() => library.run(ref)).toThrow('no longer exists');
  });

  test('hides nothing because something else is damaged', async () => {
    const folder = await temporaryFolder();
    await runsIn(folder, ['step-100']);
    const damaged = await judgedRun(join(folder, 'damaged'), { label: 'damaged', rating: around(3) });
    await writeFile(damaged.replace(/\.jsonl$/, '.manifest.json'), '{"schema": ');
    await writeFile(join(folder, 'text.db'), 'not a database, however long it is: '.repeat(100));
    const other = openSqlite(join(folder, 'other.sqlite'));
    other.exec('CREATE TABLE t (a)');
    other.close();
    const { runs, unread } = await open(folder, '.').index();
    expect(runs.map(({ name }) => name)).toContain('step-100');
    expect(unread.map(({ place }) => place).sort()).toEqual(
      expect.arrayContaining(['damaged', 'other.sqlite', 'text.db']),
    );
    expect(unread.find(({ place }) => place === 'other.sqlite')?.reason).toContain('another program');
  });

  test('has one key for runs that were judged alike', async () => {
    const folder = await temporaryFolder();
    await runsIn(folder, ['step-100', 'step-200']);
    await copyFile(join(folder, 'awb.sqlite'), join(folder, 'copy.sqlite'));
    await rm(join(folder, 'step-100'), { recursive: true });
    const { runs } = await open(folder, 'awb.sqlite', 'copy.sqlite').index();
    expect(runs).toHaveLength(2);
    expect(new Set(runs.map(({ judgedAlike }) => judgedAlike)).size).toBe(1);
  });

  test('includes the results of awb compare, gate, leaderboard and calibrate, and a bundle has part of them', async () => {
    const folder = await temporaryFolder();
    const { calibration: _, ...identity } = calibrationManifest().identity;
    const db = join(folder, 'awb.sqlite');
    await judgedRun(join(folder, 'old'), { label: 'old', rating: around(3), identity }, db);
    await judgedRun(join(folder, 'new'), { label: 'new', rating: around(3.2, 1), identity }, db);
    const source = join(folder, 'calibration.jsonl');
    const calibrated = { source, manifest: calibrationManifest() };
    saveCalibration(db, calibrated, madeUpDocument());
    const library = open(folder, '.');
    const { runs } = await library.index();
    const refOf = (name: string) => runs.find((run) => run.name === name)?.ref ?? '';
    const [base, candidate] = [refOf('old'), refOf('new')];
    const printed = async (...words: string[]) => JSON.parse((await awb([...words, '--json'], { cwd: folder })).stdout);
    const compared = await library.document(`compare/${base}/${candidate}`);
    expect(compared).toMatchObject({ page: { title: 'new against old' } });
    expect(compared).toMatchObject({ gate: await printed('gate', 'old', 'new') });
    const { summary, ...comparison } = await printed('compare', 'old', 'new', '--moved', '0');
    expect(compared).toMatchObject({ gate: { opening: summary } });
    expect(comparison).toMatchObject((compared as CompareDocument).gate?.comparison ?? {});
    expect(await library.document('leaderboard')).toMatchObject(await printed('leaderboard'));
    expect(await library.document(`calibration/${base}`)).toMatchObject(madeUpDocument());
    expect(await library.document(`panel/${base}`)).toBeUndefined();
    const bundled: string[] = [];
    for await (const [name] of library.documents({ scoresOnly: true })) bundled.push(name);
    expect(bundled).toEqual(
      expect.arrayContaining(['leaderboard', `calibration/${base}`, `compare/${base}/${candidate}`]),
    );
    expect(bundled).toContain(`compare/${candidate}/${base}`);
    expect(bundled.some((name) => name.startsWith('panel/'))).toBe(false);
  });

  test('is a run on scenarios whose page holds its samples, and none of them in a bundle without texts', async () => {
    const server = await startWorldModel((asked) => [truthOf(asked)]);
    onTestFinished(() => server.close());
    const folder = await temporaryFolder();
    const data = await rowsFolder(join(folder, 'data'), { terminal: 6 });
    const suite = ['--scenarios', await suiteFolder(), '--model-base-url', server.url, '--model-name', 'wm'];
    await awb(['infer', '--data-dir', data, '--output-dir', 'out', ...suite], { cwd: folder });
    await awb(['score', 'out'], { cwd: folder });
    const sampled = async (scoresOnly: boolean) => {
      const found: number[] = [];
      for await (const [name, document] of open(folder, '.').documents({ scoresOnly })) {
        expect(name).not.toMatch(/^(samples|texts)\//);
        // The library made it under this name.
        if (!name.startsWith('run/')) continue;
        const { page } = document as RunDocument;
        const folds = page.blocks.flatMap(({ folds: own = [] }) => own).filter(({ title }) => title !== 'Manifest');
        found.push(folds.flatMap(({ blocks }) => blocks).flatMap(({ folds: samples = [] }) => samples).length);
      }
      return found;
    };
    const [whole = 0] = await sampled(false);
    expect(whole).toBeGreaterThan(0);
    expect(await sampled(true)).toEqual([0]);
  });

  test('includes what agents did in simulated worlds, of which a bundle without texts has nothing', async () => {
    const players = await startPlayers({ agent: ({ turn }) => (turn < 1 ? types('ls') : 'DONE') });
    onTestFinished(() => players.close());
    const folder = await folderOf({ 'tasks.txt': 'Count the files.\n' });
    const flags = [...players.flags, '--output-dir', 'out', '--domain', 'terminal', '--tasks', 'tasks.txt'];
    expect((await awb(['simulate', ...flags, '--label', 'agents'], { cwd: folder })).code).toBe(0);
    const library = open(folder, '.');
    const { episodes, runs, unread } = await library.index();
    expect([runs, unread]).toEqual([[], []]);
    expect(episodes).toEqual([
      { ref: expect.stringMatching(/^[0-9a-f]{12}$/), name: 'agents', date: expect.stringContaining('T') },
    ]);
    const name = `episodes/${episodes[0]?.ref}`;
    expect(await library.document(name)).toMatchObject({
      page: { title: 'agents', blocks: [{ folds: [{ title: '1: Count the files.' }] }] },
    });
    const bundled = async (scoresOnly: boolean) => {
      const names: string[] = [];
      for await (const [each] of library.documents({ scoresOnly })) names.push(each);
      return names.includes(name);
    };
    expect([await bundled(false), await bundled(true)]).toEqual([true, false]);
    await rm(join(folder, 'out'), { recursive: true });
    expect((await library.index()).episodes).toEqual([]);
    await expect(library.document(name)).rejects.toThrow('no longer exist');
  });

  test('is a run at work, until its process dies without a word', async () => {
    const folder = await temporaryFolder();
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const worker = { pid: child.pid, host: hostname() };
    const counts = { chosen: 10, ok: 0, failed: 0 };
    const written = { ...calibrationManifest(), kind: 'infer', state: 'running', process: worker, counts };
    await mkdir(join(folder, 'out'));
    await writeFile(join(folder, 'out/predictions.manifest.json'), JSON.stringify(written));
    const library = open(folder, '.');
    const states = async () => (await library.index()).work.map(({ state }) => state);
    expect(await states()).toEqual(['running']);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await states()).toEqual(['killed']);
  });

  test('is the texts of a lean run, whose data are opened once', async () => {
    const folder = await temporaryFolder();
    const data = await writeDataset(join(folder, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 4) });
    const out = ['--output-dir', join(folder, 'out')];
    await awb(['infer', '--data-dir', data, '--baseline', 'oracle', '--lean', ...out]);
    const predictions = join(folder, 'out/predictions.jsonl');
    await awb(['judge', predictions, '--mode', 'metrics', '--data-dir', data, ...out]);
    const library = open(folder, 'out');
    onTestFinished(() => library.close());
    const [{ ref = '' } = {}] = (await library.index()).runs;
    const texts = async (place: number) => (await library.document(`texts/${ref}/${place}`)) as TrajectoryTexts;
    expect(Object.keys((await texts(0)).rows)).not.toEqual([]);
    await rename(data, join(folder, 'elsewhere'));
    expect(Object.keys((await texts(1)).rows)).not.toEqual([]);
  });

  test('is searched once, however many requests come at the same time', async () => {
    const folder = await temporaryFolder();
    await runsIn(folder, ['step-100']);
    const library = open(folder, '.');
    const [one, other] = await Promise.all([library.index(), library.index()]);
    expect(one).toBe(other);
    expect(await library.index()).not.toBe(one);
  });

  test('is refused if there is nothing of that name', async () => {
    const folder = await temporaryFolder();
    await expect(open(folder, 'nowhere').index()).rejects.toThrow('there is no nowhere');
  });
});
