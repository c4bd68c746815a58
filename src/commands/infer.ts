// `awb infer`: every chosen row of the benchmark is put to a world model; its answers go into predictions.jsonl.

import { join, resolve } from 'node:path';
import { openInstrument } from '../asking/instrument.js';
import { ASKING_OPTIONS } from '../asking/options.js';
import { samplingIdentity } from '../asking/sampling.js';
import { openRun, type RowSummary, type Run, runStage, type StageJob, type StageResult } from '../asking/stage.js';
import { printStageResult } from '../asking/summary.js';
import { openTarget, type Target } from '../asking/target.js';
import { type BadRow, type Dataset, openDataset, type RowRef } from '../bench/dataset.js';
import { withMembers } from '../bench/row-text.js';
import { loadWorldModelPrompts, type WorldModelPrompts } from '../bench/rubric-pack.js';
import { type Choice, chooseRows, ORDERS } from '../bench/selection.js';
import { EXIT, type ExitCode, nearest, UserError } from '../errors.js';
import { BASELINES, donorsOf } from '../infer/baselines.js';
import { buildMessages, PROTOCOLS } from '../infer/messages.js';
import { flagsOf } from '../infer/observation.js';
import { keysOf } from '../keys.js';
import { printable } from '../printable.js';
import { type JournalRecord, recordId } from '../run/journal.js';
import type { Identity, Manifest } from '../run/manifest.js';
import { programName } from '../settings/program-name.js';
import { defineCommand, httpUrl, type OptionTable, type Settings, type ShownSettings } from '../settings/settings.js';
import { shellLine } from '../shell.js';
import {
  DOMAINS,
  type Flag,
  type Io,
  type ModelFailure,
  type ModelReply,
  type PredictionRecord,
  type Usage,
} from '../types.js';

const OPTIONS = {
  'data-dir': { kind: 'text', value: 'DIR', required: true, group: 'Data', help: 'folder of *_test.jsonl files' },
  'output-dir': { kind: 'text', value: 'DIR', default: './results', group: 'Data', help: "the run's folder" },
  domains: { kind: 'list', value: 'LIST', group: 'Data', help: `only these of ${DOMAINS.join(', ')}` },
  limit: { kind: 'integer', min: 1, group: 'Data', help: 'only the first N rows of each domain' },
  sample: { kind: 'integer', min: 1, group: 'Data', help: 'N rows of each domain, the same for the same seed' },
  'sample-seed': { kind: 'integer', min: 0, default: 0, group: 'Data', help: 'seed of --sample and --order random' },
  ids: { kind: 'list', value: 'LIST', group: 'Data', help: 'only rows with these ids or keys' },
  shard: {
    kind: 'text',
    value: 'I/N',
    group: 'Data',
    check: shardForm,
    help: 'part I of N; whole trajectories stay together',
  },
  'skip-invalid': { kind: 'boolean', group: 'Data', help: 'leave unusable rows out, counted against coverage' },
  lean: { kind: 'boolean', group: 'Data', help: 'leave the trajectory text out of predictions.jsonl' },
  fresh: { kind: 'boolean', group: 'Data', help: 'start over; the old files are kept aside' },
  label: { kind: 'text', value: 'NAME', group: 'Data', help: "the checkpoint's name in manifest, database and tables" },
  meta: { kind: 'map', value: 'K=V', group: 'Data', help: 'further facts on the checkpoint, such as step=100' },
  'model-base-url': {
    kind: 'list',
    value: 'URL',
    group: 'Model',
    check: httpUrl,
    help: 'OpenAI-compatible endpoint; several share the rows',
  },
  'model-name': { kind: 'text', value: 'NAME', group: 'Model', help: 'model to ask for' },
  'model-api-key': { kind: 'text', value: 'KEY', secret: true, group: 'Model', help: 'key, sent as bearer token' },
  baseline: {
    kind: 'choice',
    choices: keysOf(BASELINES),
    group: 'Model',
    help: 'a world model that needs no model, for calibration',
  },
  protocol: {
    kind: 'choice',
    choices: keysOf(PROTOCOLS),
    default: 'history',
    group: 'Model',
    help: 'message layout; history is the official one',
  },
  'system-prompt': {
    kind: 'choice',
    choices: ['row', 'bundled'],
    default: 'row',
    group: 'Model',
    help: "the row's own system prompt, or the bundled one of its domain",
  },
  repeats: { kind: 'integer', min: 1, max: 1000, default: 1, group: 'Model', help: 'ask every row K times' },
  order: {
    kind: 'choice',
    choices: keysOf(ORDERS),
    default: 'prefix',
    group: 'Speed',
    help: 'prefix: turns of a trajectory together, so that prefix caches hit',
  },
  ...ASKING_OPTIONS,
} as const satisfies OptionTable;

type InferSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Puts every chosen row of the benchmark to a world model and writes predictions.jsonl. The same command continues an interrupted run.',
  examples: [
    {
      line: 'awb infer --data-dir data --model-base-url http://localhost:8000/v1 \\\n  --model-name my-world-model --output-dir results/step-100',
      does: 'the whole benchmark',
    },
    { line: 'awb infer … --sample 20 --label step-100 --meta step=100', does: '20 rows of each domain' },
    {
      line: 'awb infer --data-dir data --baseline persistence \\\n  --output-dir results/persistence',
      does: 'no model needed',
    },
  ],
  daily: [
    'output-dir',
    'domains',
    'sample',
    'shard',
    'label',
    'fresh',
    'model-base-url',
    'model-name',
    'model-api-key',
    'baseline',
    'repeats',
    'local',
    'preset',
    'max-tokens',
    'temperature',
    'concurrency',
  ],
  options: OPTIONS,
  alsoNeeds: (settings) =>
    settings.baseline === undefined && settings.local === undefined ? ['model-base-url', 'model-name'] : [],
  run: infer,
});

/** One row in one of its repeats. */
interface InferJob extends StageJob {
  readonly row: RowRef;
  readonly repeat: number;
}

async function infer(settings: InferSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  requireOneModel(settings);
  const dataset = await openDataset(resolve(io.cwd, settings.dataDir), io.stop);
  try {
    requireUsable(dataset, settings, io);
    const chosen = chooseRows(dataset.rows, choiceOf(settings, dataset));
    const prompts = settings.systemPrompt === 'bundled' ? await loadWorldModelPrompts() : undefined;
    if (prompts !== undefined) requirePrompts(prompts, chosen, dataset);
    const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey, local } = settings;
    const target = await openTarget('model', { baseUrls, model, apiKey, local }, settings, io);
    try {
      return await inferChosen({ settings, io, shown, dataset, chosen, prompts, target });
    } finally {
      await target.close();
    }
  } finally {
    await dataset.close();
  }
}

async function inferChosen(work: Omit<Inference, 'run'>): Promise<ExitCode> {
  const { settings, io } = work;
  const run = await openRun({
    kind: 'infer',
    dir: resolve(io.cwd, settings.outputDir),
    name: 'predictions',
    fresh: settings.fresh,
    identity: (stored) => identityOf(work, stored),
    summarise,
  });
  try {
    const result = await inferRows({ ...work, run });
    printStageResult(io, settings, result, {
      noun: 'predictions',
      remark: remarkOnChoice(work.chosen.length * settings.repeats, result.manifest.counts.chosen, result),
      absent: 'unusable',
      next: `${programName(io)} ${shellLine(judgeArguments(settings))}`,
    });
    return result.exitCode;
  } finally {
    await run.close();
  }
}

/** How to have the predictions judged, as far as infer knows. */
function judgeArguments({ outputDir, dataDir, lean }: InferSettings): string[] {
  return [
    'judge',
    ...['--predictions', join(outputDir, 'predictions.jsonl'), '--judge-base-url', 'URL', '--judge-model', 'NAME'],
    ...['--output-dir', outputDir],
    ...(lean ? ['--data-dir', dataDir] : []),
  ];
}

