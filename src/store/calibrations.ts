// Calibrations in the SQLite file: written whole, and what they come to read back.

import { insert, Row, rowsOf, type Sqlite } from '../disk/sqlite.js';
import type { CalibrationRecord, StoredCalibration } from './records.js';

/** Writes a calibration in one transaction. One of the same identity is replaced, and keeps its number. */
export function saveCalibration(database: Sqlite, record: CalibrationRecord): { id: number; replaced: boolean } {
  return database.immediate(() => {
    const found = database.prepare('SELECT id FROM calibrations WHERE identity = ?').get(record.identity);
    const before = found && new Row(found).number('id');
    if (before !== undefined) database.prepare('DELETE FROM calibrations WHERE id = ?').run(before);
    const values = {
      id: before,
      identity: record.identity,
      judge_key: record.judgeKey,
      judge_model: record.judgeModel,
      judge_snapshot: record.judgeSnapshot,
      rubric_pack: record.rubricPack,
      rubric_fingerprint: record.rubricFingerprint,
      verdicts: record.verdicts,
      sampling: JSON.stringify(record.sampling),
      source: record.source,
      manifest: record.manifest,
      started_at: record.startedAt,
      ended_at: record.endedAt,
      saved_at: record.savedAt,
      tool_version: record.toolVersion,
      document: JSON.stringify(record.document),
    };
    return { id: insert(database, 'calibrations', values), replaced: before !== undefined };
  });
}

/** Every calibration, in the order of their ids. @throws DamagedValue */
export function readCalibrations(database: Sqlite): StoredCalibration[] {
  const columns = 'judge_key, started_at, ended_at, ceiling, noise, damages, blind, undecided, gullible';
  return Array.from(rowsOf(database, `SELECT ${columns} FROM calibrations ORDER BY id`), (row) => ({
    judgeKey: row.text('judge_key'),
    at: row.textIn('ended_at') ?? row.text('started_at'),
    trust: {
      ceiling: row.numberIn('ceiling') ?? null,
      noise: row.numberIn('noise') ?? null,
      damages: row.number('damages'),
      blind: row.number('blind'),
      undecided: row.number('undecided'),
      gullible: row.numberIn('gullible') ?? null,
    },
  }));
}
