// Episodes on disk: complete after each step, never replacing another.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { openRecords } from '../../../src/simulate/environment/sessions.js';
import { ROOT, temporaryFolder } from '../../support/cli.js';
import { json, post, startTestEnvironment } from '../../support/environment.js';
import { scriptedSimulator } from '../../support/scripted-simulator.js';

async function recorded(directory: string): Promise<Record<string, unknown>> {
  const names = await readdir(directory);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index]]));
}

test("each step is on disk before it is answered, in its episode's file", async () => {
  const directory = join(await temporaryFolder(), 'episodes');
  const records = await openRecords(directory);
  const environment = await startTestEnvironment(scriptedSimulator(), { records });
  await post(environment, '/reset', { episode_id: 'a/b' });
  expect(await readdir(directory)).toEqual([]);
  for (const action of ['one', 'two']) {
    await post(environment, '/step', { episode_id: 'a/b', action: { action } });
    const { 'terminal-a_b_test.jsonl': text, ...others } = await recorded(directory);
    expect(others).toEqual({});
    const row = JSON.parse(String(text));
    expect([row.current_prompt, row.response.at(-1)]).toEqual([
      expect.stringContaining(action),
      expect.stringContaining(`did ${action}`),
    ]);
  }
});

test("no file is overwritten: neither an earlier episode's nor a stranger’s", async () => {
  const directory = await temporaryFolder();
  await writeFile(join(directory, 'terminal-default_test.jsonl'), 'mine');
  await writeFile(join(directory, 'terminal-default-2_test.jsonl'), 'another');
  const environment = await startTestEnvironment(scriptedSimulator(), { records: await openRecords(directory) });
  for (const action of ['one', 'two']) {
    await post(environment, '/reset', {});
    await post(environment, '/step', { action: { action } });
  }
  const files = await recorded(directory);
  expect(Object.keys(files).sort()).toEqual([
    'terminal-default-2_test.jsonl',
    'terminal-default-3_test.jsonl',
    'terminal-default-4_test.jsonl',
    'terminal-default_test.jsonl',
  ]);
  expect(files['terminal-default_test.jsonl']).toBe('mine');
  expect(files['terminal-default-2_test.jsonl']).toBe('another');
  expect(files['terminal-default-3_test.jsonl']).toContain('did one');
  expect(files['terminal-default-4_test.jsonl']).toContain('did two');
});

test('a step that cannot be recorded is not done, and can be retried', async () => {
  const directory = join(await temporaryFolder(), 'episodes');
  const environment = await startTestEnvironment(scriptedSimulator(), { records: await openRecords(directory) });
  await post(environment, '/reset', {});
  await rm(directory, { recursive: true });
  const failed = await json(post(environment, '/step', { action: { action: 'ls' } }));
  expect(failed).toMatchObject({ status: 503, body: { code: 'RECORD_FAILED' } });
  await mkdir(directory);
  const again = await json(post(environment, '/step', { action: { action: 'ls' } }));
  expect(again.body.observation).toMatchObject({ turn: 1 });
});

test('a file truncated by a full disk is removed, and the next try can use its name', () => {
  const [sessions, worlds] = ['simulate/environment/sessions', 'infer/world'].map((name) =>
    JSON.stringify(join(ROOT, `dist/${name}.js`)),
  );
  const program = `
    const { readdirSync } = await import('node:fs');
    const { openRecords } = await import(${sessions});
    const { afterReply, freshWorld } = await import(${worlds});
    const after = (text) => afterReply(freshWorld({ domain: 'terminal', systemPrompt: '' }), 'ls', text);
    const keep = (await openRecords('.'))('e');
    await keep(after('x'.repeat(9_000))).catch((error) => console.log(/EFBIG/.exec(error.message)[0]));
    console.log(readdirSync('.').join());
    await keep(after('x'));
    console.log(readdirSync('.').join());`;
  const cwd = mkdtempSync(join(tmpdir(), 'awb-'));
  const command = 'ulimit -f 1; exec "$0" --input-type=module -e "$1"';
  const output = execFileSync('bash', ['-c', command, process.execPath, program], { encoding: 'utf8', cwd });
  rmSync(cwd, { recursive: true });
  expect(output).toBe('EFBIG\n\nterminal-e_test.jsonl\n');
});

test('a folder that cannot be made is a message, before anything is served', async () => {
  const file = join(await temporaryFolder(), 'file');
  await writeFile(file, '');
  await expect(openRecords(join(file, 'below'))).rejects.toMatchObject({
    exitCode: EXIT.cannotCreate,
    message: expect.stringContaining('--record'),
  });
});

test.runIf(existsSync('/proc/self'))(
  'a folder that cannot be made is reported, although Node itself never returns',
  async () => {
    await expect(openRecords('/proc/none/episodes')).rejects.toMatchObject({ exitCode: EXIT.cannotCreate });
  },
);
