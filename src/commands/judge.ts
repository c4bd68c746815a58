// `awb judge`: every prediction is rated by an LLM judge (or by text metrics); the ratings go into judged.jsonl.

import { join, resolve } from 'node:path';
import { chooseFile } from '../asking/judged-files.js';
import {
  FINAL_FAILURES,
  JUDGE_OPTIONS,
  type JudgeSettings,
  type Judging,
  jobsOf,
  judgeIdentity,
  judgeRows,
  summarise,
  VERDICT_FORMAT,
} from '../asking/judging.js';
import { recheck } from '../asking/recheck.js';
import { openRun } from '../asking/run.js';
import { printStageResult } from '../asking/summary.js';
import { openTarget, type Target } from '../asking/target.js';
import { openDataset } from '../bench/dataset.js';
import { openPredictions, type PredictionFile } from '../bench/predictions.js';
import { loadRubricPack } from '../bench/rubric-pack.js';
import { EXIT, type ExitCode, UserError } from '../errors.js';
import { printable } from '../printable.js';
import type { RubricPack } from '../rubric.js';
import type { Counts, Manifest } from '../run/manifest.js';
import { changeSince, readManifest } from '../run/manifest-file.js';
import { defineCommand, type ShownSettings } from '../settings/command.js';
import { programName } from '../settings/program-name.js';
import { shellLine } from '../shell.js';
import type { Io } from '../types.js';

export const command = defineCommand({
  description:
    'Rates every prediction against its ground truth and writes judged.jsonl. The same command continues an interrupted run; rows whose prediction has changed are judged again.',
  examples: [
    {
      line: 'awb judge --predictions results/predictions.jsonl --output-dir results \\\n  --judge-base-url https://api.openai.com/v1 --judge-model gpt-5.2',
      does: 'the bundled rubric',
    },
    {
      line: 'awb judge … --rubrics ~/Qwen-AgentWorld --verdicts official',
      does: "the official judge's prompts and reading, out of a checkout",
    },
    { line: 'awb judge --predictions results/predictions.jsonl --mode metrics', does: 'text metrics, no judge needed' },
  ],
  daily: [
    'output-dir',
    'label',
    'fresh',
    'mode',
    'judge-base-url',
    'judge-model',
    'judge-api-key',
    'rubrics',
    'verdicts',
    'recheck',
    'local',
    'concurrency',
  ],
  options: JUDGE_OPTIONS,
  alsoNeeds: (settings) =>
    settings.mode === 'rubric' && settings.local === undefined ? ['judge-base-url', 'judge-model'] : [],
  run: judge,
});

async function judge(settings: JudgeSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  const pack = settings.mode === 'rubric' ? await loadRubricPack(inCwd(io, settings.rubrics)) : undefined;
  const dataDir = inCwd(io, settings.dataDir);
  const dataset = dataDir === undefined ? undefined : await openDataset(dataDir, io.stop);
  try {
    const path = resolve(io.cwd, settings.predictions);
    const open = (file: string) => openPredictions(file, dataset, io.stop);
    const predictions = await open(path);
    try {
      if (pack !== undefined) requirePrompts(pack, predictions);
      const beside = await readManifest(`${path.replace(/\.jsonl$/, '')}.manifest.json`);
      const change = changeSince(beside, settings.predictions, predictions.sha256);
      if (change !== undefined && !settings.quiet) io.stderr.write(`note: ${printable(change)}\n`);
      // A judged file carries the manifest of its predictions in its own.
      const inferred = beside?.kind === 'judge' ? beside.predictions : beside;
      const dir = resolve(io.cwd, settings.outputDir);
      const target = await openJudge(settings, pack, io);
      try {
        const work: Judging = { settings, io, shown, predictions, inferred, pack, target, dir };
        return settings.recheck === undefined ? await judgeAll(work) : await recheck(work, settings.recheck, open);
      } finally {
        await target.close();
      }
    } finally {
      await predictions.close();
    }
  } finally {
    await dataset?.close();
  }
}

/** A judge served here is held to our verdict's shape; the official rubrics ask for text around it. */
async function openJudge(settings: JudgeSettings, pack: RubricPack | undefined, io: Io): Promise<Target> {
  const { judgeBaseUrl: baseUrls, judgeModel: model, judgeApiKey: apiKey } = settings;
  const local = pack === undefined ? undefined : settings.local;
  const target = await openTarget('judge', { baseUrls, model, apiKey, local }, settings, io);
  return local === undefined || pack?.official ? target : { ...target, responseFormat: VERDICT_FORMAT };
}

async function judgeAll(work: Judging): Promise<ExitCode> {
  const { settings, io, pack, dir } = work;
  const identity = (stored: Manifest | undefined) => judgeIdentity(work, stored);
  const { name, why, replaces } = await chooseFile(dir, identity, {
    label: settings.label,
    fresh: settings.fresh,
    judge: pack === undefined ? settings.mode : `${work.target.model}-${pack.name}`,
  });
  const fresh = settings.fresh || replaces;
  const run = await openRun({ kind: 'judge', dir, name, fresh, identity, summarise });
  try {
    if (why !== undefined) run.notices.push(why);
    const result = await judgeRows(work, run, jobsOf(work.predictions.refs));
    printStageResult(io, settings, result, {
      noun: settings.mode === 'rubric' ? 'judgements' : 'measurements',
      absent: 'without prediction',
      final: FINAL_FAILURES,
      next: nextStep(result.manifest.counts, join(settings.outputDir, `${name}.jsonl`), programName(io)),
    });
    return result.exitCode;
  } finally {
    await run.close();
  }
}

function nextStep({ absent, failures }: Counts, judged: string, program: string): string {
  const unpredicted = absent + (failures.prediction ?? 0) + (failures['context-overflow'] ?? 0);
  const mend =
    unpredicted > 0 ? `repeat awb infer (${unpredicted} rows lack a prediction) and then this command; or ` : '';
  return `${mend}${program} ${shellLine(['score', '--predictions', judged])}`;
}

function inCwd(io: Io, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(io.cwd, path);
}

/** @throws UserError (65) for a domain that the pack cannot judge, with the first line of it. */
function requirePrompts(pack: RubricPack, predictions: PredictionFile): void {
  const lacking = predictions.refs.find((ref) => pack.systemPrompt(ref.domain) === undefined);
  if (lacking === undefined) return;
  throw new UserError(
    `${predictions.path}:${lacking.line}: the rubric pack ${pack.name} has no prompt for the domain "${lacking.domain}", only for ${pack.domains.join(', ')}; add one, or name another pack with --rubrics`,
    EXIT.badData,
  );
}