interface Inference {
  readonly settings: InferSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly dataset: Dataset;
  readonly chosen: readonly RowRef[];
  readonly prompts: WorldModelPrompts | undefined;
  readonly target: Target;
  readonly run: Run;
}

async function inferRows(work: Inference): Promise<StageResult> {
  const { settings, dataset, chosen, prompts, target, run } = work;
  const jobs = jobsOf(dataset, chosen, settings.repeats, run);
  const finishedBefore = [...run.journal.entries.values()].filter((entry) => entry.summary.status === 'ok').length;
  const instrument = openInstrument(run, target, settings, finishedBefore);
  const donors = settings.baseline === 'shuffled' ? donorsOf(dataset.rows) : undefined;
  return runStage<InferJob>({
    io: work.io,
    run,
    settings,
    rows: jobs,
    order: orderJobs(jobs, chosen, settings),
    isStale: (_job, summary) => summary.stamp !== instrument.mark(),
    isDone: (_job, summary) => summary.status === 'ok',
    async settleAlone(job) {
      if (settings.baseline === undefined) return undefined;
      const donor = donors?.get(job.row);
      const gen = BASELINES[settings.baseline](
        await dataset.readSample(job.row),
        donor === undefined ? undefined : await dataset.readSample(donor),
      );
      return recordOf(job, gen, { flags: flagsOf({ content: gen }) }, {});
    },
    async openBackend(notice) {
      if (prompts !== undefined)
        notice("system prompts: the bundled ones, not the rows' own (--system-prompt bundled)");
      return instrument.open(notice);
    },
    async request(job) {
      instrument.starts(job.id);
      const sample = await dataset.readSample(job.row);
      const systemPrompt = prompts === undefined ? sample.systemPrompt : (prompts.prompt(sample.domain) as string);
      return { messages: buildMessages(sample, settings.protocol, systemPrompt), seedOffset: job.repeat };
    },
    async settle(job, outcome) {
      return instrument.accepts(job.id) ? recordOfOutcome(job, outcome, instrument.mark()) : undefined;
    },
    async compose(job, record) {
      const text = await dataset.readText(job.row);
      return withMembers(text, settings.lean ? TRAJECTORY_KEYS : NO_KEYS, record.row);
    },
    outputForm: { lean: settings.lean },
    manifest: {
      label: settings.label,
      meta: settings.meta,
      settings: work.shown,
      endpoints: target.hosts,
      data: {
        dir: resolve(work.io.cwd, settings.dataDir),
        rows: dataset.rows.length,
        fingerprint: dataset.fingerprint,
      },
    },
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  });
}

const BAD_ROWS_SHOWN = 20;
const NO_KEYS: ReadonlySet<string> = new Set();
const TRAJECTORY_KEYS: ReadonlySet<string> = new Set(['prompt', 'response', 'current_prompt', 'system_str']);

function requireOneModel(settings: InferSettings): void {
  const isNamed = settings.modelBaseUrl.length > 0 || settings.modelName !== undefined;
  const given = [settings.baseline !== undefined, settings.local !== undefined, isNamed].filter(Boolean).length;
  if (given > 1) {
    throw new UserError('give one world model: --baseline, or --local, or --model-base-url with --model-name');
  }
}

/**
 * Lists the unusable rows, before anything is asked.
 * @throws UserError (65) with that list, unless they are to be skipped and others are left.
 */
