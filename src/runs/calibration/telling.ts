// A calibration told: in a terminal or as JSON, as a page, to the SQLite file, and against the limits that the judge is held to.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../../errors.js';
import { canonicalJson } from '../../json.js';
import { exitCodeOfLimits, type JudgeVerdict, type LimitResult } from '../../judge-limits.js';
import { type JudgeTrust, trustOf } from '../../judge-trust.js';
import type { CalibrationHeader } from '../../report/calibration/header.js';
import { calibrationDocument } from '../../report/calibration/json.js';
import { calibrationText } from '../../report/calibration/text.js';
import { calibrationPage } from '../../report/page/calibration/page.js';
import { madeWith, verdictsOf } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { judgeVerdict, limitResults } from '../../score/calibration/limits.js';
import { EXPLAIN, type OptionTable, type Settings } from '../../settings/options.js';
import { shownPath } from '../../settings/shown-path.js';
import { toolVersion } from '../../settings/version.js';
import type { CalibrationRecord } from '../../store/records.js';
import { openStore } from '../../store/store.js';
import type { Io } from '../../types.js';
import { DEFAULT_DB } from '../databases.js';
import { policyHash, writeText } from '../output.js';
import { type ReadCalibration, readCalibration } from './reading.js';

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

export const TELLING_OPTIONS = {
  db: {
    kind: 'text',
    value: 'FILE',
    default: DEFAULT_DB,
    group: 'Output',
    help: 'SQLite file that keeps it, so that tables of runs with this judge tell how far it can be trusted',
  },
  html: { kind: 'text', value: 'FILE', group: 'Output', help: 'write a page about it, with dose curves' },
  ...EXPLAIN,
  'min-ceiling': {
    kind: 'number',
    min: 0,
    max: 100,
    value: 'X',
    group: 'Limits',
    help: 'least score of neutral rewrites of the truth (each limit: exit 4 where it is broken, 5 where it is undecided)',
  },
  'max-noise': {
    kind: 'number',
    min: 0,
    value: 'X',
    group: 'Limits',
    help: 'largest SD of judgements of one prediction, in points',
  },
  'max-blind': { kind: 'integer', min: 0, group: 'Limits', help: 'how many damages the judge may not see' },
  'max-gullible': { kind: 'number', value: 'X', group: 'Limits', help: 'most points that a trick may buy' },
} as const satisfies OptionTable;

/** What a manifest does not tell. */
interface Beside {
  /** calibration.jsonl as people are shown it. */
  readonly source: string;
  readonly notes: readonly string[];
  readonly verdict: JudgeVerdict;
  readonly limits: readonly LimitResult[];
}

export function calibrationHeader(manifest: Manifest, { source, notes, verdict, limits }: Beside): CalibrationHeader {
  const made = madeWith(manifest);
  const fingerprint = made.rubricFingerprint === undefined ? '' : ` (${made.rubricFingerprint.slice(0, 12)})`;
  return {
    judge: made.judgeName ?? 'a judge that is not recorded',
    rubricPack: made.rubricPack === undefined ? '' : `${made.rubricPack}${fingerprint}`,
    verdicts: verdictsOf(made) ?? '',
    sampling: fieldsText({ ...made.method, ...made.sampling }),
    source,
    notes,
    verdict,
    limits,
  };
}

/** `temperature 0.6, top_p 0.95`. */
function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : canonicalJson(value)}`)
    .join(', ');
}

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
