// The work of judging, whole or a sample: predictions through the rubric or the metrics, in an open run.

import { relative } from 'node:path';
import type { PredictedRow, PredictionFile, PredictionRef } from '../bench/predictions.js';
import { withMembers } from '../bench/row-text.js';
import { EXIT, UserError } from '../errors.js';
import { flagsOf } from '../infer/observation.js';
import { isObject } from '../json.js';
import { measure } from '../judge/metrics.js';
import { isPlanted, type Material } from '../judge/quotation.js';
import { buildJudgeMessages, FRAME, materialOf } from '../judge/rubric.js';
import {
  OFFICIAL_FAILURES,
  readOfficialVerdict,
  readStrictVerdict,
  STRICT_READING,
  VERDICT_READINGS,
} from '../judge/verdict.js';
import { failureToPredict, isModelCaused } from '../points.js';
import { readPrediction, withoutMarker } from '../reply.js';
import type { RubricPack } from '../rubric.js';
import { fingerprintOf, type Identity } from '../run/identity.js';
import { type JournalRecord, recordId } from '../run/journal-record.js';
import type { Manifest } from '../run/manifest.js';
import { httpUrl } from '../settings/address.js';
import type { ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { groundTruthOf } from '../turn.js';
import {
  DIMENSIONS,
  type Domain,
  type Io,
  type JudgementFailure,
  MODEL_CAUSED_FAILURES,
  type ModelFailure,
  type ModelReply,
  type Usage,
  type Verdict,
} from '../types.js';
import { addUsage } from '../usage.js';
import { openInstrument } from './instrument.js';
import { ASKING_OPTIONS } from './options.js';
import { progressListener } from './progress-listener.js';
import type { RowSummary, Run } from './run.js';
import { samplingIdentity } from './sampling.js';
import { runStage, type StageResult } from './stage.js';
import type { Stage, StageJob } from './stage-contract.js';
import type { Target } from './target.js';

export const JUDGE_OPTIONS = {
  predictions: {
    kind: 'text',
    value: 'FILE',
    required: true,
    group: 'Data',
    help: 'predictions.jsonl of awb infer or of the official script',
  },
  'output-dir': { kind: 'text', value: 'DIR', default: './results', group: 'Data', help: 'folder of judged.jsonl' },
  'data-dir': { kind: 'text', value: 'DIR', group: 'Data', help: 'folder of *_test.jsonl files, for lean predictions' },
  label: { kind: 'text', value: 'NAME', group: 'Data', help: 'names a second judging: judged.NAME.jsonl' },
  fresh: { kind: 'boolean', group: 'Data', help: 'start over; the old files are kept aside' },
  mode: {
    kind: 'choice',
    choices: ['rubric', 'metrics'],
    default: 'rubric',
    group: 'Judge',
    help: 'rubric: an LLM rates five dimensions; metrics: text measures, no model needed',
  },
  'judge-base-url': {
    kind: 'list',
    value: 'URL',
    group: 'Judge',
    check: httpUrl,
    help: 'OpenAI-compatible endpoint; several share the rows',
  },
  'judge-model': { kind: 'text', value: 'NAME', group: 'Judge', help: 'model to ask for' },
  'judge-api-key': {
    kind: 'text',
    value: 'KEY',
    secret: true,
    group: 'Judge',
    help: 'key, sent as bearer token; at api.openai.com OPENAI_API_KEY without it',
  },
  rubrics: {
    kind: 'text',
    value: 'DIR',
    group: 'Judge',
    help: 'rubric pack, or a checkout of the official repository; the bundled pack by default',
  },
  verdicts: {
    kind: 'choice',
    choices: VERDICT_READINGS,
    default: 'strict',
    group: 'Judge',
    help: 'strict accepts five ratings of 1 to 5 and nothing else; official reads as the official script does',
  },
  'max-retries': { kind: 'integer', min: 1, default: 3, group: 'Judge', help: 'tries in all for a readable verdict' },
  recheck: {
    kind: 'integer',
    min: 2,
    group: 'Judge',
    help: "judge N stored rows again with today's judge and report the shift",
  },
  ...ASKING_OPTIONS,
} as const satisfies OptionTable;

export type JudgeSettings = Settings<typeof JUDGE_OPTIONS>;

/** What a model served here is held to in our own packs' verdicts: the JSON that both readings find. */
export const VERDICT_FORMAT = {
  type: 'json_schema',
  json_schema: {
    name: 'verdict',
    schema: {
      type: 'object',
      properties: {
        strengths: { type: 'array', items: { type: 'string', maxLength: 200 }, maxItems: 3 },
        weaknesses: { type: 'array', items: { type: 'string', maxLength: 200 }, maxItems: 3 },
        scores: {
          type: 'object',
          properties: Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, { enum: [1, 2, 3, 4, 5] }])),
          required: DIMENSIONS,
          additionalProperties: false,
        },
      },
      required: ['strengths', 'weaknesses', 'scores'],
      additionalProperties: false,
    },
  },
} as const;

