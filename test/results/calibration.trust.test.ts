// Which calibration applies to a run.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { calibrationsIn, trustIn } from '../../src/results/read-run.js';
import { temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';

const trust = (ceiling: number) => ({
  ceiling,
  noise: null,
  corruptions: 14,
  blind: 2,
  undecided: 0,
  attack_gain: null,
});
const calibrations = [
  { judgeKey: 'a', at: '2026-01-02T00:00:00.000Z', trust: trust(90) },
  { judgeKey: 'a', at: '2026-01-03T00:00:00.000Z', trust: trust(95) },
  { judgeKey: 'a', at: '2026-01-01T00:00:00.000Z', trust: trust(80) },
  { judgeKey: 'b', at: '2026-01-09T00:00:00.000Z', trust: trust(50) },
];

it('is the newest one of the very same judge', () => {
  expect(trustIn({ mode: 'rubric', judgeKey: 'a' }, calibrations)).toEqual(trust(95));
});

it('is absent for another judge, and for a run that does not record its judge', () => {
  expect(trustIn({ mode: 'rubric', judgeKey: 'c' }, calibrations)).toBe('uncalibrated');
  expect(trustIn({ mode: 'rubric', judgeKey: undefined }, calibrations)).toBe('uncalibrated');
});

it('is not looked up for a run that was only measured', () => {
  expect(trustIn({ mode: 'metrics', judgeKey: undefined }, calibrations)).toBeUndefined();
});

it('is not looked up in a missing SQLite file; a corrupted file causes a note and stops nothing', async () => {
  const dir = await temporaryFolder();
  await writeFile(join(dir, 'bad.sqlite'), 'no database, but long enough to be taken for one '.repeat(40));
  const notes: string[] = [];
  const io = ioIn(dir);
  expect(calibrationsIn(['none.sqlite', 'bad.sqlite'], (text) => notes.push(text), io)).toEqual([]);
  expect(notes).toEqual([
    expect.stringMatching(/^calibrations of judges in bad\.sqlite are ignored: .*not a database/),
  ]);
});
