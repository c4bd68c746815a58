// Saving a calibration to a SQLite file and to its page.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { saveCalibration } from '../../src/cli/calibrate.js';
import { trustOf } from '../../src/report/trust.js';
import { madeWith } from '../../src/run/made-with.js';
import { openExistingStore } from '../../src/store/store.js';
import { calibrationManifest, madeUpDocument } from '../support/calibrations.js';
import { temporaryFolder } from '../support/cli.js';
import { queryIn, refusal } from '../support/stored-runs.js';

const made = (change: object = {}) => ({
  source: '/out/calibration.jsonl',
  manifest: calibrationManifest(change),
});
const document = madeUpDocument();

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), 'awb.sqlite');
}

describe('a saved calibration', () => {
  it('has the key of judgings by the same judge, and its own summary', async () => {
    const db = await newFile();
    const { id, replaced } = saveCalibration(db, made(), document);
    expect({ id, replaced }).toEqual({ id: 1, replaced: false });
    const { calibration: _, ...judging } = made().manifest.identity;
    const { judgeKey } = madeWith({ identity: { ...judging, predictions: { file: 'predictions.jsonl' } } });
    const store = openExistingStore(db);
    expect(store.calibrations()).toEqual([{ judgeKey, at: '2026-01-01T01:00:00.000Z', trust: trustOf(document) }]);
    store.close();
    expect(
      queryIn(db, 'SELECT judge_model, judge_snapshot, rubric_pack, verdicts, document FROM calibrations'),
    ).toEqual([
      {
        judge_model: 'judge-model',
        judge_snapshot: 'judge-2026-01-01',
        rubric_pack: 'awb-3',
        verdicts: 'strict (reading 3, frame 2)',
        document: JSON.stringify(document),
      },
    ]);
  });

  it('replaces itself when it continues, or when its snapshot becomes known', async () => {
    const db = await newFile();
    const { snapshot: _, ...unknown } = made().manifest.identity;
    saveCalibration(db, made({ identity: unknown, endedAt: undefined }), document);
    expect(saveCalibration(db, made(), document)).toMatchObject({ id: 1, replaced: true });
    expect(saveCalibration(db, made({ startedAt: '2026-02-01T00:00:00.000Z' }), document)).toMatchObject({
      id: 2,
      replaced: false,
    });
  });

  it('under a manifest that names no judge is refused, and no file is created', async () => {
    const db = await newFile();
    expect(refusal(() => saveCalibration(db, made({ identity: { mode: 'rubric' } }), document))).toMatchObject({
      exitCode: 65,
      message: expect.stringContaining('/out/calibration.jsonl names no judge'),
    });
    expect(refusal(() => openExistingStore(db)).exitCode).toBe(66);
  });
});
