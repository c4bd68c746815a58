// A calibration told: in a terminal or as JSON, as a page, to the SQLite file, and against the limits that the judge is held to.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { canonicalJson } from '../core/json.js';
import type { Io } from '../core/types.js';
import { calibrationText } from '../report/calibration/text.js';
import { trustLine, trustOf } from '../report/trust.js';
import { type ReadCalibration, readCalibration } from '../results/calibration/reading.js';
import { DEFAULT_DB } from '../results/databases.js';
import { policyHash, writeText } from '../results/output.js';
import { madeWith, verdictsOf } from '../run/made-with.js';
import { EXPLAIN, type OptionTable, type Settings } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';
import { toolVersion } from '../settings/version.js';
import type { CalibrationDocument } from '../stats/calibration/document.js';
import { type JudgeLimits, judgeVerdict, limitResults, limitsDocument } from '../stats/calibration/limits.js';
import { notesOn } from '../stats/calibration/notes.js';
import { openStore } from '../store/store.js';
import { calibrationPage } from '../view/calibration/page.js';

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
  const calibration = calibrationDocument(read, shownPath(source, io), settings);
  const document = { ...calibration, run };
  const db = resolve(io.cwd, settings.db);
  const { id, replaced } = saveCalibration(db, read, document);
  const { html, explain } = settings;
  if (html !== undefined)
    await writeText(html, calibrationPage(calibration, `awb ${toolVersion()}`, policyHash), '--html', io);
  if (settings.json) {
    io.stdout.write(`${JSON.stringify(document)}\n`);
  } else {
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY, explain };
    const stored = `stored: ${shownPath(db, io)} (SQLite; calibration ${id}${replaced ? ', replaced' : ''})`;
    const page = html === undefined ? [] : [`page: ${shownPath(resolve(io.cwd, html), io)}`];
    io.stdout.write(`${calibrationText(calibration, look)}\n${[stored, ...page].join('\n')}\n`);
  }
  return calibration.limits?.exit_code ?? EXIT.done;
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

/** @param source calibration.jsonl as people are shown it */
export function calibrationDocument(
  { manifest, calibration }: Pick<ReadCalibration, 'manifest' | 'calibration'>,
  source: string,
  limits: JudgeLimits,
): CalibrationDocument {
  const made = madeWith(manifest);
  const fingerprint = made.rubricFingerprint === undefined ? '' : ` (${made.rubricFingerprint.slice(0, 12)})`;
  const trust = trustOf(calibration);
  return {
    schema: 'awb.calibrate/1',
    judge_model: made.judgeName ?? 'a judge that is not recorded',
    rubric_pack: made.rubricPack === undefined ? '' : `${made.rubricPack}${fingerprint}`,
    verdicts: verdictsOf(made) ?? '',
    sampling: fieldsText({ ...made.method, ...made.sampling }),
    source,
    verdict: judgeVerdict(calibration),
    trust: { line: trustLine(trust), ...trust },
    limits: limitsDocument(limitResults(calibration, limits)),
    ...calibration,
    notes: [...notesOn(calibration), ...manifest.notices],
  };
}

/** `temperature 0.6, top_p 0.95`. */
function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : canonicalJson(value)}`)
    .join(', ');
}

/**
 * Stores a calibration, over what the same one was before.
 * @param db absolute path of the SQLite file, which is made where it is not there
 * @throws UserError: 74 and 65 for the file, 65 for a manifest that names no judge.
 */
export function saveCalibration(
  db: string,
  { source, manifest }: Pick<ReadCalibration, 'source' | 'manifest'>,
  document: CalibrationDocument,
): { readonly id: number; readonly replaced: boolean } {
  const made = madeWith(manifest);
  const { judge, judgeKey, rubricFingerprint } = made;
  const { startedAt, endedAt } = manifest;
  if (judge === undefined || judgeKey === undefined) {
    throw new UserError(
      `the manifest of ${source} names no judge; the same awb calibrate command with --fresh makes both anew`,
      EXIT.badData,
    );
  }
  const store = openStore(db);
  try {
    return store.saveCalibration({
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
      document,
    });
  } finally {
    store.close();
  }
}
