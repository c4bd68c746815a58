// awb calibrate against a scripted judge on loopback: the calibration finds what was built into the judge.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readCalibrated } from '../../src/benchmark/judged.js';
import type { CalibratedRow } from '../../src/core/calibration.js';
import type { Ends } from '../../src/core/printable.js';
import { variantFacts } from '../../src/judge/calibrate/variants.js';
import { calibrationOf } from '../../src/stats/calibration/calibration.js';
import { knownTexts, startBiasedJudge } from '../support/biased-judge.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import { facts } from '../support/known-ratings.js';
import { expectedNoise, expectedPoints, type Opinion } from '../support/made-up-judge.js';

type Bounds = Ends | null | undefined;

/** Seen well, seen mostly in one dimension, and not seen; one attack works, the other does not. */
const OPINIONS: readonly Opinion[] = [
  { variant: facts('truth', 'truth'), centre: 4.6, judgements: 2 },
  { variant: facts('rewrite-runtime', 'rewrite'), centre: 4.3 },
  { variant: facts('rewrite-keys', 'rewrite'), centre: 4.3 },
  { variant: facts('rewrite-space', 'rewrite'), centre: 4.3 },
  { variant: facts('determined-1of8', 'dose', 1 / 8), centre: 4.6 },
  { variant: facts('determined-1of3', 'dose', 1 / 3), centre: 3.6 },
  { variant: facts('light', 'order'), centre: 4, shifts: { factuality: -1.2 }, judgements: 2 },
  { variant: facts('heavy', 'order'), centre: 2.6, judgements: 2 },
  { variant: facts('shuffled', 'baseline'), centre: 1.7, judgements: 2 },
  { variant: facts('flattery', 'attack'), centre: 2.6 },
  { variant: facts('order-language', 'attack'), centre: 1.7 },
];
const CORRUPTIONS = 'determined-1of8,determined-1of3,light,heavy,shuffled';

/** The recorded rows, with each trajectory several times under different ids. */
async function copies(count: number): Promise<string> {
  const folder = join(await temporaryFolder(), 'data');
  await mkdir(folder);
  for (const name of await readdir(RECORDED)) {
    const lines = (await readFile(join(RECORDED, name), 'utf8')).split('\n').filter((line) => line !== '');
    const copied = Array.from({ length: count }, (_, copy) =>
      lines.map((line) => {
        const row = JSON.parse(line);
        return JSON.stringify({ ...row, id: `${row.id}-${copy}`, system_str: `${row.system_str}\nCopy ${copy}.` });
      }),
    );
    await writeFile(join(folder, name), `${copied.flat().join('\n')}\n`);
  }
  return folder;
}

const expected = (name: string) => expectedPoints(name, undefined, OPINIONS);
const REWRITE = expected('rewrite-keys');

/** The built-in noise, by how many predictions there are of each variant. */
function noiseIn(rows: readonly CalibratedRow[]): number {
  const having = (name: string) => new Set(rows.filter(({ variant }) => variant === name).map(({ key }) => key));
  return expectedNoise(OPINIONS, (name) => having(name).size);
}

test('awb calibrate recovers the biases and noise of a scripted judge', async () => {
  const data = await copies(2);
  const names = OPINIONS.map(({ variant }) => variant.name);
  const server = await startBiasedJudge(await knownTexts(data, names), OPINIONS, 2);
  const dir = join(await temporaryFolder(), 'calibration');
  try {
    const { code, stderr } = await awb([
      ...['calibrate', '--data-dir', data, '--output-dir', dir, '--max-calls', '600'],
      ...['--judge-base-url', server.url, '--judge-model', 'biased', '--concurrency', '8'],
      ...['--corruptions', CORRUPTIONS, '--attacks', 'flattery,order-language'],
    ]);
    expect(code, stderr).toBe(0);
  } finally {
    await server.close();
  }
  const rows = await readCalibrated(join(dir, 'calibration.jsonl'));
  const { overall } = calibrationOf(rows, variantFacts());
  const lossOf = (name: string) => overall.losses.find(({ variant }) => variant === name);
  const gainOf = (name: string) => overall.attacks.find(({ variant }) => variant === name);
  const known: readonly (readonly [string, number, Bounds])[] = [
    ['ceiling', REWRITE, overall.ceiling],
    ['truth', expected('truth'), overall.truth],
    ['floor', expected('shuffled'), overall.floor],
    ['false penalty', expected('truth') - REWRITE, overall.false_penalty],
    ...CORRUPTIONS.split(',').map(
      (name) => [`loss to ${name}`, expected('truth') - expected(name), lossOf(name)] as const,
    ),
    ['gain of flattery', expected('flattery') - expected('shuffled'), gainOf('flattery')],
    ['gain of orders', 0, gainOf('order-language')],
    ['noise', noiseIn(rows), overall.noise],
  ];
  // Simulations check how often such intervals miss; here the seed is one for which none of the twelve does.
  for (const [name, value, bounds] of known) {
    expect(bounds?.low, name).toBeLessThanOrEqual(value);
    expect(bounds?.high, name).toBeGreaterThanOrEqual(value);
  }
  expect(overall).toMatchObject({ failed: 0, trajectories: 33 });
  expect(overall.losses.map(({ variant, sight }) => [variant, sight])).toEqual([
    ['determined-1of8', 'blind'],
    ['determined-1of3', 'seen'],
    ['light', 'seen'],
    ['heavy', 'seen'],
    ['shuffled', 'seen'],
  ]);
  expect(lossOf('light')?.most).toBe('factuality');
  expect(overall.attack_gain?.variant).toBe('flattery');
}, 120_000);