function requireUsable(dataset: Dataset, settings: InferSettings, io: Io): void {
  const { bad, rows } = dataset;
  if (bad.length === 0) return;
  const list = bad.slice(0, BAD_ROWS_SHOWN).map((row) => `  ${printable(`${row.file}:${row.line}: ${row.reason}`)}`);
  if (bad.length > list.length) list.push(`  ... and ${bad.length - list.length} more`);
  const count = `${bad.length} of ${bad.length + rows.length} rows in ${settings.dataDir}`;
  if (settings.skipInvalid && rows.length > 0) {
    if (!settings.quiet) io.stderr.write(`${count} cannot be used and are left out:\n${list.join('\n')}\n`);
    return;
  }
  const remedy =
    rows.length === 0
      ? 'No usable row is left: mend the files, or name another folder with --data-dir.'
      : 'Mend the files, or leave these rows out with --skip-invalid (they then count against coverage).';
  throw new UserError([`${count} cannot be used; nothing was asked:`, ...list, remedy].join('\n'), EXIT.badData);
}

/** @throws UserError (65) for a chosen row of a domain that has no bundled prompt. */
function requirePrompts(prompts: WorldModelPrompts, chosen: readonly RowRef[], dataset: Dataset): void {
  const lacking = chosen.find((row) => prompts.prompt(row.domain) === undefined);
  if (lacking === undefined) return;
  throw new UserError(
    `${dataset.files[lacking.file]}:${lacking.line}: there is no bundled system prompt for the domain "${lacking.domain}"; leave such rows out with --domains, or --system-prompt bundled`,
    EXIT.badData,
  );
}

function invalidByDomain(bad: readonly BadRow[], settings: InferSettings): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const row of bad) {
    const domain = row.domain ?? 'unknown';
    if (row.domain !== undefined && settings.domains.length > 0 && !settings.domains.includes(row.domain)) continue;
    counts[domain] = (counts[domain] ?? 0) + 1;
  }
  return counts;
}

function choiceOf(settings: InferSettings, dataset: Dataset): Choice {
  const known = [...new Set([...DOMAINS, ...dataset.rows.map((row) => row.domain)])];
  const unknown = settings.domains.find((domain) => !known.includes(domain));
  if (unknown !== undefined) {
    const near = nearest(unknown, known);
    const advice = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
    throw new UserError(`--domains: unknown domain "${unknown}"; ${advice}`);
  }
  const [index, of] = (settings.shard ?? '').split('/').map(Number);
  return {
    sampleSeed: settings.sampleSeed,
    ...(settings.domains.length > 0 ? { domains: settings.domains } : {}),
    ...(settings.ids.length > 0 ? { ids: settings.ids } : {}),
    ...(settings.limit === undefined ? {} : { limit: settings.limit }),
    ...(settings.sample === undefined ? {} : { sample: settings.sample }),
    ...(settings.shard === undefined ? {} : { shard: { index: index as number, of: of as number } }),
  };
}

function shardForm(text: string): string | undefined {
  const match = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(text);
  return match !== null && Number(match[1]) <= Number(match[2]) ? undefined : 'I/N with I from 1 to N, such as 1/4';
}

/** What the predictions depend on, and nothing else: addresses, keys, speed and the choice of rows may change. */
function identityOf(work: Omit<Inference, 'run'>, stored: Manifest | undefined): Identity {
  const { settings, dataset, prompts, target } = work;
  if (settings.baseline !== undefined) return { data: dataset.fingerprint, baseline: settings.baseline };
  return {
    data: dataset.fingerprint,
    model: target.identity,
    protocol: settings.protocol,
    system_prompt: prompts === undefined ? 'row' : `bundled ${prompts.fingerprint}`,
    sampling: samplingIdentity(settings, stored),
  };
}

/** Every row and repeat that is chosen now or was recorded before, in input order. */
function jobsOf(dataset: Dataset, chosen: readonly RowRef[], repeats: number, run: Run): InferJob[] {
  const wanted = new Set(chosen);
  const recorded = recordedRepeats(run);
  const jobs: InferJob[] = [];
  for (const row of dataset.rows) {
    const last = Math.max(wanted.has(row) ? repeats : 0, recorded.get(row.key) ?? 0);
    for (let repeat = 0; repeat < last; repeat++) {
      const id = recordId(row.key, repeat);
      if ((wanted.has(row) && repeat < repeats) || run.journal.entries.has(id)) {
        jobs.push({ id, domain: row.domain, group: row.trajectory, row, repeat });
      }
    }
  }
  return jobs;
}

