import { existsSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolders } from '../src/make-folder.js';
import { folderOf } from './support/folder.js';

const make = (path: string) => makeFolders(path, { mkdir, stat, dirname });

describe('making folders', () => {
  test('makes those above too, and is content with what is there', async () => {
    const root = await folderOf({});
    const path = join(root, 'a', 'b', 'c');
    await Promise.all([make(path), make(path), make(join(root, 'a', 'b', 'd'))]);
    await make(path);
    expect((await stat(path)).isDirectory()).toBe(true);
    expect((await stat(join(root, 'a', 'b', 'd'))).isDirectory()).toBe(true);
  });

  test('refuses a file in the place of a folder, or above it', async () => {
    const root = await folderOf({});
    const file = join(root, 'file');
    await writeFile(file, '');
    await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(make(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test.runIf(existsSync('/proc/self'))('ends where a parent denies that its children exist', async () => {
    await expect(make('/proc/none/x/y')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
