import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/errors.js';
import { readJson, writeJson, writeLines } from '../../src/run/files.js';
import { temporaryFolder } from '../support/cli.js';

let dir = '';
let path = '';
beforeEach(async () => {
  dir = await temporaryFolder();
  path = join(dir, 'out.jsonl');
});

async function* linesOf(lines: readonly string[], error?: Error): AsyncGenerator<string> {
  yield* lines;
  if (error !== undefined) throw error;
}

describe('writeLines', () => {
  test.each([
    ['none', []],
    ['empty ones', ['', '']],
    ['text of several bytes a letter', ['é😀\u2028', 'b\r']],
    ['more than one buffer', Array.from({ length: 40 }, (_, index) => `${index}`.repeat(100_000))],
  ])('writes lines: %s, and counts their bytes', async (_what, lines) => {
    const bytes = await writeLines(path, linesOf(lines));
    const text = await readFile(path, 'utf8');
    expect(text === lines.map((line) => `${line}\n`).join('')).toBe(true);
    expect(bytes).toBe(Buffer.byteLength(text));
    expect(await readdir(dir)).toEqual(['out.jsonl']);
  });

  test('the old file stands untouched until the new one is whole', async () => {
    await writeFile(path, 'old');
    const seen: string[] = [];
    await writeLines(
      path,
      (async function* () {
        for (let index = 0; index < 4; index++) {
          yield 'x'.repeat(1 << 20);
          seen.push(await readFile(path, 'utf8'));
        }
      })(),
    );
    expect(seen).toEqual(['old', 'old', 'old', 'old']);
  });

  test.each([
    ['of ours', new UserError('why', EXIT.badData)],
    ['of any other kind', new TypeError('a bug')],
  ])('an error %s while the lines are made leaves the old file, and no other', async (_what, error) => {
    await writeFile(path, 'old');
    const lines = linesOf(['x'.repeat(3 << 20)], error);
    await expect(writeLines(path, lines)).rejects.toBe(error);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(dir)).toEqual(['out.jsonl']);
  });

  test('the remains of a killed write are written over', async () => {
    await writeFile(`${path}.tmp`, 'x'.repeat(1000));
    await writeLines(path, linesOf(['new']));
    expect(await readFile(path, 'utf8')).toBe('new\n');
    expect(await readdir(dir)).toEqual(['out.jsonl']);
  });

  test.each([
    ['a folder in its place', (name: string) => mkdir(name), 'out.jsonl'],
    ['no folder around it', async () => undefined, 'gone/out.jsonl'],
  ])('%s: it cannot be written, and says so', async (_what, prepare, name) => {
    await prepare(join(dir, name));
    const before = await readdir(dir);
    await expect(writeLines(join(dir, name), linesOf(['a']))).rejects.toMatchObject({
      name: 'UserError',
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining(join(dir, name)),
    });
    expect(await readdir(dir)).toEqual(before);
  });
});

describe('readJson', () => {
  test('reads what writeJson wrote', async () => {
    const value = { a: [1, null, 'é\u2028'], b: { c: true } };
    await writeJson(path, value);
    expect(await readJson(path)).toEqual(value);
  });

  test('no file is no error', async () => {
    expect(await readJson(path)).toBeUndefined();
  });

  test.each([
    ['nothing', ''],
    ['half a document', '{"a": '],
    ['a list', '[]'],
    ['null', 'null'],
  ])('a file that holds %s is bad data', async (_what, text) => {
    await writeFile(path, text);
    await expect(readJson(path)).rejects.toMatchObject({ name: 'UserError', exitCode: EXIT.badData });
  });

  test('a folder cannot be read', async () => {
    await expect(readJson(dir)).rejects.toMatchObject({ name: 'UserError', exitCode: EXIT.inputMissing });
  });
});
