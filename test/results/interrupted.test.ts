// Ctrl-C ends commands that work on runs, and leaves no partial output.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

test.each(['score a', 'compare a b', 'gate a b', 'report --run a', 'leaderboard'])(
  'Ctrl-C ends awb %s',
  async (line) => {
    const dir = await temporaryFolder();
    for (const label of ['a', 'b']) {
      await judgedRun(join(dir, label), { label, rating: around(3) }, join(dir, 'awb.sqlite'));
    }
    const { code, stdout } = await awb(line.split(' '), { cwd: dir, stop: AbortSignal.abort('SIGINT') });
    expect([code, stdout]).toEqual([130, '']);
  },
);
