// `awb runs rename` end to end: a label that stays, whatever scores the run again.

import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { holdMessage } from '../support/messages.js';
import { queryIn } from '../support/stored-runs.js';

let dir: string;
let db: string;
beforeEach(async () => {
  dir = await temporaryFolder();
  db = join(dir, 'awb.sqlite');
});

const line = (...words: string[]) => awb(words, { cwd: dir });
const rename = (...words: string[]) => line('runs', 'rename', ...words);
const labels = () => queryIn(db, 'SELECT label FROM runs ORDER BY id').map(({ label }) => label);
const stored = (name: string) => judgedRun(join(dir, name), { label: name, rating: around(3), rows: 6 }, db);

describe('a label that was given', () => {
  test('by rename names the run everywhere, and stays when it is scored again', async () => {
    await stored('step-1');
    await stored('step-2');
    const { code, stdout, stderr } = await rename('step-1', 'base line');
    expect([code, stdout]).toEqual([0, 'run 1 of awb.sqlite is now base line; it was step-1\n']);
    expect(stderr).toBe('');
    expect((await line('compare', 'base line', 'step-2')).code).toBe(0);
    const again = await line('score', 'step-1');
    expect(again.stdout).toMatch(/^base line, world model wm/);
    expect(labels()).toEqual(['base line', 'step-2']);
  });

  test('by score --label stays when the run is scored again without one', async () => {
    await stored('step-1');
    await line('score', 'step-1', '--label', 'mine');
    await line('score', 'step-1');
    expect(labels()).toEqual(['mine']);
    expect(JSON.parse((await line('score', 'step-1', '--json')).stdout).run).toMatchObject({
      label: 'mine',
      replaced: true,
    });
  });

  test('stays on a judged file without a manifest', async () => {
    const source = await stored('step-1');
    await rm(join(dir, 'step-1/judged.manifest.json'));
    await rm(db);
    await line('score', source, '--label', 'official');
    await line('score', source);
    expect(labels()).toEqual(['official']);
  });

  test('is replaced by another one that is given', async () => {
    await stored('step-1');
    await rename('1', 'renamed');
    await line('score', 'step-1', '--label', 'scored');
    await line('score', 'step-1');
    expect(labels()).toEqual(['scored']);
  });

  test('is dropped if the run gets its own back, which follows the manifest', async () => {
    const source = await stored('step-1');
    await rename('1', 'renamed');
    expect((await rename('1', 'step-1', '--json')).stdout).toContain('"label":"step-1","label_given":false');
    const manifest = join(dir, 'step-1/judged.manifest.json');
    const text = readFileSync(manifest, 'utf8');
    await writeFile(manifest, text.replace('"step-1"', '"step-one"'));
    await line('score', source);
    expect(labels()).toEqual(['step-one']);
  });
});

describe('a name', () => {
  test.each([
    ['', 'non-empty text'],
    [' x', 'white space'],
    ['x\ny', 'control characters'],
    ['x.jsonl', 'not a file'],
    ['2', 'the number of another run'],
  ])('%j is refused, and nothing is changed', async (name, message) => {
    await stored('step-1');
    await stored('step-2');
    expect(await rename('1', '--name', name)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(labels()).toEqual(['step-1', 'step-2']);
  });

  test('has a maximum length', async () => {
    await stored('step-1');
    const hidden = { ['x'.repeat(100_000)]: '<100,000 characters>' };
    await holdMessage('label-long-rename', ['runs', 'rename', '1', 'x'.repeat(100_000)], hidden, { cwd: dir });
    await holdMessage('label-long-score', ['score', 'step-1', '--quiet', '--label', 'x'.repeat(100_000)], hidden, {
      cwd: dir,
    });
  });

  test('of another run is accepted, and reported as shared', async () => {
    await stored('step-1');
    await stored('step-2');
    await holdMessage('label-shared-rename', ['runs', 'rename', '1', 'step-2'], {}, { cwd: dir });
    expect(labels()).toEqual(['step-2', 'step-2']);
  });

  test('of several runs does not say which of them to rename', async () => {
    await stored('step-1');
    await stored('step-2');
    await rename('1', 'step-2', '--quiet');
    const { code, stderr } = await rename('step-2', 'x');
    expect(code).toBe(2);
    expect(stderr).toContain('can mean any of these runs; name one, for example by its number:\n  1: step-2');
    expect(labels()).toEqual(['step-2', 'step-2']);
  });
});

describe('the SQLite file', () => {
  test('is not created if it does not exist', async () => {
    expect((await rename('1', 'x')).code).toBe(66);
    expect(existsSync(db)).toBe(false);
  });

  test('can be changed while others have read it', async () => {
    await stored('step-1');
    const reader = openSqlite(db, { readonly: true });
    expect(reader.value('SELECT label FROM runs')).toBe('step-1');
    expect((await rename('1', 'x')).code).toBe(0);
    expect(reader.value('SELECT label FROM runs')).toBe('x');
    reader.close();
    expect(labels()).toEqual(['x']);
  });
});
