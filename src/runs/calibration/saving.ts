// A calibration into a SQLite file: what it is known by, and for which judgings it holds.

import { EXIT, UserError } from '../../errors.js';
import { type JudgeTrust, trustOf } from '../../judge-trust.js';
import { madeWith } from '../../run/made-with.js';
import { toolVersion } from '../../settings/version.js';
import type { CalibrationRecord } from '../../store/records.js';
import { openStore } from '../../store/store.js';
import { verdictsOf } from '../verdicts.js';
import type { ReadCalibration } from './reading.js';

/** A calibration, and the document that `--json` prints of it. */
interface MadeCalibration extends ReadCalibration {
  readonly document: object;
}

/**
 * Stores a calibration, over what the same one was before.
 * @param db absolute path of the SQLite file, which is made where it is not there
 * @throws UserError: 74 and 65 for the file, 65 for a manifest that names no judge.
 */
export function saveCalibration(
  db: string,
  made: MadeCalibration,
): { readonly id: number; readonly replaced: boolean; readonly trust: JudgeTrust } {
  const record = recordOf(made);
  const store = openStore(db);
  try {
    return { ...store.saveCalibration(record), trust: record.trust };
  } finally {
    store.close();
  }
}

function recordOf({ source, manifest, calibration, document }: MadeCalibration): CalibrationRecord {
  const made = madeWith(manifest);
  const { judge, judgeKey, rubricFingerprint } = made;
  const { startedAt, endedAt } = manifest;
  if (judge === undefined || judgeKey === undefined) {
    throw new UserError(
      `the manifest of ${source} names no judge; the same awb calibrate command with --fresh makes both anew`,
      EXIT.badData,
    );
  }
  return {
    // Continuing changes none of this, while the snapshot becomes known only by asking. The keys and their order stand in files.
    identity: JSON.stringify({ judge, rubricFingerprint, startedAt }),
    judgeKey,
    judgeModel: judge,
    judgeSnapshot: made.snapshot,
    rubricPack: made.rubricPack,
    rubricFingerprint,
    verdicts: verdictsOf(made),
    sampling: made.sampling ?? {},
    source,
    manifest: JSON.stringify(manifest),
    startedAt,
    endedAt,
    savedAt: new Date().toISOString(),
    toolVersion: toolVersion(),
    calibration,
    trust: trustOf(calibration),
    document: JSON.stringify(document),
  };
}
