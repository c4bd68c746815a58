import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { EXIT, present } from '../../../src/core/errors.js';
import { afterReply, freshWorld } from '../../../src/infer/world.js';
import { saveTrajectory } from '../../../src/simulate/terminal/commands.js';
import { ROOT, temporaryFolder } from '../../support/cli.js';

const world = present(afterReply(freshWorld({ domain: 'terminal', systemPrompt: '' }), 'ls', 'a.txt'));
const once = { replace: false, id: 'x' };

let cwd = '';
beforeEach(async () => {
  cwd = await temporaryFolder();
});

test.each(['run', 'run_test', 'run.jsonl', 'run_test.jsonl'])(
  'the name %s makes a file that infer takes',
  async (named) => {
    expect(await saveTrajectory(world, named, once, { cwd })).toBe('run_test.jsonl');
    expect(await readdir(cwd)).toEqual(['run_test.jsonl']);
  },
);

test('an existing file keeps its bytes, unless it may be replaced', async () => {
  const path = join(cwd, 'run_test.jsonl');
  await writeFile(path, 'precious');
  const refused = saveTrajectory(world, 'run', once, { cwd });
  await expect(refused).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: expect.stringContaining('exists already'),
  });
  expect(await readFile(path, 'utf8')).toBe('precious');
  await saveTrajectory(world, 'run', { ...once, replace: true }, { cwd });
  expect(await readFile(path, 'utf8')).toContain('a.txt');
  expect(await readdir(cwd)).toEqual(['run_test.jsonl']);
});

test('missing folders are made, and a file in place of a folder is reported', async () => {
  expect(await saveTrajectory(world, 'new/deep/run', once, { cwd })).toBe('new/deep/run_test.jsonl');
  await writeFile(join(cwd, 'file'), '');
  const refused = saveTrajectory(world, 'file/run', once, { cwd });
  await expect(refused).rejects.toMatchObject({
    exitCode: EXIT.cannotCreate,
    message: expect.stringMatching(/^cannot write file\/run_test/),
  });
});

test('a folder is never replaced by a trajectory', async () => {
  await mkdir(join(cwd, 'run_test.jsonl'));
  await expect(saveTrajectory(world, 'run', { ...once, replace: true }, { cwd })).rejects.toMatchObject({
    exitCode: EXIT.cannotWrite,
  });
  expect(await readdir(cwd)).toEqual(['run_test.jsonl']);
});

test('a file truncated by a full disk is removed: it is neither data to infer, nor in the way of the next attempt', async () => {
  const [commands, worlds] = ['simulate/terminal/commands', 'infer/world'].map((name) =>
    JSON.stringify(join(ROOT, `dist/${name}.js`)),
  );
  const program = `
    const { saveTrajectory } = await import(${commands});
    const { afterReply, freshWorld } = await import(${worlds});
    const world = afterReply(freshWorld({ domain: 'terminal', systemPrompt: '' }), 'ls', 'x'.repeat(9_000));
    const saved = saveTrajectory(world, 'run', { replace: false, id: 'x' }, { cwd: process.argv[1] });
    await saved.catch(({ exitCode, message }) => console.log(JSON.stringify({ exitCode, message })));`;
  const command = 'ulimit -f 1; exec "$0" --input-type=module -e "$1" "$2"';
  const output = execFileSync('bash', ['-c', command, process.execPath, program, cwd], { encoding: 'utf8' });
  expect(JSON.parse(output)).toMatchObject({
    exitCode: EXIT.cannotWrite,
    message: expect.stringMatching(/^cannot write run_test\.jsonl: .*; make room, or choose another place$/),
  });
  expect(await readdir(cwd)).toEqual([]);
});
