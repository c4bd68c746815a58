// awb completion from outside: the scripts complete in real shells.

import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { awb, temporaryFolder } from '../support/cli.js';

const has = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

async function scriptFor(shell: string): Promise<string> {
  const path = join(await temporaryFolder(), `awb.${shell}`);
  const { code, stdout } = await awb(['completion', shell]);
  expect(code).toBe(0);
  await writeFile(path, stdout);
  return path;
}

/** What bash would offer after these words. */
function offered(path: string, words: readonly string[]): string[] {
  const ask = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _awb; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', ask, 'bash', path, ...words], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(Boolean);
}

const LINES: [string, string[]][] = [
  ['awb inf', ['infer']],
  ['awb data f', ['fetch']],
  ['awb data ', ['fetch', 'check', 'stats']],
  ['awb data fetch --rep', ['--replace']],
  ['awb infer --output-dir x --budget-u', ['--budget-usd']],
  ['awb judge results/step-100 --hel', ['--help']],
  // Where a file may stand, the shell offers files.
  ['awb judge ', []],
  ['awb judge --output-dir ', []],
  ['awb --he', ['--help']],
  ['awb data fetch ', []],
  ['awb nosuch ', []],
];

describe('bash', () => {
  test.each(LINES)('%s', async (line, expected) => {
    expect(offered(await scriptFor('bash'), line.split(' '))).toEqual(expected);
  });

  test('completes the long name as well', async () => {
    const script = await scriptFor('bash');
    const { stdout } = spawnSync('bash', ['-c', `source ${script}; complete -p agentworldbench`], { encoding: 'utf8' });
    expect(stdout).toContain('-F _awb agentworldbench');
  });
});

test.skipIf(!has('zsh'))('zsh accepts its script', async () => {
  const load = `autoload -Uz compinit && compinit -u -D; source ${await scriptFor('zsh')}; echo $_comps[awb]`;
  const { stdout, status } = spawnSync('zsh', ['-fc', load], { encoding: 'utf8', timeout: 20_000 });
  expect([status, stdout]).toEqual([0, expect.stringContaining('_awb')]);
});

describe.skipIf(!has('fish'))('fish', () => {
  test.each(LINES.filter(([, expected]) => expected.length > 0))('%s', async (line, expected) => {
    const ask = `source ${await scriptFor('fish')}; complete -C ${JSON.stringify(line)}`;
    const { stdout } = spawnSync('fish', ['-c', ask], { encoding: 'utf8', timeout: 20_000 });
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(expected));
  });

  test('refuses --json', async () => {
    expect(await awb(['completion', 'bash', '--json'])).toMatchObject({ code: 2, stdout: '' });
  });
});
