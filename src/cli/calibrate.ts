// `awb calibrate`: a judge rates predictions of known quality, which tells what it sees, how noisy it is and what deceives it.

import { EXIT, type ExitCode } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { FINAL_FAILURES } from '../core/judgement.js';
import { shellLine } from '../core/shell.js';
import type { Io } from '../core/types.js';
import { withData } from '../infer/chosen-rows.js';
import {
  CALIBRATE_OPTIONS,
  type CalibrateSettings,
  type Calibrating,
  calibrationIdentity,
  calibrationStage,
} from '../judge/calibrate/calibrating.js';

import { openMadePredictions, planLines, planOf, takesCall } from '../judge/calibrate/plan.js';
import { chosenVariants } from '../judge/calibrate/variants.js';
import { MODES } from '../judge/modes.js';
import { openMode } from '../judge/opening.js';
import { calibrationState } from '../judge/records.js';
import { requirePageName } from '../results/output.js';
import { asksByFilesAlone, requireBatchFlags } from '../run/batch/options.js';
import { showBill } from '../run/bill.js';
import { billOrAsk, runOptions, withRun, withTarget } from '../run/command.js';
import type { Manifest } from '../run/manifest.js';
import type { StageResult } from '../run/stage.js';
import { printStageResult, stageDocument } from '../run/summary.js';
import { namesTarget } from '../run/target.js';
import { defineCommand, type ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { programName } from '../settings/program-name.js';
import { wordsOf } from '../settings/words.js';
import { TELLING_OPTIONS, tellCalibration } from './calibration-telling.js';

const OPTIONS = { ...CALIBRATE_OPTIONS, ...TELLING_OPTIONS } as const satisfies OptionTable;

/** What ratings depend on beside the judge. */
const WAY_OF_ASKING = [
  ...(['rubrics', 'verdicts', 'verdict-schema', 'preset', 'max-tokens', 'temperature', 'top-p', 'top-k'] as const),
  ...(['min-p', 'presence-penalty', 'reasoning-effort', 'seed', 'extra-body', 'allow-param-drop'] as const),
];

export const command = defineCommand({
  description:
    'Has a judge rate predictions of known quality, made from benchmark rows: the truth, neutral rewrites of it, damage of growing dose, and tricks. It tells what the judge sees, how noisy it is, and what deceives it. The same command continues an interrupted calibration.',
  examples: [
    {
      line: 'awb calibrate --data-dir data --output-dir calibration \\\n  --judge-base-url https://api.openai.com/v1 --judge-model gpt-5.2',
      does: 'the bill first, then at most 3,000 calls',
    },
    { line: 'awb calibrate … --dry-run', does: 'the bill alone; nothing is asked or written' },
    {
      line: 'awb calibrate … --min-ceiling 90 --max-blind 2 --max-gullible 2',
      does: 'a gate for judges: exit 0, 4, or 5 where undecided',
    },
    { line: 'awb calibrate … --html judge.html', does: 'a page with dose curves' },
  ],
  daily: [
    ...(['data-dir', 'output-dir', 'domains', 'fresh', 'max-calls', 'damages', 'canaries'] as const),
    ...(['judge-base-url', 'judge-model', 'judge-api-key', 'rubrics', 'local'] as const),
    ...(['concurrency', 'dry-run', 'budget-usd', 'batch-dir', 'db', 'html'] as const),
    ...(['min-ceiling', 'max-noise', 'max-blind', 'max-gullible'] as const),
  ],
  options: OPTIONS,
  alsoNeeds: (settings) => {
    if (namesTarget(settings)) return [];
    return asksByFilesAlone(settings) ? ['judge-model'] : ['judge-base-url', 'judge-model'];
  },
  run: calibrate,
});

async function calibrate(settings: Settings<typeof OPTIONS>, io: Io, shown: ShownSettings): Promise<ExitCode> {
  requirePageName(settings.html, '--html');
  requireBatchFlags(settings);
  const variants = chosenVariants(settings);
  const method = await openMode(MODES.rubric, settings, io);
  const { sampleSeed: seed, maxCalls, judgeRepeats, trajectories = Number.POSITIVE_INFINITY } = settings;
  return withData(settings, io, async ({ dataset, chosen, shard }) => {
    const predictions = openMadePredictions(dataset, seed);
    const choice = { seed, variants, maxCalls, judgeRepeats, trajectories };
    const jobs = await planOf(dataset.rows, chosen, predictions, choice);
    const { judgeBaseUrl: baseUrls, judgeModel: model, judgeApiKey: apiKey } = settings;
    return withTarget({ prefix: 'judge', baseUrls, model, apiKey }, settings, io, (asked) =>
      calibrateJudge({ settings, io, shown, shard, dataset, predictions, jobs, method, ...asked }),
    );
  });
}

function calibrateJudge(work: Calibrating & { readonly settings: Settings<typeof OPTIONS> }): Promise<ExitCode> {
  const { settings, io, pricing, jobs } = work;
  const identity = (stored: Manifest | undefined) => calibrationIdentity(work, stored);
  return withRun(
    {
      ...runOptions(settings, io),
      kind: 'calibrate',
      name: 'calibration',
      identity,
      stateOf: calibrationState,
      pricing,
    },
    async (run) => {
      const stage = calibrationStage(work, run);
      if (!settings.dryRun) {
        if (!settings.quiet) io.stderr.write(`${planLines(jobs).join('\n')}\n\n`);
        await showBill(stage);
      }
      return billOrAsk(stage, (result) => tell(work, run.outputPath, result));
    },
  );
}

async function tell(
  { settings, io, shown, jobs }: Calibrating & { readonly settings: Settings<typeof OPTIONS> },
  file: string,
  result: StageResult,
): Promise<ExitCode> {
  const isWhole = result.exitCode === EXIT.done || result.exitCode === EXIT.incomplete;
  const empty = jobs.filter((job) => !takesCall(job)).length;
  const isTold = isWhole && result.manifest.counts.ok > empty;
  try {
    if (!isTold) return result.exitCode;
    const verdict = await tellCalibration(file, settings, stageDocument(result, settings), io);
    if (!settings.json) io.stdout.write('\n');
    return verdict === EXIT.done ? result.exitCode : verdict;
  } finally {
    if (!settings.json || !isTold) {
      printStageResult(io, settings, result, {
        noun: 'judgements',
        remark: empty === 0 ? undefined : `of them ${counted(empty, 'empty prediction')}, rated 1 without a call`,
        absent: 'left out',
        final: FINAL_FAILURES,
        next: nextStep(settings, shown, io),
      });
    }
  }
}

/** How to have predictions judged by the judge that was calibrated: asked in another way it would be another one. */
function nextStep({ judgeBaseUrl, judgeModel, local }: CalibrateSettings, shown: ShownSettings, io: Io): string {
  const judge =
    local === undefined
      ? [...judgeBaseUrl.flatMap((url) => ['--judge-base-url', url]), '--judge-model', judgeModel ?? 'NAME']
      : ['--local', local];
  const way = wordsOf(Object.fromEntries(WAY_OF_ASKING.map((name) => [name, OPTIONS[name]])), shown);
  return `${programName(io)} ${shellLine(['judge', '--predictions', 'results/predictions.jsonl', ...judge, ...way])}`;
}
