// Checkpoints in a folder: their order, their markers, and when one counts as another.

import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { checkpointsIn } from '../../../src/cli/watch/checkpoints.js';
import { EXIT } from '../../../src/core/errors.js';
import { temporaryFolder } from '../../support/cli.js';

async function folder(...files: string[]): Promise<string> {
  const dir = await temporaryFolder();
  for (const file of files) {
    await mkdir(dirname(join(dir, file)), { recursive: true });
    await writeFile(join(dir, file), 'weights');
  }
  return dir;
}

test('numbers stand in their order, and a marker may lie within a folder or beside it', async () => {
  const dir = await folder(
    'step-10/COMPLETE',
    'step-9/a',
    'step-9.COMPLETE',
    'b.gguf',
    'b.gguf.COMPLETE',
    'step-11/a',
    '.x/COMPLETE',
  );
  const complete = await checkpointsIn(dir, { pattern: '*', marker: 'COMPLETE' });
  expect(complete.map(({ name }) => name)).toEqual(['b.gguf', 'step-9', 'step-10']);
  expect(complete[1]?.path).toBe(join(dir, 'step-9'));
});

test('a pattern takes names by * and ?, and nothing else in it has a meaning', async () => {
  const dir = await folder('step-1/DONE', 'step-22/DONE', 'step(3)/DONE', 'other/DONE');
  const names = async (pattern: string) =>
    (await checkpointsIn(dir, { pattern, marker: 'DONE' })).map(({ name }) => name);
  expect(await names('step-?')).toEqual(['step-1']);
  expect(await names('step-*')).toEqual(['step-1', 'step-22']);
  expect(await names('step(*)')).toEqual(['step(3)']);
});

test('a checkpoint is another one once a file of it has another size or time, and not for its marker', async () => {
  const dir = await folder('step-1/sub/weights', 'step-1/COMPLETE');
  const stamp = async () => (await checkpointsIn(dir, { pattern: '*', marker: 'COMPLETE' }))[0]?.stamp;
  const first = await stamp();
  await writeFile(join(dir, 'step-1/COMPLETE'), 'said again');
  expect(await stamp()).toBe(first);
  await utimes(join(dir, 'step-1/sub/weights'), 1, 1);
  const second = await stamp();
  expect(second).not.toBe(first);
  await writeFile(join(dir, 'step-1/sub/more'), '');
  expect(await stamp()).not.toBe(second);
});

test('a folder that cannot be read is named', async () => {
  const dir = await folder();
  await rm(dir, { recursive: true });
  await expect(checkpointsIn(dir, { pattern: '*', marker: 'COMPLETE' })).rejects.toMatchObject({
    exitCode: EXIT.inputMissing,
    message: `cannot read the folder of checkpoints ${dir} (ENOENT)`,
  });
});

test('links to folders are not followed, as they may lead back up', async () => {
  const dir = await folder('step-1/a/weights', 'step-1/COMPLETE', 'step-2/x');
  await symlink('..', join(dir, 'step-1/up'));
  await symlink('.', join(dir, 'step-1/a/around'));
  await symlink('nowhere', join(dir, 'step-1/a/lost'));
  const stamp = async () => (await checkpointsIn(dir, { pattern: 'step-1', marker: 'COMPLETE' }))[0]?.stamp;
  const first = await stamp();
  await writeFile(join(dir, 'step-2/x'), 'a neighbour that grows');
  expect(await stamp()).toBe(first);
  await utimes(join(dir, 'step-1/a/weights'), 1, 1);
  expect(await stamp()).not.toBe(first);
});
