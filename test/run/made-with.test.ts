// What a manifest says about what made a run, and what two runs share.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { present } from '../../src/core/errors.js';
import { madeWith } from '../../src/run/made-with.js';
import { readManifest } from '../../src/run/manifest.js';
import { ROOT } from '../support/cli.js';

const PATH = join(ROOT, 'fixtures/runs-awb-2/step-100/judged.manifest.json');

describe('a run', () => {
  test('rated by a judge says who judged whom, and with what', async () => {
    const manifest = await readManifest(PATH);
    const made = madeWith(manifest);
    expect(made).toMatchObject({
      mode: 'rubric',
      judge: 'judge',
      snapshot: 'judge-2026-01-01',
      judgeName: 'judge-2026-01-01',
      rubricPack: 'awb-2',
      verdicts: 'strict',
      versions: ['reading 2', 'frame 3'],
      worldModel: 'wm-step-100',
      baseline: undefined,
      protocol: 'history',
      label: 'step-100',
      startedAt: manifest?.startedAt,
      predictedAt: manifest?.predictions?.startedAt,
    });
    expect(made.chosen).toEqual(
      new Map([
        ['terminal', 4],
        ['web', 4],
      ]),
    );
    expect(Object.values(made.shares)).not.toContain(undefined);
  });

  test('of measurements has neither judge nor rubrics, and its baseline is the world model', async () => {
    const manifest = present(await readManifest(PATH));
    const predictions = { ...present(manifest.predictions), identity: { baseline: 'persistence' } };
    expect(madeWith({ ...manifest, identity: { mode: 'metrics' }, predictions })).toMatchObject({
      mode: 'metrics',
      judge: undefined,
      judgeName: undefined,
      rubricPack: undefined,
      worldModel: 'baseline persistence',
      baseline: 'persistence',
      protocol: undefined,
      shares: { rubric: 'none', protocol: undefined },
    });
  });
});

test('a file of the official script only shows that a judge rated it', () => {
  const { mode, meta, versions, dropped, shares, ...rest } = madeWith(undefined);
  expect({ mode, meta, versions, dropped }).toEqual({ mode: 'rubric', meta: {}, versions: [], dropped: [] });
  expect(new Set([...Object.values(rest), ...Object.values(shares)])).toEqual(new Set([undefined]));
});

test('a locally served model is named by its file, whatever snapshot its server reports', () => {
  const judge = { sha256: 'ab'.repeat(32), kv_cache: 'q8_0' };
  const made = madeWith({ identity: { judge, snapshot: 'x' }, servedModels: ['tiny'] });
  expect(made.judgeName).toBe('tiny (sha256 abababababab, cache q8_0)');
  expect(made.snapshot).toBe('x');
  expect(madeWith({ identity: { judge: { sha256: 'ab'.repeat(32) } } }).judge).toBe(
    'local model (sha256 abababababab, cache unknown)',
  );
});

test("everything that a mode's records depend on is part of what runs share", () => {
  const made = (more: object) =>
    madeWith({ identity: { mode: 'gauge', predictions: { file: 'p' }, judge: 'j', ...more } });
  expect(made({ bits: 1, sampling: { seed: 1 } }).method).toEqual({ bits: 1 });
  expect(made({ bits: 1 }).shares.judge).toMatchObject({ judge: 'j', mode: 'gauge', bits: 1 });
  expect(made({ bits: 1 }).shares.judge).not.toEqual(made({ bits: 2 }).shares.judge);
  expect(made({ recheck: 'f', rubrics: { name: 'r' }, verdicts: 'strict', reading: 2 }).method).toBeUndefined();
});

test('ratings made with another frame or reading have other versions', () => {
  const identity = { verdicts: 'strict', reading: 2, rubrics: { name: 'awb-2', fingerprint: 'f', frame: 3 } };
  expect(madeWith({ identity }).versions).toEqual(['reading 2', 'frame 3']);
});

test('a manifest value of the wrong type counts as unknown', async () => {
  const { identity, ...manifest } = JSON.parse(await readFile(PATH, 'utf8'));
  const odd = Object.fromEntries(Object.keys(identity).map((name) => [name, 7]));
  const made = madeWith({ ...manifest, identity: odd });
  expect(made).toMatchObject({ mode: 'rubric', judge: undefined, rubricPack: undefined, sampling: {}, dropped: [] });
});

describe('two judgings have the same judge key', () => {
  const rubrics = { name: 'awb-2', fingerprint: 'f', frame: 2 };
  const sampling = { temperature: 0.6, maxTokens: 100 };
  const identity = { mode: 'rubric', judge: 'j', snapshot: 'j-1', rubrics, verdicts: 'strict', reading: 3, sampling };
  const key = (change: object) => madeWith({ identity: { ...identity, ...change } }).judgeKey;

  test.each([
    ['predictions', { predictions: { file: 'p', run: 'f' } }],
    ['sample judged again', { recheck: 'f' }],
    ['calibration', { calibration: { data: 'd', seed: 0 } }],
    ['order of fields', { sampling: { maxTokens: 100, temperature: 0.6 } }],
  ])('even if they differ in: %s', (_name, change) => {
    expect(key(change)).toBe(key({}));
  });

  test.each([
    ['judge', { judge: 'k' }],
    ['snapshot', { snapshot: 'j-2' }],
    ['known snapshot', { snapshot: undefined }],
    ['mode', { mode: 'turing' }],
    ['rubric pack', { rubrics: { ...rubrics, fingerprint: 'g' } }],
    ['frame', { rubrics: { ...rubrics, frame: 3 } }],
    ['way of reading verdicts', { verdicts: 'official' }],
    ['version of that way', { reading: 4 }],
    ['sampling', { sampling: { ...sampling, temperature: 0 } }],
    ['parameters left out', { sampling: { ...sampling, dropped: ['top_k'] } }],
    ['anything that a later version adds', { schema: 1 }],
  ])('only if they agree in: %s', (_name, change) => {
    expect(key(change)).not.toBe(key({}));
  });

  test('and have none without a judge', () => {
    expect(key({ judge: undefined })).toBeUndefined();
    expect(madeWith(undefined).judgeKey).toBeUndefined();
  });
});
