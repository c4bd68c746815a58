// A stored calibration: what the file contains, what is read back, and that it is never duplicated or half replaced.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { Calibration } from '../../src/stats/calibration/document.js';
import type { CalibrationRecord } from '../../src/store/runs.js';
import { openExistingStore, openStore } from '../../src/store/store.js';
import { calibrationPart, madeUpDocument, NOTHING_JUDGED } from '../support/calibrations.js';
import { temporaryFolder } from '../support/cli.js';
import { queryIn, refusal, runOf, saveIn } from '../support/stored-runs.js';
import { type Compiled, compileStore } from './compiled.js';

let path: string;
let compiled: Compiled;
beforeAll(async () => {
  compiled = await compileStore();
});
afterAll(() => compiled.remove());
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

/** @param calibration the source of the document */
function recordOf(change: Partial<CalibrationRecord> = {}, calibration?: Calibration): CalibrationRecord {
  return {
    identity: 'first',
    judgeKey: 'k',
    judgeModel: 'judge',
    judgeSnapshot: 'judge-2026-01-01',
    rubricPack: 'awb-3',
    rubricFingerprint: 'ab',
    verdicts: 'strict (reading 3)',
    sampling: { temperature: 0.6 },
    source: '/out/calibration.jsonl',
    manifest: '{"kind":"calibrate"}',
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T01:00:00.000Z',
    savedAt: '2026-01-02T00:00:00.000Z',
    toolVersion: '0.3.0',
    document: madeUpDocument(calibration),
    ...change,
  };
}

function save(record: CalibrationRecord) {
  const store = openStore(path);
  try {
    return store.saveCalibration(record);
  } finally {
    store.close();
  }
}

function read() {
  const store = openExistingStore(path);
  try {
    return store.calibrations();
  } finally {
    store.close();
  }
}

const query = (sql: string) => queryIn(path, sql);