/** One prediction to be judged. */
export interface JudgeJob extends StageJob {
  readonly ref: PredictionRef;
}

/** Everything that one judging works on. */
export interface Judging {
  readonly settings: JudgeSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly predictions: PredictionFile;
  /** The predictions' own manifest, where it lies beside them. */
  readonly inferred: Manifest | undefined;
  /** Undefined in the modes that ask no judge. */
  readonly pack: RubricPack | undefined;
  /** Whom to ask; of no use in those modes. */
  readonly target: Target;
  readonly dir: string;
}

/** Judges the given predictions in an open run; `jobs` are in output order. */
export function judgeRows(work: Judging, run: Run, jobs: readonly JudgeJob[]): Promise<StageResult> {
  const { settings, predictions, pack, target } = work;
  const instrument = openInstrument(run, target, settings);
  const tries = new Map<string, Tries>();
  const stampOf = (job: JudgeJob) => `${job.ref.stamp} ${instrument.mark()}`;
  adoptSnapshot(run);
  const stage: Stage<JudgeJob> = {
    io: work.io,
    run,
    settings,
    rows: jobs,
    order: inJudgeOrder(jobs),
    isStale: (job, summary) => summary.stamp !== (isUnasked(summary.class) ? job.ref.stamp : stampOf(job)),
    isDone: (_job, summary) => summary.status === 'ok' || isModelCaused(summary.class),
    async settleAlone(job) {
      const failure = withoutPrediction(job.ref);
      if (pack === undefined) return measured(job, await predictions.read(job.ref), failure, stampOf(job));
      // No judge had a say in it, so its stamp does not tell how judges are asked.
      return failure === undefined ? undefined : failed(job, failure, {}, job.ref.stamp, pack);
    },
    async openBackend(notice) {
      return instrument.open(notice);
    },
    async request(job) {
      instrument.starts(job.id);
      const { gen, sample } = await predictions.read(job.ref);
      const seedOffset = job.ref.repeat * settings.maxRetries + (tries.get(job.id)?.count ?? 0);
      return { messages: buildJudgeMessages(pack as RubricPack, sample, readPrediction(gen)), seedOffset };
    },
    async settle(job, outcome) {
      if (!instrument.accepts(job.id)) return 'again';
      if (outcome.status === 'ok') requireSameSnapshot(run, outcome.servedModel);
      const attempt = addTry(tries, job.id, outcome);
      const { gen, sample } = await predictions.read(job.ref);
      const material = materialOf(sample, readPrediction(gen));
      const record = judged(work, job, outcome, material, attempt, stampOf(job));
      if (record !== 'again') tries.delete(job.id);
      return record;
    },
    async compose(job, record) {
      return composeRow(await predictions.read(job.ref), job.ref, record);
    },
    outputForm: {
      predictions: fingerprintOf({ rows: jobs.map(({ id, ref }) => `${id} ${ref.stamp} ${ref.length}`) }),
    },
    manifest: {
      label: work.inferred?.label ?? settings.label,
      meta: work.inferred?.meta ?? {},
      settings: work.shown,
      endpoints: target.hosts,
      data: { predictions: predictions.path, rows: predictions.refs.length },
      predictions: work.inferred,
    },
    absent: absentFrom(work, jobs),
  };
  return runStage(stage, [progressListener(work.io.stderr, settings)]);
}

