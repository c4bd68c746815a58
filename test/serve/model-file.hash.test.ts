// Hashes of model files: correct, and cached exactly as long as the file is unchanged.

import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashFiles } from '../../src/serve/memory.js';
import { temporaryFolder } from '../support/cli.js';

const MANY_BYTES = 2 ** 26;

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

/** A large file that takes no place on the disk, ending in a text. */
async function largeFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'w');
  await file.write(text, MANY_BYTES - text.length);
  await file.close();
}

const ZEROS = createHash('sha256').update(Buffer.alloc(MANY_BYTES - 'one'.length));

/** Of a large file that ends in a text of three letters. */
function hashOf(text: string): string {
  return ZEROS.copy().update(text).digest('hex');
}

/** The hash, and how much was read for it, 0 to 1. */
async function hashed(path: string): Promise<readonly [string, number]> {
  let read = 0;
  const signal = new AbortController().signal;
  const hash = await hashFiles([path], signal, join(folder, 'cache'), (share) => {
    expect(share).toBeGreaterThanOrEqual(read);
    read = share;
  });
  return [hash, read];
}

test('a large file is read once', async () => {
  const path = join(folder, 'model.gguf');
  await largeFile(path, 'one');
  expect(await hashed(path)).toEqual([hashOf('one'), 1]);
  expect(await hashed(path)).toEqual([hashOf('one'), 0]);
});

describe('a file is read again', () => {
  test('that was written again with the same size, and given its old time back', async () => {
    const path = join(folder, 'model.gguf');
    await largeFile(path, 'one');
    await hashed(path);
    const { atime, mtime } = await stat(path);
    await largeFile(path, 'two');
    await utimes(path, atime, mtime);
    expect(await hashed(path)).toEqual([hashOf('two'), 1]);
  });

  test('that was put in the place of another', async () => {
    const path = join(folder, 'model.gguf');
    await largeFile(path, 'one');
    await largeFile(join(folder, 'other.gguf'), 'two');
    await hashed(path);
    await rename(join(folder, 'other.gguf'), path);
    expect(await hashed(path)).toEqual([hashOf('two'), 1]);
  });

  test('whose record is damaged', async () => {
    const path = join(folder, 'model.gguf');
    await largeFile(path, 'one');
    await hashed(path);
    const records = join(folder, 'cache/hashes');
    for (const name of await readdir(records)) await writeFile(join(records, name), '{"sha256":"no');
    expect(await hashed(path)).toEqual([hashOf('one'), 1]);
  });
});

test('several files are hashed as one, and small ones leave no record', async () => {
  const paths = ['a', 'b'].map((name) => join(folder, name));
  for (const path of paths) await writeFile(path, path);
  const signal = new AbortController().signal;
  const directory = join(folder, 'cache');
  expect(await hashFiles(paths, signal, directory)).toBe(createHash('sha256').update(paths.join('')).digest('hex'));
  expect(await readdir(folder)).toEqual(['a', 'b']);
});

test('a cache folder that cannot be written is no failure', async () => {
  const path = join(folder, 'model.gguf');
  await largeFile(path, 'one');
  await writeFile(join(folder, 'cache'), 'a file in the place of the folder');
  expect(await hashed(path)).toEqual([hashOf('one'), 1]);
});

test('it ends on abort', async () => {
  const path = join(folder, 'model.gguf');
  await largeFile(path, 'one');
  await mkdir(join(folder, 'cache'));
  await expect(hashFiles([path], AbortSignal.abort(), folder)).rejects.toThrow();
  expect(await readdir(join(folder, 'cache'))).toEqual([]);
});
