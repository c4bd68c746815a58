// Files written atomically: through links and to devices, but not to FIFOs, on a full disk, and next to files of others.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import { clearRemains, replaceFile, writeLines } from '../../src/disk/files.js';
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
    ['text with several bytes per character', ['é😀\u2028', 'b\r']],
    ['more than one buffer', Array.from({ length: 40 }, (_, index) => `${index}`.repeat(100_000))],
  ])('writes lines: %s, counts their bytes and hashes them', async (_what, lines) => {
    const { bytes, sha256 } = await writeLines(path, linesOf(lines));
    const text = await readFile(path, 'utf8');
    expect(text === lines.map((line) => `${line}\n`).join('')).toBe(true);
    expect(bytes).toBe(Buffer.byteLength(text));
    expect(sha256).toBe(createHash('sha256').update(text).digest('hex'));
    expect(await readdir(dir)).toEqual(['out.jsonl']);
  });

  test('the old file stays untouched until the new one is complete', async () => {
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
  ])('an error %s while lines are produced leaves only the old file', async (_what, error) => {
    await writeFile(path, 'old');
    const lines = linesOf(['x'.repeat(3 << 20)], error);
    await expect(writeLines(path, lines)).rejects.toBe(error);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await readdir(dir)).toEqual(['out.jsonl']);
  });

  test('files left by killed writes are removed, and nothing else is', async () => {
    const others = ['out.jsonl.tmp.txt', 'out.jsonl.0123456789ab.tmp.gz', 'mout.jsonl.tmp', 'out.manifest.json.tmp'];
    for (const name of [...others, 'out.jsonl.tmp', 'out.jsonl.0123456789ab.tmp'])
      await writeFile(join(dir, name), 'x');
    await clearRemains(path);
    expect(await readdir(dir)).toEqual([...others].sort());
  });

  test.each([
    ['a folder in its place', (name: string) => mkdir(name), 'out.jsonl'],
    ['a missing folder', async () => undefined, 'gone/out.jsonl'],
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

describe('replaceFile', () => {
  const replace = (at: string, text = 'new') => replaceFile(at, [text], { remedy: 'name another' });

  test('a link stays a link, and its target is replaced', async () => {
    await mkdir(join(dir, 'elsewhere'));
    await writeFile(join(dir, 'elsewhere/real'), 'old');
    await symlink('elsewhere/real', join(dir, 'middle'));
    await symlink('middle', path);
    await replace(path);
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect((await lstat(join(dir, 'middle'))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(dir, 'elsewhere/real'), 'utf8')).toBe('new');
    expect(await readdir(join(dir, 'elsewhere'))).toEqual(['real']);
  });

  test('a broken link is replaced by the file', async () => {
    await symlink('elsewhere/real', path);
    await replace(path);
    expect((await lstat(path)).isSymbolicLink()).toBe(false);
    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('circular links cannot be written', async () => {
    await symlink('other', path);
    await symlink('out.jsonl', join(dir, 'other'));
    await expect(replace(path)).rejects.toMatchObject({ exitCode: EXIT.cannotWrite });
  });

  test('a device is written to, and stays a device', async () => {
    await symlink('/dev/null', path);
    await replace(path);
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
    expect(await readdir(dir)).toEqual(['out.jsonl']);
  });

  test('a FIFO is refused by name, and stays a FIFO', async () => {
    execFileSync('mkfifo', [path]);
    const message = `cannot write ${path}: it is a FIFO; name another`;
    await expect(replace(path)).rejects.toMatchObject({ exitCode: EXIT.cannotWrite, message });
    expect((await stat(path)).isFIFO()).toBe(true);
  });

  test('a full device is reported as full', async () => {
    const message = 'cannot write /dev/full: the disk is full; name another';
    await expect(replace('/dev/full')).rejects.toMatchObject({ exitCode: EXIT.cannotWrite, message });
  });

  test('files of others next to it are neither overwritten nor removed', async () => {
    await writeFile(join(dir, 'victim'), 'precious');
    await symlink('victim', `${path}.tmp`);
    await replace(path);
    expect(await readFile(join(dir, 'victim'), 'utf8')).toBe('precious');
    expect(await readFile(path, 'utf8')).toBe('new');
  });

  test('the new file has the permissions of the old one', async () => {
    await writeFile(path, 'old');
    await chmod(path, 0o640);
    await replace(path);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
  });
});
