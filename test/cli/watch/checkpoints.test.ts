// Checkpoints in a folder: their order, their markers, and when a changed one counts as new.

import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
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

test('numbers are sorted by value, and a marker may be inside a folder or next to it', async () => {
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

test('a pattern matches names by * and ?, and nothing else in it is special', async () => {
  const dir = await folder('step-1/DONE', 'step-22/DONE', 'step(3)/DONE', 'other/DONE');
  const names = async (pattern: string) =>
    (await checkpointsIn(dir, { pattern, marker: 'DONE' })).map(({ name }) => name);
  expect(await names('step-?')).toEqual(['step-1']);
  expect(await names('step-*')).toEqual(['step-1', 'step-22']);
  expect(await names('step(*)')).toEqual(['step(3)']);
});

test('a checkpoint counts as new once its marker is rewritten', async () => {
  const dir = await folder('step-1/weights', 'step-1/COMPLETE');
  const stamp = async () => (await checkpointsIn(dir, { pattern: '*', marker: 'COMPLETE' }))[0]?.stamp;
  const first = await stamp();
  await writeFile(join(dir, 'step-1/weights'), 'other weights');
  expect(await stamp()).toBe(first);
  await utimes(join(dir, 'step-1/COMPLETE'), 1, 1);
  expect(await stamp()).not.toBe(first);
});

test('an unreadable folder is named', async () => {
  const dir = await folder();
  await rm(dir, { recursive: true });
  await expect(checkpointsIn(dir, { pattern: '*', marker: 'COMPLETE' })).rejects.toMatchObject({
    exitCode: EXIT.inputMissing,
    message: `cannot read the folder of checkpoints ${dir} (ENOENT)`,
  });
});