describe('a stored calibration', () => {
  it('is read back with its judge key, its end time and its summary', () => {
    save(recordOf());
    save(recordOf({ identity: 'running', judgeKey: 'other', endedAt: undefined }));
    const trust = { ceiling: 97.1, noise: 7.9, corruptions: 14, blind: 2, undecided: 2, attack_gain: 0.4 };
    expect(read()).toEqual([
      { judgeKey: 'k', at: '2026-01-01T01:00:00.000Z', trust },
      { judgeKey: 'other', at: '2026-01-01T00:00:00.000Z', trust },
    ]);
  });

  it('that lacks a figure stores none, and is read back without it', () => {
    save(recordOf({}, { overall: NOTHING_JUDGED, domains: {} }));
    expect(read()[0]?.trust).toEqual({
      ...{ ceiling: null, noise: null, corruptions: 0, blind: 0, undecided: 0, attack_gain: null },
    });
    expect(query('SELECT * FROM calibration_figures')).toEqual([]);
    expect(query('SELECT ceiling, noise, attack_gain FROM calibrations')).toEqual([
      { ceiling: null, noise: null, attack_gain: null },
    ]);
  });

  it('stores the p of the inversion for an inverted step', () => {
    const { steps } = calibrationPart(1);
    const inverted = steps
      .slice(0, 1)
      .map((step) => ({ ...step, p_adjusted: 1, p_inverted: 0.003, order: 'inverted' as const }));
    save(recordOf({}, { overall: calibrationPart(1, { steps: inverted }), domains: {} }));
    expect(query("SELECT adjusted_p, verdict FROM calibration_figures WHERE figure = 'step'")).toEqual([
      { adjusted_p: 0.003, verdict: 'inverted' },
    ]);
  });

  it('stores its figures by domain, variant and dimension, with intervals and verdicts', () => {
    save(recordOf());
    const figures = (where: string) =>
      query(`SELECT value, low, high, adjusted_p, verdict FROM calibration_figures WHERE ${where}`);
    expect(figures("domain = '' AND figure = 'ceiling'")).toEqual([
      { value: 97.1, low: 97.1 - 1.2, high: 97.1 + 1.2, adjusted_p: null, verdict: null },
    ]);
    expect(figures("domain = '' AND figure = 'false_penalty'")).toMatchObject([{ value: 1.15, verdict: 'none' }]);
    expect(figures("domain = '' AND figure = 'loss' AND variant = 'lost-fence' AND dimension = 'total'")).toMatchObject(
      [{ value: 0.5, verdict: 'blind' }],
    );
    expect(figures("domain = 'mcp' AND figure = 'loss' AND variant = 'heavy'")).toHaveLength(6);
    expect(
      figures("domain = '' AND figure = 'step' AND variant = 'truth' AND against = 'determined-1of8'"),
    ).toMatchObject([{ value: 6, adjusted_p: 0.02, verdict: 'kept' }]);
    expect(figures("domain = '' AND figure = 'attack_gain' AND variant = 'closed-frame'")).toMatchObject([
      { value: 0.4 },
    ]);
    expect(query("SELECT value, n, low, high FROM calibration_figures WHERE domain = '' AND figure = 'noise'")).toEqual(
      [{ value: 7.9, n: 320, low: 7.2, high: 8.7 }],
    );
    expect(query('SELECT DISTINCT domain FROM calibration_figures ORDER BY domain')).toEqual([
      { domain: '' },
      { domain: 'mcp' },
      { domain: 'terminal' },
    ]);
    expect(query("SELECT count(*) AS n FROM calibration_figures WHERE figure = 'gain'")).toEqual([{ n: 12 }]);
    expect(
      query("SELECT judge_model, sampling ->> 'temperature' AS t, document ->> 'schema' AS s FROM calibrations"),
    ).toEqual([{ judge_model: 'judge', t: 0.6, s: 'awb.calibrate/1' }]);
  });

  it('is replaced by the same calibration, keeps its number, and leaves no old figure behind', () => {
    expect(save(recordOf())).toEqual({ id: 1, replaced: false });
    expect(save(recordOf({ identity: 'second' }))).toEqual({ id: 2, replaced: false });
    const calibration = { overall: calibrationPart(1, { losses: [], attacks: [] }), domains: {} };
    expect(save(recordOf({}, calibration))).toEqual({ id: 1, replaced: true });
    expect(query('SELECT id FROM calibrations ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
    expect(
      query("SELECT figure FROM calibration_figures WHERE calibration_id = 1 AND figure IN ('loss', 'gain')"),
    ).toEqual([]);
    expect(query('PRAGMA foreign_key_check')).toEqual([]);
  });

  it('belongs to no run, so it stays when runs are removed or replaced', () => {
    saveIn(path, runOf('a'));
    save(recordOf());
    const store = openStore(path);
    store.removeRuns(store.runs());
    store.close();
    expect(read()).toHaveLength(1);
  });

  it('from each of several processes at once is stored once', async () => {
    const script = await compiled.script(
      'calibrations-together.js',
      `import { openStore } from './store/store.js';
       const [path, record] = process.argv.slice(2).map((text, index) => index === 0 ? text : JSON.parse(text));
       for (const identity of ['shared', String(process.pid)]) {
         const store = openStore(path, 20000);
         store.saveCalibration({ ...record, identity });
         store.close();
       }`,
    );
    const args = [script, path, JSON.stringify(recordOf())];
    await Promise.all(Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, args)));
    expect(query("SELECT count(*) AS n, sum(identity = 'shared') AS shared FROM calibrations")).toEqual([
      { n: 5, shared: 1 },
    ]);
    const each = query('SELECT DISTINCT count(*) AS n FROM calibration_figures GROUP BY calibration_id');
    expect(each).toHaveLength(1);
  });

  it('with a value of the wrong type is reported as corrupted, with the file', () => {
    save(recordOf());
    const database = openSqlite(path);
    database.exec("UPDATE calibrations SET document = json_set(document, '$.trust', 'many')");
    database.close();
    expect(refusal(read)).toMatchObject({ exitCode: 65, message: expect.stringContaining('column trust') });
  });
});