/** What the ratings depend on: whose predictions, which judge, told what, read how. */
export function judgeIdentity(work: Judging, stored: Manifest | undefined): Identity {
  const { settings, inferred, pack } = work;
  // Two checkpoints may be asked under one name and one set of settings: the file tells them apart, wherever the folders are moved.
  const predictions = { file: relative(work.dir, work.predictions.path), run: inferred?.fingerprint };
  if (pack === undefined) return { mode: settings.mode, predictions };
  return {
    mode: settings.mode,
    predictions,
    judge: work.target.identity,
    // Found out by asking: the snapshot behind the name. A later one is refused while rows are being judged.
    ...(stored?.identity.snapshot === undefined ? {} : { snapshot: stored.identity.snapshot }),
    // Official messages and the official reading never change, so they have no version.
    rubrics: { name: pack.name, fingerprint: pack.fingerprint, ...(pack.official ? {} : { frame: FRAME }) },
    verdicts: settings.verdicts,
    ...(settings.verdicts === 'strict' ? { reading: STRICT_READING } : {}),
    sampling: samplingIdentity(settings, stored),
  };
}

/** Predictions as jobs, in the order of the file. */
export function jobsOf(refs: readonly PredictionRef[]): JudgeJob[] {
  return refs.map((ref) => ({ id: recordId(ref.key, ref.repeat), domain: ref.domain, group: ref.trajectory, ref }));
}

/** Rows with the same judge prompt follow each other, and within them the turns of a trajectory, so that prefix caches hit. */
function inJudgeOrder(jobs: readonly JudgeJob[]): JudgeJob[] {
  const domains = new Map<Domain, Map<string, JudgeJob[]>>();
  for (const job of jobs) {
    const trajectories = domains.get(job.domain) ?? new Map<string, JudgeJob[]>();
    domains.set(job.domain, trajectories);
    const turns = trajectories.get(job.group);
    if (turns === undefined) trajectories.set(job.group, [job]);
    else turns.push(job);
  }
  return [...domains.values()].flatMap((trajectories) =>
    [...trajectories.values()].flatMap((turns) => turns.sort((a, b) => a.ref.turnIdx - b.ref.turnIdx)),
  );
}

/** Rows that infer chose and that have no line in the predictions. */
function absentFrom(work: Judging, jobs: readonly JudgeJob[]): Record<string, number> {
  if (work.settings.recheck !== undefined) return {};
  const absent: Record<string, number> = {};
  for (const [domain, chosen] of Object.entries(work.inferred?.chosen ?? {})) {
    const present = jobs.filter((job) => job.domain === domain).length;
    if (chosen > present) absent[domain] = chosen - present;
  }
  return absent;
}

/** Failures that judging again cannot mend: they are the prediction's. */
export const FINAL_FAILURES: ReadonlySet<string> = new Set<JudgementFailure>([
  'prediction',
  'context-overflow',
  ...MODEL_CAUSED_FAILURES,
]);

/** Failures of the prediction that no judge was asked about. */
function isUnasked(failure: string | undefined): boolean {
  return failure !== undefined && failure !== 'planted' && FINAL_FAILURES.has(failure);
}

interface Failure {
  readonly class: JudgementFailure;
  readonly reason: string;
}

function withoutPrediction(ref: PredictionRef): Failure | undefined {
  if (ref.failure === undefined) return undefined;
  const { class: failure, reason } = ref.failure;
  return { class: failureToPredict(failure), reason };
}

/** What a row's replies have cost and said so far. */
interface Tries {
  readonly count: number;
  readonly attempts: number;
  readonly ms: number;
  readonly usage: Usage;
}

