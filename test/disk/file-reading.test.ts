// JSON files read whole, and files that are not valid JSON objects.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { readJson, sha256Of, sizeOf, writeJson } from '../../src/disk/files.js';
import { temporaryFolder } from '../support/cli.js';

let dir = '';
let path = '';
beforeEach(async () => {
  dir = await temporaryFolder();
  path = join(dir, 'document.json');
});

describe('readJson', () => {
  test('reads what writeJson wrote', async () => {
    const value = { a: [1, null, 'é\u2028'], b: { c: true } };
    await writeJson(path, value);
    expect(await readJson(path)).toEqual(value);
  });

  test('a missing file is not an error', async () => {
    expect(await readJson(path)).toBeUndefined();
  });

  test.each([
    ['nothing', ''],
    ['half a document', '{"a": '],
    ['a list', '[]'],
    ['null', 'null'],
  ])('a file that contains %s is bad data', async (_what, text) => {
    await writeFile(path, text);
    await expect(readJson(path)).rejects.toMatchObject({ name: 'UserError', exitCode: EXIT.badData });
  });

  test('a folder is refused', async () => {
    await expect(readJson(dir)).rejects.toMatchObject({ name: 'UserError', exitCode: EXIT.inputMissing });
  });
});

test('size and hash are those of the bytes', async () => {
  expect(await sizeOf(path)).toBeUndefined();
  await writeFile(path, 'abc');
  expect(await sizeOf(path)).toBe(3);
  expect(await sha256Of(path)).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
