// What two runs share of what made them.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isOneRun, notesOn, sameBytesNote, sharedBy } from '../../src/results/comparability.js';
import { readPair } from '../../src/results/find.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { around, type JudgedRun, judgedRun } from '../support/judged-runs.js';

async function pairOf(base: Partial<JudgedRun>, candidate: Partial<JudgedRun>) {
  const dir = await temporaryFolder();
  await judgedRun(join(dir, 'a'), { rating: around(3), ...base });
  await judgedRun(join(dir, 'b'), { rating: around(3), ...candidate });
  return readPair('a', 'b', { db: [], quiet: true }, ioIn(dir));
}

test('runs made in the same way share everything', async () => {
  const pair = await pairOf({}, {});
  const shared = sharedBy(pair);
  expect(Object.values(shared).map(({ state }) => state)).toEqual(['equal', 'equal', 'equal', 'equal']);
  expect(notesOn(shared, [])).toEqual([]);
  expect(isOneRun(pair)).toBe(false);
  expect(sameBytesNote(pair)).toHaveLength(1);
});

test('the fields that differ are named', async () => {
  const other = { sampling: { temperature: 1 }, judge: 'another' };
  const shared = sharedBy(await pairOf({}, { identity: other, predictions: { protocol: 'turn' } }));
  expect(shared.judge).toEqual({
    state: 'different',
    differences: [
      'judge: "judge-model" in the base, "another" in the candidate',
      'sampling.temperature: absent in the base, 1 in the candidate',
    ],
  });
  expect(shared.protocol.differences).toEqual(['protocol: "history" in the base, "turn" in the candidate']);
  expect(notesOn(shared, ['judge']).map((note) => note.includes('compared anyway'))).toEqual([true, false]);
});

test("everything that a mode's records depend on is part of the judge, and a run without it says so", async () => {
  const shared = sharedBy(await pairOf({}, { identity: { bits: 2 } }));
  expect(shared.judge).toEqual({
    state: 'different',
    differences: ['bits: absent in the base, 2 in the candidate'],
  });
});

test('a baseline was asked under no protocol, and can be compared with a run of any', async () => {
  const shared = sharedBy(await pairOf({ predictions: { protocol: undefined, baseline: 'persistence' } }, {}));
  expect(shared.protocol.state).toBe('equal');
});

test('a rollout shares its protocol only with rollouts of the same start, including those of a baseline', async () => {
  const from = (start: number, more: object = {}) => ({
    predictions: { rollout: { from: start, version: 1 }, ...more },
  });
  const baseline = { protocol: undefined, baseline: 'persistence' };
  const protocol = async (base: object, candidate: object) => sharedBy(await pairOf(base, candidate)).protocol;
  expect((await protocol(from(0), from(0))).state).toBe('equal');
  expect(await protocol({}, from(0))).toEqual({
    state: 'different',
    differences: ['no rollout in the base, rollout from 0 in the candidate'],
  });
  expect((await protocol(from(3), from(0))).state).toBe('different');
  expect((await protocol(from(0), from(0, baseline))).state).toBe('equal');
  expect((await protocol({}, from(0, baseline))).state).toBe('different');
});

test('what was not recorded is unknown, and the rows themselves show whether the data are the same', async () => {
  const unrecorded = { predictions: { protocol: undefined, data: undefined } };
  const shared = sharedBy(await pairOf(unrecorded, {}));
  expect([shared.protocol.state, shared.data.state]).toEqual(['unknown', 'equal']);
  expect(sharedBy(await pairOf(unrecorded, { rows: 4 })).data.state).toBe('unknown');
  expect(notesOn(shared, [])).toEqual(['Not recorded, so not checked: whether the runs have the same protocol.']);
});

test('a locally served judge has a name in every listing', async () => {
  const dir = await temporaryFolder();
  const identity = { judge: { sha256: 'ab'.repeat(32), kv_cache: 'f16' } };
  await judgedRun(join(dir, 'a'), { label: 'a', rating: around(3), identity });
  await judgedRun(join(dir, 'b'), { label: 'b', rating: around(3), identity });
  const manifest = join(dir, 'b/judged.manifest.json');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('{', '{"servedModels":["tiny-judge"],'));
  const { base, candidate } = JSON.parse((await awb(['compare', 'a', 'b', '--json'], { cwd: dir })).stdout);
  expect(base.judge).toBe('local model (sha256 abababababab, cache f16)');
  expect(candidate.judge).toBe('tiny-judge (sha256 abababababab, cache f16)');
});