function addTry(all: Map<string, Tries>, id: string, outcome: ModelReply | ModelFailure): Tries {
  const before = all.get(id) ?? { count: 0, attempts: 0, ms: 0, usage: {} };
  const usage: Usage = { ...before.usage };
  addUsage(usage, outcome.log.usage);
  const after = {
    count: before.count + 1,
    attempts: before.attempts + outcome.log.attempts,
    ms: before.ms + outcome.log.ms,
    usage,
  };
  all.set(id, after);
  return after;
}

/** Takes the snapshot from the rows judged before, where a kill left it out of the manifest. */
function adoptSnapshot(run: Run): void {
  if (run.identity.snapshot !== undefined) return;
  const judged = [...run.journal.entries].find(([, { summary }]) => summary.status === 'ok');
  if (judged === undefined) return;
  const { model } = run.journal.read(judged[0]).row.judge as { model?: string };
  if (model !== undefined) run.identity = { ...run.identity, snapshot: model };
}

/**
 * A judge is the snapshot that answers, not the name it is asked by.
 * @throws UserError (78) where the server reports another one than for the rows judged before.
 */
function requireSameSnapshot(run: Run, served: string | undefined): void {
  if (served === undefined) return;
  const { snapshot } = run.identity;
  if (snapshot === undefined) run.identity = { ...run.identity, snapshot: served };
  else if (snapshot !== served) {
    throw new UserError(
      `the judge now answers as "${served}", the rows before were judged by "${snapshot}": ratings of two judges must not mix; ask for one snapshot by its full name, or start over with --fresh (--recheck N measures the shift)`,
      EXIT.identityDiffers,
    );
  }
}

/** The record of a judge's reply, or 'again' where it cannot be read and tries are left. */
function judged(
  work: Judging,
  job: JudgeJob,
  outcome: ModelReply | ModelFailure,
  material: Material,
  tries: Tries,
  stamp: string,
): JournalRecord | 'again' {
  const pack = work.pack as RubricPack;
  const log = { ...outcome.log, attempts: tries.attempts, ms: tries.ms, usage: tries.usage, tries: tries.count };
  if (outcome.status === 'failed') {
    return failed(job, { class: `judge-${outcome.class}`, reason: outcome.reason }, log, stamp, pack);
  }
  const isStrict = work.settings.verdicts === 'strict';
  const verdict = isStrict ? readStrictly(outcome, material) : readOfficialVerdict(outcome.content);
  if (verdict.status === 'unreadable') {
    if (tries.count < work.settings.maxRetries) return 'again';
    const reason = outcome.finishReason === 'length' ? `${verdict.reason} (cut off at max_tokens)` : verdict.reason;
    // Otherwise a poor prediction could make itself missing by confusing its judge.
    const failure: Failure =
      isStrict && isPlanted(material)
        ? {
            class: 'planted',
            reason: `the prediction holds a verdict of its own, and the judge could not be read: ${reason}`,
          }
        : { class: 'unreadable', reason };
    return failed(job, failure, log, stamp, pack, outcome);
  }
  return {
    id: job.id,
    row: { official: officialKeys(verdict, outcome), judge: { status: 'ok', ...judgeDetails(pack, outcome) } },
    log: logOf(log, stamp),
  };
}

/** A reply that was cut off may have had its own verdict still to come, whatever stands in it. */
function readStrictly({ content, finishReason }: ModelReply, material: Material): Verdict {
  const verdict = readStrictVerdict(content, material);
  const isCut = finishReason === 'length' && verdict.status === 'ok';
  return isCut ? { status: 'unreadable', reason: 'more may have followed the verdict' } : verdict;
}

function officialKeys(verdict: Verdict & { status: 'ok' }, reply: ModelReply): Record<string, unknown> {
  return {
    total_score: verdict.total,
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, verdict.ratings[dimension] ?? 0])),
    failed: 0,
    strengths: verdict.strengths,
    weaknesses: verdict.weaknesses,
    judge_raw_output: reply.content,
  };
}

