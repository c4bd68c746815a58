// `awb judge`: every prediction is rated by an LLM judge (or by text metrics); the ratings go into judged.jsonl.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openDataset } from '../bench/dataset.js';
import { openPredictions } from '../bench/predictions.js';
import { loadRubricPack } from '../bench/rubric-pack.js';
import type { ExitCode } from '../errors.js';
import { fingerprintOf, type Identity, type Manifest, readManifest } from '../run/manifest.js';
import { DOMAINS, type Io } from '../types.js';
import {
  JUDGE_OPTIONS,
  type JudgeSettings,
  type Judging,
  jobsOf,
  judgeIdentity,
  judgeRows,
  summarise,
} from './judging.js';
import { recheck } from './recheck.js';
import { defineCommand, type ShownSettings } from './settings.js';
import { openRun } from './stage.js';
import { printStageResult } from './summary.js';

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
  options: JUDGE_OPTIONS,
  alsoNeeds: (settings) => (settings.mode === 'rubric' ? ['judge-base-url', 'judge-model'] : []),
  run: judge,
});

async function judge(settings: JudgeSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  const pack = settings.mode === 'rubric' ? await loadRubricPack(inCwd(io, settings.rubrics)) : undefined;
  const domains = pack?.domains ?? DOMAINS;
  const dataset =
    settings.dataDir === undefined ? undefined : await openDataset(resolve(io.cwd, settings.dataDir), domains);
  try {
    const path = resolve(io.cwd, settings.predictions);
    const predictions = await openPredictions(path, domains, dataset);
    try {
      const inferred = await manifestBeside(path);
      const dir = resolve(io.cwd, settings.outputDir);
      const work: Judging = { settings, io, shown, predictions, inferred, pack, dir };
      return settings.recheck === undefined ? await judgeAll(work) : await recheck(work, settings.recheck);
    } finally {
      await predictions.close();
    }
  } finally {
    await dataset?.close();
  }
}

async function judgeAll(work: Judging): Promise<ExitCode> {
  const { settings, io } = work;
  const identity = (stored: Manifest | undefined) => judgeIdentity(work, stored);
  const name = await chooseName(work.dir, identity, work);
  const run = await openRun({ kind: 'judge', dir: work.dir, name, fresh: settings.fresh, identity, summarise });
  try {
    const result = await judgeRows(work, run, jobsOf(work.predictions.refs));
    printStageResult(io, settings, result, {
      noun: settings.mode === 'rubric' ? 'judgements' : 'measurements',
      absent: 'without prediction',
      next: `awb score --predictions ${join(settings.outputDir, `${name}.jsonl`)}`,
    });
    return result.exitCode;
  } finally {
    await run.close();
  }
}

function inCwd(io: Io, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(io.cwd, path);
}

async function manifestBeside(predictionsPath: string): Promise<Manifest | undefined> {
  const manifest = await readManifest(predictionsPath.replace(/\.jsonl$/, '.manifest.json'));
  return manifest?.kind === 'infer' ? manifest : undefined;
}

/**
 * The file that this judging belongs to: the one in the folder with the same identity; `judged` where the folder has none; else one
 * named by --label, or after judge and rubric pack.
 */
async function chooseName(
  dir: string,
  identity: (stored: Manifest | undefined) => Identity,
  work: Judging,
): Promise<string> {
  const { settings, pack } = work;
  if (settings.label !== undefined && existsSync(join(dir, `judged.${slug(settings.label)}.manifest.json`))) {
    return `judged.${slug(settings.label)}`;
  }
  for (const name of await judgingsIn(dir)) {
    const stored = await readManifest(join(dir, `${name}.manifest.json`));
    if (stored?.kind === 'judge' && fingerprintOf(identity(stored)) === fingerprintOf(stored.identity)) return name;
  }
  if (!existsSync(join(dir, 'judged.jsonl')) && !existsSync(join(dir, 'judged.manifest.json'))) return 'judged';
  if (settings.label !== undefined) return `judged.${slug(settings.label)}`;
  const about = pack === undefined ? settings.mode : `${settings.judgeModel}-${pack.name}`;
  return `judged.${slug(about)}-${fingerprintOf(identity(undefined)).slice(0, 6)}`;
}

async function judgingsIn(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  return names
    .filter((name) => /^judged(\..*)?\.manifest\.json$/.test(name) && !name.includes('.recheck-'))
    .map((name) => name.slice(0, -'.manifest.json'.length))
    .sort();
}

function slug(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || 'judging';
}
