// A calibration told: in a terminal or as JSON, as a page, to the SQLite file, and against the limits that the judge is held to.

import { resolve } from 'node:path';
import type { ExitCode } from '../../errors.js';
import { exitCodeOfLimits } from '../../judge-limits.js';
import { calibrationDocument } from '../../report/calibration/json.js';
import { calibrationText } from '../../report/calibration/text.js';
import { calibrationPage } from '../../report/page/calibration/page.js';
import { judgeVerdict, limitResults } from '../../score/calibration/limits.js';
import type { Settings } from '../../settings/options.js';
import { shownPath } from '../../settings/shown-path.js';
import { toolVersion } from '../../settings/version.js';
import type { Io } from '../../types.js';
import { policyHash, writeText } from '../output.js';
import { calibrationHeader } from './header.js';
import type { TELLING_OPTIONS } from './options.js';
import { readCalibration } from './reading.js';
import { saveCalibration } from './saving.js';

type TellingSettings = Settings<typeof TELLING_OPTIONS> & { readonly json: boolean; readonly color: boolean };

/**
 * Tells what the judgements of calibration.jsonl say of the judge.
 * @param source absolute path of calibration.jsonl, which has its manifest beside it
 * @param run what asking came to, for the document of `--json`
 * @returns 0, or 4 and 5 where a limit is broken or undecided
 * @throws UserError: what reading it throws, 74 where the page or the SQLite file cannot be written
 */
export async function tellCalibration(
  source: string,
  settings: TellingSettings,
  run: object,
  io: Io,
): Promise<ExitCode> {
  const read = await readCalibration(source, io.stop);
  const { calibration, manifest } = read;
  const limits = limitResults(calibration, settings);
  const { notices: notes } = manifest;
  const verdict = judgeVerdict(calibration);
  const header = calibrationHeader(manifest, { source: shownPath(source, io), notes, verdict, limits });
  const document = { ...calibrationDocument(calibration, header), run };
  const db = resolve(io.cwd, settings.db);
  const { id, replaced } = saveCalibration(db, { ...read, document });
  const { html } = settings;
  if (html !== undefined)
    await writeText(html, calibrationPage(calibration, header, `awb ${toolVersion()}`, policyHash), '--html', io);
  if (settings.json) {
    io.stdout.write(`${JSON.stringify(document)}\n`);
  } else {
    const { explain } = settings;
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY, explain };
    const stored = `stored: ${shownPath(db, io)} (SQLite; calibration ${id}${replaced ? ', replaced' : ''})`;
    const page = html === undefined ? [] : [`page: ${shownPath(resolve(io.cwd, html), io)}`];
    io.stdout.write(`${calibrationText(calibration, header, look)}\n${[stored, ...page].join('\n')}\n`);
  }
  return exitCodeOfLimits(limits);
}
