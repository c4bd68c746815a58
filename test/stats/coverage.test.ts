// Coverage: every command reports it in the same words and with the same rounding.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { percent } from '../../src/stats/coverage.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

describe('a share in percent', () => {
  it.each([
    [1, '100 %'],
    [0.99999, '99.9 %'],
    [0.3229, '32.2 %'],
    [0.29, '29 %'],
    [0, '0 %'],
  ])('%d is %s: a share below a limit is never rounded up to it', (share, text) => {
    expect(percent(share)).toBe(text);
  });
});

describe('a run that lacks half of a domain', () => {
  let dir: string;
  beforeAll(async () => {
    dir = await temporaryFolder();
    const lacking = (_: string, row: number) => (row < 21 ? undefined : around(3)('', row));
    const make = (name: string, rating: Parameters<typeof judgedRun>[1]['rating']) =>
      judgedRun(join(dir, name), { label: name, rating, rows: 31 }, join(dir, 'runs.sqlite'));
    await make('whole', around(3));
    await make('half', (domain, row) => (domain === 'web' ? lacking(domain, row) : around(3, 1)(domain, row)));
  });
  const run = (...args: string[]) => awb([...args, '--db', 'runs.sqlite'], { cwd: dir });

  // 196 of 217 rows, and 10 of 31 in the worst domain: rounding would make that 90.3 % and 32.3 %.
  it('has the same coverage in every command', async () => {
    const score = await run('score', '--predictions', 'half/judged.jsonl');
    expect(score).toMatchObject({ code: EXIT.incomplete });
    expect(score.stdout).toContain('\ncoverage: 90.3 % (least: Web 32.2 %)\n');
    expect(score.stderr).toMatch(/ {2}Web: 32\.2 % of 31 predictions/);
    const board = (await run('leaderboard', '--columns', 'coverage,rows')).stdout.replace(/\s+/g, ' ');
    expect(board).toContain('half 90.3 % 196/217');
    expect(board).toContain('neither tested nor marked: half (Web 32.2 %)');
  });

  it('is compared with a warning, on either side', async () => {
    for (const names of [
      ['whole', 'half'],
      ['half', 'whole'],
    ]) {
      const { code, stdout } = await run('compare', ...names);
      expect(code).toBe(EXIT.done);
      expect(stdout.replace(/\s+/g, ' ')).toContain(
        'INCOMPLETE: half has a coverage below 99 % (Web 32.2 %); its scores must not be compared with others.',
      );
    }
    expect((await run('compare', 'whole', 'whole')).stdout).not.toContain('INCOMPLETE');
  });
});
