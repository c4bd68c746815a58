// awb calibrate: a judge rates predictions of known quality, which shows what it sees, how noisy it is and what deceives it. The result goes
// to a table, a page and the SQLite file, and is checked against limits.

import { resolve } from 'node:path';
import { badData, EXIT, type ExitCode } from '../core/errors.js';
import { canonicalJson } from '../core/json.js';
import { FINAL_FAILURES } from '../core/judgement.js';
import { counted, shownPath } from '../core/printable.js';
import { lookOf } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { withData } from '../infer/chosen-rows.js';
import { calibrationState } from '../judge/asking.js';
import {
  CALIBRATE_OPTIONS,
  type Calibrating,
  calibrationIdentity,
  calibrationStage,
} from '../judge/calibrate/calibrating.js';
import { openMadePredictions, planLine, planOf, takesCall } from '../judge/calibrate/plan.js';
import { chosenVariants } from '../judge/calibrate/variants.js';
import { MODES } from '../judge/modes.js';
import { openMode } from '../judge/opening.js';
import { calibrationText } from '../report/calibration.js';
import { trustOf, trustText } from '../report/trust.js';
import { DEFAULT_DB } from '../results/databases.js';
import { OPEN, pageLink, requirePageName, writeText } from '../results/output.js';
import { type ReadCalibration, readCalibration } from '../results/read-run.js';
import { asksByFilesAlone, requireBatchFlags } from '../run/batch/options.js';
import { showBill } from '../run/bill-text.js';
import { billOrAsk, runOptions, withRun, withTarget } from '../run/command.js';
import { madeWith, verdictsOf } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import type { StageResult } from '../run/stage.js';
import { printStageResult, stageDocument } from '../run/summary.js';
import { namesTarget } from '../run/target.js';
import {
  defineCommand,
  EXPLAIN,
  type OptionTable,
  option,
  programName,
  type Settings,
  type ShownSettings,
  toolVersion,
  under,
} from '../settings/command.js';
import type { CalibrationDocument } from '../stats/calibration/document.js';
import { type JudgeLimits, judgeVerdict, limitResults, limitsDocument, notesOn } from '../stats/calibration/limits.js';
import { openStore, withStore } from '../store/store.js';
import { resultPage, shownCalibration } from '../view/result-documents.js';

const OPTIONS = {
  ...CALIBRATE_OPTIONS,
  ...under('Output', {
    db: option.text('FILE', 'SQLite file for the result, shown with runs of this judge', { default: DEFAULT_DB }),
    html: option.text('FILE', 'write the result as a page, with dose curves'),
    open: OPEN,
  }),
  ...EXPLAIN,
  ...under('Limits', {
    'min-ceiling': option.number(
      'minimum score of neutral rewrites of the truth (all limits: exit 4 if broken, 5 if undecided)',
      { min: 0, max: 100 },
    ),
    'max-noise': option.number('maximum SD of judgements of one prediction, in points', { min: 0 }),
    'max-blind': option.integer('maximum number of corruptions that the judge may miss', { min: 0 }),
    'max-attack-gain': option.number('maximum points that an attack may gain'),
  }),
} as const satisfies OptionTable;

type CalibrateSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Has a judge rate predictions of known quality, made from benchmark rows: the truth, neutral rewrites of it, corruptions of increasing dose, and attacks on the judge. It reports what the judge sees, how noisy it is and what deceives it. The same command continues an interrupted calibration.',
  examples: {
    'awb calibrate --data-dir data --output-dir calibration \\\n  --judge-base-url https://api.openai.com/v1 --judge-model gpt-5.2':
      'a cost estimate, then at most 3,000 calls',
    'awb calibrate … --dry-run': 'only the cost estimate; nothing is asked or written',
    'awb calibrate … --min-ceiling 90 --max-blind 2 --max-attack-gain 2':
      'a gate for judges: exit 0, 4, or 5 if undecided',
    'awb calibrate … --html judge.html': 'a page with dose curves',
  },
  daily:
    'data-dir output-dir max-calls judge-base-url judge-model judge-api-key rubrics dry-run budget-usd db html min-ceiling max-noise max-blind max-attack-gain',
  options: OPTIONS,
  alsoNeeds: (settings) => {
    if (namesTarget(settings)) return [];
    return asksByFilesAlone(settings) ? ['judge-model'] : ['judge-base-url', 'judge-model'];
  },
  run: runCalibrate,
});

