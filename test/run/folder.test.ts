// A run's folder: what is opened, refused or set aside, and that the lock is always released.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import { lockFile } from '../../src/disk/lock.js';
import { openRun, type Run } from '../../src/run/run.js';
import { temporaryFolder } from '../support/cli.js';

let dir = '';
beforeEach(async () => {
  dir = join(await temporaryFolder(), 'runs', 'today');
});

const RECORD = { id: 'a#0', row: { gen: 'x' }, log: {} };
const MANIFEST = { schema: 'awb.manifest/1', identity: { model: 'm' } };

function open(options: Partial<Parameters<typeof openRun>[0]> = {}): Promise<Run> {
  return openRun({
    ...{ kind: 'infer', dir, name: 'predictions', fresh: false },
    identity: () => ({ model: 'm' }),
    stateOf: () => ({ status: 'ok', flags: [] }),
    ...options,
  });
}

const isFree = () =>
  lockFile(join(dir, '.predictions.lock'), 'busy').then(
    (release) => {
      release();
      return true;
    },
    () => false,
  );

/** A run with one row and a manifest. */
async function begin(): Promise<void> {
  const folder = await open();
  await folder.journal.append(RECORD);
  await writeFile(folder.manifestPath, JSON.stringify(MANIFEST));
  await folder.close();
}

test('a folder is created with its parents, locked while it is open, and found again', async () => {
  const folder = await open();
  expect(await isFree()).toBe(false);
  expect(folder.stored).toBeUndefined();
  await folder.close();
  expect(await isFree()).toBe(true);
  await begin();
  const again = await open();
  expect(again.stored).toEqual(MANIFEST);
  expect([...again.journal.ids()]).toEqual(['a#0']);
  await again.close();
});

test('the process that works in a folder is named', async () => {
  const folder = await open();
  const manifest = { ...MANIFEST, state: 'running', process: { pid: 7, host: 'there' } };
  await writeFile(folder.manifestPath, JSON.stringify(manifest));
  await expect(open()).rejects.toThrow(`another awb is working in ${dir} (process 7 on there); wait for it to end`);
  await folder.close();
});

describe('the lock is released if', () => {
  test('the identity differs', async () => {
    await begin();
    await expect(open({ identity: () => ({ model: 'M' }) })).rejects.toMatchObject({ exitCode: EXIT.identityDiffers });
    expect(await isFree()).toBe(true);
  });

  test('the folder contains rows that no run wrote', async () => {
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, 'predictions.jsonl'), 'somebody wrote this\n');
    await expect(open()).rejects.toMatchObject({
      exitCode: EXIT.cannotCreate,
      message: expect.stringContaining('was not made by a run in this folder'),
    });
    expect(await isFree()).toBe(true);
    expect(await readFile(join(dir, 'predictions.jsonl'), 'utf8')).toBe('somebody wrote this\n');
  });
});

test('a run without rows does not bind later runs to its settings', async () => {
  await (await open()).close();
  await writeFile(join(dir, 'predictions.manifest.json'), JSON.stringify(MANIFEST));
  const folder = await open({ identity: (stored) => ({ model: 'M', stored }) });
  expect(folder.identity).toEqual({ model: 'M', stored: undefined });
  await folder.close();
});

test('a fresh run sets aside what it finds', async () => {
  await begin();
  const folder = await open({ fresh: true });
  expect(folder.journal.size).toBe(0);
  await folder.close();
  const [aside = ''] = (await readdir(dir)).filter((name) => name.startsWith('before-'));
  expect((await readdir(join(dir, aside))).sort()).toEqual(['predictions.journal.jsonl', 'predictions.manifest.json']);
});

describe('a folder opened for a dry run', () => {
  const view = (options: Parameters<typeof open>[0] = {}) => open({ ...options, dryRun: true });

  test('need not exist, and is not created', async () => {
    const folder = await view();
    expect([folder.journal.size, folder.stored, folder.identity]).toEqual([0, undefined, { model: 'm' }]);
    await folder.close();
    await expect(readdir(dir)).rejects.toThrow('ENOENT');
  });

  test('shows what is done, and leaves a torn line and the files of killed writers untouched', async () => {
    await begin();
    const torn = `${await readFile(join(dir, 'predictions.journal.jsonl'), 'utf8')}{"id":"b#0","ro`;
    await writeFile(join(dir, 'predictions.journal.jsonl'), torn);
    await writeFile(join(dir, 'predictions.jsonl.0123456789ab.tmp'), 'half');
    const before = await readdir(dir);
    const folder = await view();
    expect([...folder.journal.ids()]).toEqual(['a#0']);
    expect(folder.journal.read('a#0').row).toEqual(RECORD.row);
    expect(folder.stored).toEqual(MANIFEST);
    await expect(folder.journal.append(RECORD)).rejects.toThrow(UserError);
    await folder.close();
    expect(await readdir(dir)).toEqual(before);
    expect(await readFile(join(dir, 'predictions.journal.jsonl'), 'utf8')).toBe(torn);
  });

  test('counts as empty if the run is to start afresh, and nothing is set aside', async () => {
    await begin();
    const before = await readdir(dir);
    const folder = await view({ fresh: true, identity: () => ({ model: 'another' }) });
    expect([folder.journal.size, folder.stored]).toEqual([0, undefined]);
    await folder.close();
    expect(await readdir(dir)).toEqual(before);
  });

  test('is refused if the run itself would be', async () => {
    await begin();
    await expect(view({ identity: () => ({ model: 'another' }) })).rejects.toMatchObject({
      exitCode: EXIT.identityDiffers,
    });
    await expect(view({ name: 'stray' }).then((folder) => folder.close())).resolves.toBeUndefined();
    await writeFile(join(dir, 'stray.jsonl'), 'of another program');
    await expect(view({ name: 'stray' })).rejects.toMatchObject({ exitCode: EXIT.cannotCreate });
    await mkdir(join(dir, 'odd.journal.jsonl'));
    await writeFile(join(dir, 'odd.manifest.json'), JSON.stringify(MANIFEST));
    await expect(view({ name: 'odd' })).rejects.toMatchObject({ exitCode: EXIT.inputMissing });
  });
});
