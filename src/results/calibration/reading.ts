// A calibration as it lies in its folder, and how far the judge of a run can be trusted by the calibrations that are known.

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readCalibrated } from '../../benchmark/judged.js';
import { manifestBeside } from '../../benchmark/judged-path.js';
import { inputMissing, UserError } from '../../core/errors.js';
import { oneLine } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { variantFacts } from '../../judge/calibrate/variants.js';
import { asksJudge } from '../../judge/modes.js';
import { type Trust, trustOf } from '../../report/trust.js';
import { type MadeWith, madeWith } from '../../run/made-with.js';
import { readManifest } from '../../run/manifest.js';
import { shownPath } from '../../settings/shown-path.js';
import { calibrationOf } from '../../stats/calibration/calibration.js';
import type { StoredCalibration } from '../../store/runs.js';
import { openExistingStore } from '../../store/store.js';

/** A calibration that was read. */
export type ReadCalibration = Awaited<ReturnType<typeof readCalibration>>;

/**
 * Reads calibration.jsonl and its manifest. @throws UserError: 66 and 65 for either, 130 or 143 once `stop` is aborted.
 * @param source path of calibration.jsonl
 */
export async function readCalibration(source: string, stop?: AbortSignal) {
  const manifest = await readManifest(manifestBeside(source));
  if (manifest === undefined) {
    throw inputMissing(
      `there is no ${manifestBeside(source)}, which says what judge ${source} is of; the same awb calibrate command writes it`,
    );
  }
  return { source, manifest, calibration: calibrationOf(await readCalibrated(source, stop), variantFacts()) };
}

/**
 * The calibration in the folder of a judged file, where it is one of that file's judge: its judgements are read for no other. What is
 * wrong with it is noted.
 */
export async function calibrationBeside(
  judgedFile: string,
  judgeKey: string | undefined,
  note: (text: string) => void,
  stop?: AbortSignal,
): Promise<StoredCalibration[]> {
  const source = join(dirname(judgedFile), 'calibration.jsonl');
  try {
    const manifest = await readManifest(manifestBeside(source));
    if (manifest === undefined || judgeKey === undefined || madeWith(manifest).judgeKey !== judgeKey) return [];
    const { calibration } = await readCalibration(source, stop);
    return [{ judgeKey, at: manifest.endedAt ?? manifest.startedAt, trust: trustOf(calibration) }];
  } catch (error) {
    if (!(error instanceof UserError) || stop?.aborted) throw error;
    note(`the calibration beside ${oneLine(judgedFile, 200)} is left out: ${error.message}`);
    return [];
  }
}

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
    let store: ReturnType<typeof openExistingStore> | undefined;
    try {
      store = openExistingStore(path);
      return store.calibrations();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      note(`calibrations of judges are not taken from ${shownPath(path, io)}: ${error.message}`);
      return [];
    } finally {
      store?.close();
    }
  });
}
