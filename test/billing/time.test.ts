// How long calls take.

import { expect, test } from 'vitest';
import { timeOf } from '../../src/billing/time.js';

const charges = {
  ...{ rows: 120, calls: 120, characters: 0, promptTokens: 900_000, cachedTokens: 0 },
  outputTokens: { expected: 300_000, atLeast: 0 },
};
const measured = { perMinute: 60, runs: { like: 'model', names: ['a'], models: ['m'] } } as const;

test.each([
  ['a rate that is given', { rate: 30, measured }, { by: 'rate', seconds: 240, isLeast: false }],
  ['a measured one', { measured }, { by: 'measured', seconds: 120, isLeast: false, runs: measured.runs }],
  ['a limit of calls below it', { rate: 30, rpm: 10 }, { by: 'rpm', seconds: 720, isLeast: false }],
  ['a limit of tokens below both', { rate: 30, rpm: 10, tpm: 60_000 }, { by: 'tpm', seconds: 1_200, isLeast: false }],
  ['a limit alone, which is the least', { rpm: 10 }, { by: 'rpm', seconds: 720, isLeast: true }],
])('goes by %s', (_, speed, time) => {
  expect(timeOf(charges, speed)).toMatchObject(time);
});

test('is unknown where nothing is known', () => {
  expect(timeOf(charges, {})).toBeUndefined();
});
