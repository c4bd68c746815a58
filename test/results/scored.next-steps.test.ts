// From a judged run to a comparison without typing a path twice: one SQLite file for all, and commands to paste.

import { cp, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { holdText } from '../support/messages.js';

let dir: string;
const run = (line: string, env: Readonly<Record<string, string>> = {}) => awb(line.split(' '), { cwd: dir, env });

beforeEach(async () => {
  dir = await temporaryFolder();
});

describe('one SQLite file', () => {
  test('is what score writes to, and the suggested next commands can be pasted', async () => {
    await judgedRun(join(dir, 'a'), { label: 'step-1', rating: around(3), meta: { step: '1' } });
    await judgedRun(join(dir, 'b'), { label: 'step 2', rating: around(3.5, 1), meta: { step: '2' } });
    const first = await run('score a');
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('stored: awb.sqlite (SQLite; run 1)')]);
    expect(first.stdout).toMatch(/\nnext: awb leaderboard\n {6}awb report --run 1\n {6}awb compare BASE 1\n$/);
    const second = await run('score --predictions b/judged.jsonl');
    const [, next = ''] = second.stdout.split('\nnext: ');
    const lines = next.trimEnd().split(/\n +/);
    expect(lines).toEqual(['awb leaderboard', 'awb report --run 2', 'awb compare BASE 2']);
  });

  test('is enough for every command that score suggests', async () => {
    await cp(join(ROOT, 'fixtures/runs-awb-2'), dir, { recursive: true });
    for (const step of ['100', '200']) {
      const path = join(dir, `step-${step}/judged.manifest.json`);
      const { predictions, ...manifest } = JSON.parse(await readFile(path, 'utf8'));
      await writeFile(path, JSON.stringify({ ...manifest, predictions: { ...predictions, meta: { step } } }));
    }
    await run('score step-100');
    const [, next = ''] = (await run('score step-200')).stdout.split('\nnext: ');
    const lines = next.trimEnd().split(/\n +/);
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const { code, stderr } = await run(line.replace(/^awb /, '').replace('BASE', '1'));
      expect([0, 4, 5]).toContain(code);
      expect(stderr).not.toContain('awb:');
    }
  });

  test('is set for all by AWB_DB, and named by --db in the suggestions if it differs', async () => {
    await judgedRun(join(dir, 'a'), { label: 'one', rating: around(3), meta: { step: '1' } });
    await judgedRun(join(dir, 'b'), { label: 'two', rating: around(3), meta: { step: '2' } });
    const env = { AWB_DB: 'mine.sqlite' };
    await run('score a', env);
    const { stdout } = await run('score b', env);
    expect(stdout).toContain('stored: mine.sqlite');
    expect(stdout).toContain('awb compare BASE 2\n');
    expect((await run('leaderboard', env)).stdout).toContain('two');
    expect((await run('score b --db mine.sqlite')).stdout).toContain('awb compare BASE 2 --db mine.sqlite\n');
  });
});

test('for a folder with two judgings, score names both', async () => {
  await judgedRun(join(dir, 'a'), { label: 'step-1', rating: around(3), rows: 6 });
  await judgedRun(join(dir, 'b'), { label: 'step-1', rating: around(2), rows: 6, identity: { judge: 'judge-b' } });
  await rename(join(dir, 'b/judged.jsonl'), join(dir, 'a/judged.judge-b.jsonl'));
  await rename(join(dir, 'b/judged.manifest.json'), join(dir, 'a/judged.judge-b.manifest.json'));
  await writeFile(join(dir, 'a/judged.journal.jsonl'), '');
  const { stdout, stderr } = await run('score a');
  await holdText(
    'score-two-judgings',
    `$ awb score a\n${stdout.slice(stdout.indexOf('stored: '))}--- stderr\n${stderr}`,
  );
});