function judgeDetails(pack: RubricPack, reply: ModelReply | undefined): Record<string, unknown> {
  return {
    rubrics: { name: pack.name, fingerprint: pack.fingerprint },
    ...(reply?.servedModel === undefined ? {} : { model: reply.servedModel }),
    ...(reply?.finishReason === undefined ? {} : { finish_reason: reply.finishReason }),
    ...(reply?.redacted === undefined ? {} : { redacted: true }),
    ...(reply?.reasoning === undefined ? {} : { reasoning: reply.reasoning }),
  };
}

/** The official script writes no more than this on a row without prediction, and on one whose judging failed. */
function failed(
  job: JudgeJob,
  failure: Failure,
  log: object,
  stamp: string,
  pack: RubricPack,
  reply?: ModelReply,
): JournalRecord {
  const official = isUnasked(failure.class)
    ? { failed: 1, error_message: OFFICIAL_FAILURES.empty }
    : {
        total_score: 0,
        failed: 1,
        error_message: OFFICIAL_FAILURES.unreadable,
      };
  const raw = reply === undefined ? {} : { raw_output: reply.content };
  return {
    id: job.id,
    row: { official, judge: { status: 'failed', ...failure, ...judgeDetails(pack, reply), ...raw } },
    log: logOf(log, stamp),
  };
}

/** Text measures of a prediction; whatever left none counts as an empty one, except where infer's transport failed. */
function measured(job: JudgeJob, row: PredictedRow, failure: Failure | undefined, stamp: string): JournalRecord {
  if (failure !== undefined && !isModelCaused(failure.class)) {
    const judge = { status: 'failed', ...failure };
    return { id: job.id, row: { official: {}, judge }, log: logOf({}, job.ref.stamp) };
  }
  const isEmpty = failure !== undefined || flagsOf({ content: row.gen }).includes('empty');
  const prediction = isEmpty ? '' : withoutMarker(readPrediction(row.gen));
  const truth = withoutMarker(groundTruthOf(row.sample));
  return {
    id: job.id,
    row: { official: {}, judge: { status: 'ok' }, measures: measure(prediction, truth) },
    log: logOf({}, stamp),
  };
}

function logOf(log: object, stamp: string): Record<string, unknown> {
  return { ...log, stamp, at: new Date().toISOString() };
}

const JUDGE_KEYS: ReadonlySet<string> = new Set([
  'total_score',
  ...DIMENSIONS,
  'failed',
  'strengths',
  'weaknesses',
  'extracted_output',
  'judge_raw_output',
  'error_message',
  'awb',
]);

/** The prediction's own text, an earlier judgement in it replaced by this one. */
function composeRow(row: PredictedRow, ref: PredictionRef, record: JournalRecord): string {
  const { official, judge, measures } = record.row as {
    official: Record<string, unknown>;
    judge: Record<string, unknown>;
    measures?: Record<string, number>;
  };
  const { judge: _before, measures: _measures, ...inferred } = row.awb;
  const own = { key: ref.key, trajectory: ref.trajectory, repeat: ref.repeat, flags: flagsOf({ content: row.gen }) };
  const asked = 'failed' in official && !isUnasked(judge.class as string | undefined);
  return withMembers(row.text, JUDGE_KEYS, {
    ...official,
    ...(asked ? { extracted_output: readPrediction(row.gen) } : {}),
    awb: { ...own, ...inferred, judge, ...(measures === undefined ? {} : { measures }) },
  });
}

export function summarise(record: JournalRecord): RowSummary {
  const judge = record.row.judge as { status: 'ok' | 'failed'; class?: string; reason?: string };
  if (!isObject(record.row.official)) throw new TypeError('a record of a judgement holds its official keys');
  return {
    status: judge.status,
    ...(judge.class === undefined ? {} : { class: judge.class }),
    ...(judge.reason === undefined ? {} : { reason: judge.reason }),
    flags: [],
    usage: (record.log.usage ?? {}) as Usage,
    stamp: (record.log.stamp ?? '') as string,
  };
}