async function runCalibrate(settings: CalibrateSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  requirePageName(settings.html, '--html', settings);
  requireBatchFlags(settings);
  const variants = chosenVariants(settings);
  const method = await openMode(MODES.rubric, settings, io);
  const { sampleSeed: seed, maxCalls, judgeRepeats, trajectories = Number.POSITIVE_INFINITY } = settings;
  return withData(settings, io, async ({ dataset, chosen, shard }) => {
    const predictions = openMadePredictions(dataset, seed);
    const choice = { seed, variants, maxCalls, judgeRepeats, trajectories };
    const jobs = await planOf(dataset.rows, chosen, predictions, choice);
    const { judgeBaseUrl: baseUrls, judgeModel: model, judgeApiKey: apiKey } = settings;
    return withTarget({ prefix: 'judge', baseUrls, model, apiKey }, settings, io, (asked) => {
      const work = { settings, io, shown, shard, dataset, predictions, jobs, method, ...asked };
      const identity = (stored: Manifest | undefined) => calibrationIdentity(work, stored);
      const kind = { kind: 'calibrate', name: 'calibration', stateOf: calibrationState } as const;
      return withRun({ ...runOptions(settings, io), ...kind, identity, pricing: asked.pricing }, async (run) => {
        const stage = calibrationStage(work, run);
        if (!settings.dryRun) {
          if (!settings.quiet) io.stderr.write(`${planLine(jobs)}\n\n`);
          await showBill(stage);
        }
        return billOrAsk(stage, (result) => tell(work, run.outputPath, result));
      });
    });
  });
}

/**
 * Reports the result of the judgements in calibration.jsonl: as text or JSON, as a page, and in the SQLite file.
 * @param source absolute path of calibration.jsonl, with its manifest next to it
 * @returns the run's exit code, or 4 or 5 if a limit is broken or undecided
 * @throws UserError: what reading it throws, 74 if the page or the SQLite file cannot be written
 */
async function tell(
  { settings, io, jobs }: Calibrating & { readonly settings: CalibrateSettings },
  source: string,
  result: StageResult,
): Promise<ExitCode> {
  const isWhole = result.exitCode === EXIT.done || result.exitCode === EXIT.incomplete;
  const empty = jobs.filter((job) => !takesCall(job)).length;
  const isTold = isWhole && result.manifest.counts.ok > empty;
  try {
    if (!isTold) return result.exitCode;
    const { html, json } = settings;
    const read = await readCalibration(source, io.stop);
    const calibration = calibrationDocument(read, shownPath(source, io), settings);
    const document = { ...calibration, run: stageDocument(result, settings) };
    const db = resolve(io.cwd, settings.db);
    const { id, replaced } = saveCalibration(db, read, document);
    if (html !== undefined) {
      const title = `${calibration.judge_model}: calibration`;
      const page = resultPage(title, 'calibration/judge', shownCalibration(calibration));
      await writeText(html, await page, '--html', io);
    }
    const link = html && (await pageLink(html, settings, io));
    if (json) io.stdout.write(`${JSON.stringify(document)}\n`);
    else {
      const look = lookOf(settings, io);
      const stored = `stored: ${shownPath(db, io)} (SQLite; calibration ${id}${replaced ? ', replaced' : ''})\n`;
      const page = link === undefined ? '' : `page: ${link}\n`;
      io.stdout.write(`${calibrationText(calibration, look)}\n${stored}${page}\n`);
    }
    const { exit_code: verdict = EXIT.done } = calibration.limits ?? {};
    return verdict === EXIT.done ? result.exitCode : verdict;
  } finally {
    if (!settings.json || !isTold) {
      printStageResult(io, settings, result, {
        noun: 'judgements',
        remark: empty === 0 ? undefined : `including ${counted(empty, 'empty prediction')}, rated 1 without a call`,
        absent: 'left out',
        final: FINAL_FAILURES,
        next: `${programName(io)} judge with the same judge flags as this command, since different flags make it a different judge`,
      });
    }
  }
}

/** @param source path of calibration.jsonl as shown to people */
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
    sampling: Object.entries({ ...made.method, ...made.sampling })
      .map(([name, value]) => `${name} ${typeof value === 'string' ? value : canonicalJson(value)}`)
      .join(', '),
    source,
    verdict: judgeVerdict(calibration),
    trust: { line: trustText(trust), ...trust },
    limits: limitsDocument(limitResults(calibration, limits)),
    ...calibration,
    notes: [...notesOn(calibration), ...manifest.notices],
  };
}

/**
 * Stores a calibration, replacing its earlier state.
 * @param db absolute path of the SQLite file, created if missing
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
    throw badData(`the manifest of ${source} names no judge; awb calibrate with --fresh recreates both`);
  }
  return withStore(db, openStore, (store) =>
    store.saveCalibration({
      // Continuing does not change these fields; the snapshot is only known after asking. Keys and their order are in stored files.
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
    }),
  );
}
