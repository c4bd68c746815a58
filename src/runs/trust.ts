// How far the judge of a run can be trusted, by the calibrations that are known.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { UserError } from '../errors.js';
import { asksJudge } from '../judge/modes.js';
import type { Trust } from '../report/trust.js';
import type { MadeWith } from '../run/made-with.js';
import { shownPath } from '../settings/shown-path.js';
import type { StoredCalibration } from '../store/records.js';
import { openExistingStore } from '../store/store.js';
import type { Io } from '../types.js';

/**
 * What the newest calibration says of a run's judge: of the same judge and snapshot, told the same, read and sampled in the same way.
 * Undefined for a run that asked no judge.
 */
export function trustIn(
  { mode, judgeKey }: Pick<MadeWith, 'mode' | 'judgeKey'>,
  calibrations: readonly StoredCalibration[],
): Trust | undefined {
  if (!asksJudge(mode)) return undefined;
  if (judgeKey === undefined) return 'uncalibrated';
  const own = calibrations.filter((calibration) => calibration.judgeKey === judgeKey);
  const [newest] = own.sort((a, b) => (a.at < b.at ? 1 : -1));
  return newest?.trust ?? 'uncalibrated';
}

/** The calibrations of those SQLite files that are there. What is wrong with one is noted: nobody asked for what else is in it. */
export function calibrationsIn(files: readonly string[], note: (text: string) => void, io: Io): StoredCalibration[] {
  const paths = [...new Set(files.map((file) => resolve(io.cwd, file)))].filter((path) => existsSync(path));
  return paths.flatMap((path) => {
    try {
      const store = openExistingStore(path);
      try {
        return store.calibrations();
      } finally {
        store.close();
      }
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      note(`calibrations of judges are not taken from ${shownPath(path, io)}: ${error.message}`);
      return [];
    }
  });
}
