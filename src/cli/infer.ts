// `awb infer`: asks a world model for the next observation of every chosen row, unchanged or (--scenarios) under instructions.

import { join } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { counted, shellLine } from '../core/printable.js';
import { lookOf, terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { withChosenRows } from '../infer/chosen-rows.js';
import { type Inference, inferIdentity, inferStage, predictionState } from '../infer/inferring.js';
import { INFER_OPTIONS, type InferSettings } from '../infer/options.js';
import { FINAL_IN_ROLLOUTS, openPlan, remarkOnRollout, requireRolloutFlags } from '../infer/rollout/plan.js';
import { ROLLOUT_FILE, rolloutStage } from '../infer/rollout/rolling-out.js';
import { tellScenarios } from '../results/score/scenarios.js';
import { asksByFilesAlone, BATCH_OPTIONS, requireBatchFlags } from '../run/batch/options.js';
import { billOrAsk, runOptions, withRun } from '../run/command.js';
import type { Manifest } from '../run/manifest.js';
import type { StageResult } from '../run/stage.js';
import { printStageResult, stageDocument } from '../run/summary.js';
import { namesTarget } from '../run/target.js';
import { defineCommand, type OptionTable, programName, type ShownSettings } from '../settings/command.js';
import {
  instruct,
  listedSuite,
  listTable,
  SCENARIO_OPTIONS,
  type ScenarioSettings,
} from '../simulate/scenarios/running.js';
import { BUNDLED_SUITES } from '../simulate/scenarios/scenario.js';

const OPTIONS = { ...INFER_OPTIONS, ...SCENARIO_OPTIONS, ...BATCH_OPTIONS } as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Asks a world model for the next observation of every chosen row and writes predictions.jsonl. The same command continues an interrupted run.',
  examples: {
    'awb infer --data-dir data --model-base-url http://localhost:8000/v1 \\\n  --model-name my-world-model --output-dir results/step-100':
      'the whole benchmark',
    'awb infer … --batch-dir batch': 'through files for a batch engine; see docs/batch.md',
    'awb infer … --dry-run': 'a cost estimate; nothing is asked or written',
    'awb infer … --shard 1/4': 'a part of the rows; awb merge joins the parts',
    'awb infer … --sample 20 --label step-100 --meta step=100': '20 rows of each domain',
    'awb infer … --rollout --output-dir results/rollout': "whole trajectories, on top of the model's own predictions",
    'awb infer --data-dir data --baseline persistence \\\n  --output-dir results/persistence': 'no model needed',
    'awb infer … --scenarios standard': 'how the model follows instructions; no judge needed',
  },
  daily:
    'data-dir output-dir domains sample label fresh model-base-url model-name model-api-key rollout scenarios max-tokens temperature dry-run budget-usd batch-dir',
  options: OPTIONS,
  alsoNeeds: (settings) => {
    if (settings.baseline !== undefined || settings.listScenarios || namesTarget(settings)) return [];
    return asksByFilesAlone(settings) ? ['model-name'] : ['model-base-url', 'model-name'];
  },
  run: infer,
});

async function infer(settings: ScenarioSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  requireOneModel(settings);
  requireBatchFlags(settings);
  requireRolloutFlags(settings);
  const { scenarios } = settings;
  if (settings.listScenarios) return listScenarios(settings, io);
  if (scenarios !== undefined) return inferScenarios({ ...settings, scenarios }, io, shown);
  return withChosenRows(settings, io, (rows) => inferChosen({ settings, io, shown, ...rows }));
}

function inferChosen(work: Inference): Promise<ExitCode> {
  const { settings, io, chosen, pricing } = work;
  const identity = (stored: Manifest | undefined) => inferIdentity(work, stored);
  const kind = { kind: 'infer', name: 'predictions', beside: ROLLOUT_FILE, stateOf: predictionState } as const;
  return withRun({ ...runOptions(settings, io), ...kind, identity, pricing }, async (run) => {
    const plan = settings.rollout ? await openPlan(work, run) : undefined;
    const tell = (result: StageResult) => {
      const count = (plan?.rows ?? chosen).length * settings.repeats;
      const remarks = [plan && remarkOnRollout(plan), remarkOnChoice(count, result)];
      printStageResult(io, settings, result, {
        noun: 'predictions',
        remark: remarks.filter((remark) => remark !== undefined).join('\n') || undefined,
        absent: 'unusable',
        final: plan && FINAL_IN_ROLLOUTS,
        next: `${programName(io)} ${shellLine(judgeArguments(settings))}`,
      });
      return result.exitCode;
    };
    return plan === undefined ? billOrAsk(inferStage(work, run), tell) : billOrAsk(rolloutStage(work, run, plan), tell);
  });
}

async function listScenarios(settings: ScenarioSettings, io: Io): Promise<ExitCode> {
  const listed = await listedSuite(settings, settings.scenarios ?? BUNDLED_SUITES[0], io);
  io.stdout.write(settings.json ? `${JSON.stringify(listed)}\n` : terminal(listTable(listed), lookOf(settings, io)));
  return EXIT.done;
}

async function inferScenarios(
  settings: ScenarioSettings & { readonly scenarios: string },
  io: Io,
  shown: ShownSettings,
): Promise<ExitCode> {
  const instructed = await instruct(settings, io, shown);
  if (instructed === undefined) return EXIT.done;
  const { result, file, isTold } = instructed;
  if (!settings.json) {
    const next = `${programName(io)} ${shellLine(['score', '--predictions', join(settings.outputDir, 'scenarios.jsonl')])}`;
    printStageResult(io, settings, result, { noun: 'predictions', absent: 'unusable', next });
  }
  await tellScenarios(isTold ? file : undefined, stageDocument(result, settings), settings, io);
  return result.exitCode;
}

/** The command line for judging the predictions, with placeholders for the judge. */
function judgeArguments({ outputDir, dataDir, lean }: InferSettings): string[] {
  return [
    'judge',
    ...['--predictions', join(outputDir, 'predictions.jsonl'), '--judge-base-url', 'URL', '--judge-model', 'NAME'],
    ...['--output-dir', outputDir],
    ...(lean ? ['--data-dir', dataDir] : []),
  ];
}

function requireOneModel(settings: InferSettings): void {
  const isNamed = settings.modelBaseUrl.length > 0 || settings.modelName !== undefined;
  const given = [settings.baseline !== undefined, namesTarget(settings), isNamed].filter(Boolean).length;
  if (given > 1) {
    throw new UserError('give one world model: --baseline, or --local, or --model-base-url with --model-name');
  }
}

/** A remark if the folder has more rows than this command chose: rows of earlier commands are kept, and continued. */
function remarkOnChoice(chosen: number, { manifest: { counts } }: StageResult): string | undefined {
  const before = counts.chosen - counts.absent - chosen;
  if (before <= 0) return undefined;
  return `this command chose ${counted(chosen, 'row')}; ${before} more from earlier commands ${before === 1 ? 'is' : 'are'} in the same file (to get only the chosen rows, use --fresh or another --output-dir)`;
}
