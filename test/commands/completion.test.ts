// Shell completion: what may stand at the cursor, as the shells themselves ask for it.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';

/** What fish and zsh take as "complete a file name". */
const FILES = '__tabtab_complete_files__';

/** What is answered for a line with the cursor at its end, by name. */
async function completed(line: string, shell = 'fish'): Promise<readonly string[]> {
  const env = { SHELL: shell, COMP_LINE: line, COMP_POINT: String(line.length), COMP_CWORD: '1' };
  const { code, stdout, stderr } = await awb(['completion-server', '--', ...line.split(' ')], { env, cwd: ROOT });
  expect([code, stderr]).toEqual([EXIT.done, '']);
  return stdout
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => text.split('\t')[0] as string);
}

describe('what may stand at the cursor', () => {
  test.each<[string, readonly string[]]>([
    ['awb le', ['leaderboard']],
    ['awb judge --verdicts ', ['strict', 'official']],
    ['awb judge --verdicts o', ['official']],
    ['awb infer --domains t', ['terminal']],
    ['awb infer --concurrency ', ['adaptive']],
    ['awb infer --no-st', ['--no-stream']],
    ['awb completion ', ['bash', 'zsh', 'fish']],
    ['awb completion bash ', []],
    ['awb infer --limit ', []],
    ['awb infer ', []],
    ['awb nosuch --', []],
    ['awb judge --predictions ', [FILES]],
    ['awb compare a', [FILES]],
    ['awb runs rename step-100 ', [FILES]],
    ['awb runs remove 3 --yes step-200 s', [FILES]],
  ])('%j: %j', async (line, names) => {
    expect(await completed(line)).toEqual(names);
  });

  test('a flag that was given is not offered again, unless it may be repeated', async () => {
    const names = await completed('awb infer --label x --meta a=b --');
    expect(names).toContain('--meta');
    expect(names).not.toContain('--label');
  });

  test('bash completes file names by itself where nothing is answered', async () => {
    expect(await completed('awb judge --predictions ', 'bash')).toEqual([]);
  });
});

describe('a real shell', () => {
  let path: string;
  beforeAll(async () => {
    const dir = await temporaryFolder();
    const program = join(dir, 'awb');
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'dist/bin.js')}' "$@"\n`);
    chmodSync(program, 0o755);
    path = `${dir}:${process.env.PATH}`;
  });
  const has = (shell: string) => spawnSync(shell, ['--version']).status === 0;

  test.skipIf(!has('bash'))('bash offers the flags', () => {
    const script = `source <(awb completion bash)
COMP_WORDS=(awb infer --prot); COMP_CWORD=2; COMP_LINE='awb infer --prot'; COMP_POINT=16
_awb_completion; echo "\${COMPREPLY[@]}"`;
    const stdout = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8', env: { PATH: path } });
    expect(stdout).toBe('--protocol\n');
  });
});
