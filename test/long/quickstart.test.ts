// The output of the quickstart: each command can be typed, and does what it says.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { ROOT, startAwb, temporaryFolder } from '../support/cli.js';

/** A line of bash in which `awb` is the built program. */
function runShell(line: string, cwd: string) {
  const awb = `awb() { '${process.execPath}' '${join(ROOT, 'dist/bin.js')}' "$@"; }`;
  return spawnSync('bash', ['-c', `${awb}\n${line}`], { cwd, encoding: 'utf8' });
}

describe('the quickstart', () => {
  let dir: string;
  let printed: string;

  const quickstart = async (...flags: string[]) => {
    const ran = await startAwb(['quickstart', '--no-color', ...flags], { AWB_THREADS: '1' }, dir).ended;
    expect(ran.code).toBe(EXIT.done);
    return { stdout: ran.stdout, echoed: [...ran.stderr.matchAll(/^\$ (.*)$/gm)].map((match) => match[1] as string) };
  };

  beforeAll(async () => {
    dir = await temporaryFolder();
    ({ stdout: printed } = await quickstart());
  }, 120_000);

  test('with --verbose prints commands that can be pasted, and does the same again', async () => {
    const again = await quickstart('--verbose');
    expect(again.stdout).toBe(printed);
    const paste = (line: string) => runShell(line, dir);
    const oracle = again.echoed.filter((line) => line.includes('oracle'));
    expect(oracle.map((line) => /^awb (\w+)/.exec(line)?.[1])).toEqual(['infer', 'judge', 'score']);
    for (const line of oracle) expect(paste(`${again.echoed.slice(0, 2).join('\n')}\n${line}`).status, line).toBe(0);
    const local = again.echoed.find((line) => line.includes('--local')) as string;
    expect(paste(`printf '%s\\n' ${local}`).stdout).toContain('\n{"chat_template_kwargs":{"enable_thinking":false}}\n');
  });

  test('names what to try next, and each command does what it says', async () => {
    const lines = /Try\n {2}(cd .*)\n([\s\S]*?)Next/.exec(printed) as RegExpExecArray;
    const ended = (lines[2] as string)
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const { status, stdout } = runShell(`${lines[1]}; ${line}`, dir);
        return [line.trim().split(/ {2,}/)[0], status, stdout.split(':')[0]];
      });
    expect(ended).toEqual([
      ['awb compare made-up-100 made-up-200', EXIT.done, expect.stringContaining('made-up-200 is better')],
      ['awb gate made-up-100 made-up-200', EXIT.done, 'GO'],
      ['awb gate made-up-200 made-up-300', EXIT.noGo, 'NO-GO'],
      ['awb report --run made-up-300 --compare made-up-200', EXIT.done, expect.anything()],
    ]);
  });
});