/** What a choice smaller than the folder's content did: rows of earlier choices are kept, and asked on. */
function remarkOnChoice(chosen: number, all: number, { manifest }: StageResult): string | undefined {
  const before = all - manifest.counts.absent - chosen;
  if (before <= 0) return undefined;
  return `this command chose ${chosen} rows; ${before} more of earlier ones stand in the same file (another --output-dir, or --fresh, holds the choice alone)`;
}

/** How many repeats of each row the journal knows of. */
function recordedRepeats(run: Run): Map<string, number> {
  const repeats = new Map<string, number>();
  for (const id of run.journal.entries.keys()) {
    const at = id.lastIndexOf('#');
    const key = id.slice(0, at);
    repeats.set(key, Math.max(repeats.get(key) ?? 0, Number(id.slice(at + 1)) + 1));
  }
  return repeats;
}

/** Repeats come one after the other, so that every row has been asked once before any is asked again. */
function orderJobs(jobs: readonly InferJob[], chosen: readonly RowRef[], settings: InferSettings): InferJob[] {
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const rows = ORDERS[settings.order](chosen, settings.sampleSeed);
  const ordered: InferJob[] = [];
  for (let repeat = 0; repeat < settings.repeats; repeat++) {
    for (const row of rows) ordered.push(byId.get(recordId(row.key, repeat)) as InferJob);
  }
  return ordered;
}

function recordOfOutcome(job: InferJob, outcome: ModelReply | ModelFailure, dropped: string): JournalRecord {
  const log = { ...outcome.log, dropped };
  if (outcome.status === 'failed') {
    return recordOf(job, '', { flags: [], failure: { class: outcome.class, reason: outcome.reason } }, log);
  }
  return recordOf(
    job,
    outcome.content,
    { flags: flagsOfReply(outcome), reply: outcome },
    { ...log, model: outcome.servedModel },
  );
}

function flagsOfReply(reply: ModelReply): Flag[] {
  return [
    ...flagsOf(reply),
    ...(reply.fittedMaxTokens === undefined ? [] : (['fitted-max-tokens'] as const)),
    ...(reply.redacted === undefined ? [] : (['redacted'] as const)),
  ];
}

interface RecordParts {
  readonly flags: readonly Flag[];
  readonly failure?: { readonly class: PredictionRecord['class'] & string; readonly reason: string };
  readonly reply?: ModelReply;
}

function recordOf(
  job: InferJob,
  gen: string,
  parts: RecordParts,
  log: Readonly<Record<string, unknown>> | object,
): JournalRecord {
  const { failure, reply, flags } = parts;
  const awb: PredictionRecord = {
    key: job.row.key,
    trajectory: job.row.trajectory,
    repeat: job.repeat,
    status: failure === undefined ? 'ok' : 'failed',
    ...(failure === undefined ? {} : { class: failure.class, reason: failure.reason }),
    flags,
    ...(reply?.finishReason === undefined ? {} : { finish_reason: reply.finishReason }),
    ...(reply?.fittedMaxTokens === undefined ? {} : { fitted_max_tokens: reply.fittedMaxTokens }),
    ...(reply?.reasoning === undefined ? {} : { reasoning: reply.reasoning }),
  };
  return { id: job.id, row: { gen, awb }, log: { ...log, at: new Date().toISOString() } };
}

function summarise(record: JournalRecord): RowSummary {
  const awb = record.row.awb as PredictionRecord;
  return {
    status: awb.status,
    ...(awb.class === undefined ? {} : { class: awb.class }),
    ...(awb.reason === undefined ? {} : { reason: awb.reason }),
    flags: awb.flags,
    usage: (record.log.usage ?? {}) as Usage,
    stamp: (record.log.dropped ?? '') as string,
  };
}
