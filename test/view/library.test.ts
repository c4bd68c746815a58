import { copyFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import { openLibrary } from '../../src/view/library.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { around, judgedRun } from '../support/judged-runs.js';

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

  test('is a judged file that nobody scored, too: its figures follow once it is read', async () => {
    const folder = await temporaryFolder();
    await judgedRun(join(folder, 'step-100'), { label: 'step-100', rating: around(3) });
    const library = open(folder, 'step-100');
    const [before] = (await library.index()).runs;
    expect(before).toMatchObject({ name: 'step-100', state: 'not scored', overall: null });
    await library.run(before?.ref ?? '').read();
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
    expect(() => library.run(ref)).toThrow('not there any more');
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

  test('is of one key where runs were judged alike', async () => {
    const folder = await temporaryFolder();
    await runsIn(folder, ['step-100', 'step-200']);
    await copyFile(join(folder, 'awb.sqlite'), join(folder, 'copy.sqlite'));
    await rm(join(folder, 'step-100'), { recursive: true });
    const { runs } = await open(folder, 'awb.sqlite', 'copy.sqlite').index();
    expect(runs).toHaveLength(2);
    expect(new Set(runs.map(({ judgedAlike }) => judgedAlike)).size).toBe(1);
  });

  test('is refused where there is nothing of that name', async () => {
    const folder = await temporaryFolder();
    await expect(open(folder, 'nowhere').index()).rejects.toThrow('there is no nowhere');
  });
});
