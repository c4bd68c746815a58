// `awb judge`: an LLM judge (or text metrics) rates every prediction; the ratings go to judged.jsonl.

import { dirname, join, resolve } from 'node:path';
import { openDataset } from '../benchmark/dataset.js';
import { predictionsFileOf } from '../benchmark/judged-path.js';
import { openPredictions } from '../benchmark/predictions.js';
import { withIds } from '../benchmark/selection.js';
import { badData, type ExitCode, present } from '../core/errors.js';
import { FINAL_FAILURES } from '../core/judgement.js';
import { counted, shellLine, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { judgementState } from '../judge/asking.js';
import { chooseFile, type Judging, judgeIdentity, judgeStage, recheck } from '../judge/judging.js';
import type { Mode } from '../judge/mode.js';
import { MODES } from '../judge/modes.js';
import { asSeen, JUDGE_OPTIONS, type JudgeSettings, openJudging, requireJudge, withBeside } from '../judge/opening.js';
import { noting } from '../results/output.js';
import { asksByFilesAlone } from '../run/batch/options.js';
import { billOrAsk, withRun } from '../run/command.js';
import { type Counts, changeSince, type Manifest, readManifest } from '../run/manifest.js';
import { printStageResult } from '../run/summary.js';
import { namesTarget, openPricing, openTarget, targetAt } from '../run/target.js';
import { defineCommand, programName, type ShownSettings } from '../settings/command.js';

export const command = defineCommand({
  description:
    'Rates every prediction against its ground truth and writes judged.jsonl. The same command continues an interrupted run; rows whose prediction has changed are judged again.',
  examples: {
    'awb judge results/step-100 \\\n  --judge-base-url https://api.openai.com/v1 --judge-model gpt-5.2':
      'the bundled rubric',
    'awb judge … --rubrics official': "the paper's judge: its prompts (fetched at a fixed commit) and its parser",
    'awb judge … --batch-dir batch': 'through batch files, at half the price; see docs/batch.md',
    'awb judge … --dry-run': 'a cost estimate; nothing is asked or written',
    'awb judge results/step-100 --mode metrics': 'text metrics, no judge needed',
    'awb judge … --mode reference --reference base/predictions.jsonl':
      "how often the prediction is nearer to the truth than another file's",
    'awb judge … --ids KEY --output-dir again': 'judge a row again, in a separate folder',
    'awb judge … --mode turing': 'how often the prediction passes as the real observation',
    'awb judge … --mode decision': 'how often an agent acts the same after prediction and truth',
  },
  daily:
    'output-dir fresh mode judge-base-url judge-model judge-api-key rubrics judge-repeats recheck dry-run budget-usd batch-dir',
  options: JUDGE_OPTIONS,
  operands: ['predictions'],
  alsoNeeds: (settings) => {
    const { asksJudge, beside }: Mode = MODES[settings.mode];
    return [
      ...(asksJudge && !namesTarget(settings) && !asksByFilesAlone(settings) ? (['judge-base-url'] as const) : []),
      ...(asksJudge && !namesTarget(settings) ? (['judge-model'] as const) : []),
      ...(beside === 'prediction' && settings.reference === undefined ? (['reference'] as const) : []),
    ];
  },
  run: runJudge,
});

async function runJudge(settings: JudgeSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  const mode: Mode = MODES[settings.mode];
  requireJudge(mode, settings);
  const path = predictionsFileOf(settings.predictions, io);
  const rival = settings.reference === undefined ? undefined : predictionsFileOf(settings.reference, io);
  const method = await openJudging(mode, settings, rival, io);
  const opened: { close(): Promise<unknown> }[] = [];
  const keep = <T extends { close(): Promise<unknown> }>(one: T): T => {
    opened.unshift(one);
    return one;
  };
  try {
    const { dataDir, outputDir } = settings;
    const dataset = dataDir === undefined ? undefined : keep(await openDataset(resolve(io.cwd, dataDir), io.stop));
    const open = async (file: string) => asSeen(await openPredictions(file, dataset, io.stop), path, settings, io.stop);
    const predictions = keep(await withBeside(mode, method, await open(path), () => open(present(rival))));
    for (const { domain, line } of predictions.refs) {
      const refusal = method.refusal?.(domain);
      if (refusal !== undefined) throw badData(`${predictions.path}:${line}: ${refusal}`);
    }
    const beside = await readManifest(`${path.replace(/\.jsonl$/, '')}.manifest.json`);
    const change = changeSince(beside, shownPath(path, io), predictions.sha256);
    if (change !== undefined) noting(settings, io)(change);
    // The manifest of a judged file contains that of its predictions.
    const inferred = beside?.kind === 'judge' ? beside.predictions : beside;
    const dir = outputDir === undefined ? dirname(path) : resolve(io.cwd, outputDir);
    const { judgeBaseUrl: baseUrls, judgeModel: model, judgeApiKey: apiKey } = settings;
    const addresses = { prefix: 'judge', baseUrls, model, apiKey } as const;
    // A mode without a judge starts nothing.
    const target = keep(mode.asksJudge ? await openTarget(addresses, settings, io) : targetAt(addresses, io));
    const pricing = await openPricing(target, settings, io);
    const work: Judging = { settings, io, shown, predictions, inferred, mode, method, target, pricing, dir };
    return settings.recheck === undefined ? await judgeAll(work) : await recheck(work, settings.recheck, open);
  } finally {
    for (const one of opened) await one.close();
  }
}

const ALIKE = 'at temperature 0 a judge is likely to repeat itself, so --judge-repeats only adds cost';

async function judgeAll(work: Judging): Promise<ExitCode> {
  const { settings, io, mode, method, dir, predictions } = work;
  const { refs } = predictions;
  const chosen = settings.ids.length === 0 ? refs : withIds(refs, settings.ids);
  const identity = (stored: Manifest | undefined) => judgeIdentity(work, stored);
  const { name, why, replaces } = await chooseFile(dir, identity, {
    label: settings.label,
    judge: mode.asksJudge ? `${work.target.model}-${method.name}` : method.name,
  });
  const fresh = settings.fresh || replaces;
  // Shown before judgements meant for the other file are paid for.
  if (why !== undefined && !settings.dryRun) noting(settings, io)(why);
  const { dryRun } = settings;
  const { pricing } = work;
  return withRun({ kind: 'judge', dir, name, fresh, dryRun, identity, stateOf: judgementState, pricing }, (run) => {
    if (why !== undefined) run.notices.push(why);
    run.notices.push(...(predictions.notices ?? []));
    if (settings.judgeRepeats > 1 && settings.temperature === 0) run.notices.push(ALIKE);
    return billOrAsk(judgeStage(work, run, refs, settings.judgeRepeats, chosen), (result) => {
      printStageResult(io, settings, result, {
        noun: mode.noun,
        remark: remarkOnRepeats(result.manifest),
        absent: 'without a prediction',
        final: FINAL_FAILURES,
        next: scoring(result.manifest.counts, shownPath(join(dir, `${name}.jsonl`), io), programName(io)),
      });
      return result.exitCode;
    });
  });
}

/** A remark if the counts, which are of judgements, differ from the number of predictions. */
function remarkOnRepeats({ chosen, counts }: Manifest): string | undefined {
  const predictions = Object.values(chosen).reduce((sum, count) => sum + count, 0);
  return counts.chosen > predictions ? `these are judgements of ${counted(predictions, 'prediction')}` : undefined;
}

/** What to do with the judged file, and before that how to fill its gaps. */
function scoring({ absent, failures }: Counts, judged: string, program: string): string {
  const unpredicted = absent + (failures.prediction ?? 0) + (failures['context-overflow'] ?? 0);
  const lacking = counted(unpredicted, 'row lacks', 'rows lack');
  const first = unpredicted > 0 ? `repeat awb infer (${lacking} a prediction), then this command; or ` : '';
  return `${first}${program} ${shellLine(['score', '--predictions', judged])}`;
}
