import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolders, writePieces } from '../../src/disk/files.js';
import { folderOf } from '../support/folder.js';

describe('making folders', () => {
  test('creates the parents too, and accepts folders that exist', async () => {
    const root = await folderOf({});
    const path = join(root, 'a', 'b', 'c');
    await Promise.all([makeFolders(path), makeFolders(path), makeFolders(join(root, 'a', 'b', 'd'))]);
    await makeFolders(path);
    expect((await stat(path)).isDirectory()).toBe(true);
    expect((await stat(join(root, 'a', 'b', 'd'))).isDirectory()).toBe(true);
  });

  test('refuses a file in place of the folder or of a parent', async () => {
    const root = await folderOf({});
    const file = join(root, 'file');
    await writeFile(file, '');
    await expect(makeFolders(file)).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolders(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test.runIf(existsSync('/proc/self'))(
    'fails instead of looping if a parent denies that its children exist',
    async () => {
      await expect(makeFolders('/proc/none/x/y')).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );
});

test('a file written in pieces is complete, although the pieces reuse their memory', async () => {
  const path = join(await folderOf({}), 'file');
  const handle = await open(path, 'wx');
  const [whole, piece] = [createHash('sha256'), Buffer.alloc(300_000)];
  const pieces = function* () {
    for (let round = 0; round < 9; round++) {
      piece.fill(round);
      whole.update(piece).update('ä\n');
      yield piece;
      yield 'ä\n';
    }
  };
  const written = await writePieces(handle, pieces());
  await handle.close();
  const sha256 = whole.digest('hex');
  expect(written).toEqual({ bytes: 9 * 300_003, sha256 });
  expect(
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex'),
  ).toBe(sha256);
});
