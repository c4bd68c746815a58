// SQLite files as users name them, and the runs in them.

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listOfRuns, withKnownRuns } from '../../src/results/databases.js';
import { askedRuns } from '../support/asked-runs.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';

let stored: string;
beforeAll(async () => {
  const made = await temporaryFolder();
  await askedRuns(made);
  stored = join(made, 'runs.sqlite');
});

let dir: string;
beforeEach(async () => {
  dir = await temporaryFolder();
});

describe('a SQLite file', () => {
  test.each(['leaderboard', 'compare x y', 'gate x y', 'report --run x'])(
    'if there is none, awb %s says how to make one',
    async (line) => {
      const { code, stderr } = await awb(line.split(' '), { cwd: dir });
      expect(code).toBe(66);
      expect(stderr).toContain('there is no SQLite file awb.sqlite; create it with awb score RUN, or name');
    },
  );

  test('that is named twice is opened once', async () => {
    await cp(stored, join(dir, 'a.sqlite'));
    const found = await withKnownRuns(['a.sqlite', './a.sqlite'], ioIn(dir), async (known) =>
      known.map(({ run, db }) => `${db} ${run.label}`),
    );
    expect(found).toEqual(['a.sqlite step-100', 'a.sqlite step-200', 'a.sqlite undefined']);
  });

  test.each(['{}', '{"schema":"awb.manifest/1"}', '"text"'])(
    'with the manifest %j names its run, and shows the others',
    async (text) => {
      await cp(stored, join(dir, 'a.sqlite'));
      const database = new Database(join(dir, 'a.sqlite'));
      database.prepare('UPDATE runs SET manifest = ? WHERE id = 2').run(text);
      database.close();
      const compared = await awb('compare 1 2 --db a.sqlite'.split(' '), { cwd: dir });
      expect(compared).toMatchObject({
        code: 65,
        stderr: expect.stringMatching(
          /the manifest of run 2 in a\.sqlite .*; score its judged file again \(.*judged\.jsonl\)/,
        ),
      });
      const board = (more: string) => awb(`leaderboard --db a.sqlite --json${more}`.split(' '), { cwd: dir });
      const [all, others] = [await board(''), await board(' --run 1,3')];
      expect(all).toMatchObject({ code: 0, stdout: others.stdout });
      expect(all.stderr).toMatch(/^warning: a run is left out: the manifest of run 2 in a\.sqlite [^\n]*\n$/);
      expect(others).toMatchObject({ code: 0, stderr: '' });
    },
  );
});

test('a list of runs contains nothing harmful that labels could bring', async () => {
  await cp(stored, join(dir, 'a.sqlite'));
  await withKnownRuns(['a.sqlite'], ioIn(dir), async ([first]) => {
    const known = [first].filter((each) => each !== undefined);
    const hostile = known.map((each) => ({ ...each, run: { ...each.run, label: 'a\x1b[31m\nb' } }));
    const list = listOfRuns(hostile);
    expect(list[0]).toMatch(/^ {2}1: a[^\x1b\n]*b \(a\.sqlite\)$/);
  });
});
