// The work of judging, whole or a sample: predictions through a mode, in an open run.

import { basename, relative } from 'node:path';
import type { PredictedRow, PredictionFile, PredictionRef } from '../../bench/predictions.js';
import { withMembers } from '../../bench/row-text.js';
import { flagsOf } from '../../infer/observation.js';
import type { JsonObject } from '../../json.js';
import type { Method, Mode } from '../../judge/mode.js';
import { checkedMethod } from '../../judge/mode.js';
import { JUDGEMENT_KEYS, judgementMembers } from '../../judged-row.js';
import { type JudgementRecord, recordedJudgement, withoutPrediction } from '../../judgement.js';
import { readPrediction } from '../../reply.js';
import { rowId } from '../../row-id.js';
import { fingerprintOf, type Identity } from '../../run/identity.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Manifest } from '../../run/manifest.js';
import type { ShownSettings } from '../../settings/command.js';
import { isSuspicious, tricksIn } from '../../suspicion.js';
import type { Flag, Io } from '../../types.js';
import type { StageListener } from '../listeners.js';
import { listenersOf } from '../listening.js';
import { priceOf, requirePriced } from '../pricing.js';
import type { RowSummary } from '../row-summary.js';
import type { Pricing, Run } from '../run.js';
import { samplingIdentity } from '../sampling.js';
import { runStage, type StageResult } from '../stage.js';
import { markOf, oneByOne, type Stage } from '../stage-contract.js';
import type { Target } from '../target.js';
import { judgementOf } from './asking.js';
import type { JudgedPredictions } from './beside.js';
import { inJudgeOrder, type JudgeJob, jobsOf, recordedCount, seedOffsetOf } from './jobs.js';
import type { JudgeSettings } from './options.js';
import { holds, isDone, LegibilityWatch, recordOf, stampOf } from './records.js';
import { replyFormOf } from './reply-form.js';
import { adoptSnapshot, sameSnapshot } from './snapshot.js';

/** Everything that one judging works on. */
export interface Judging {
  readonly settings: JudgeSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly predictions: JudgedPredictions;
  /** The predictions' own manifest, where it lies beside them. */
  readonly inferred: Manifest | undefined;
  readonly mode: Mode;
  /** The mode, opened. */
  readonly method: Method;
  /** Whom to ask; of no use in modes that ask no judge. */
  readonly target: Target;
  readonly pricing: Pricing;
  readonly dir: string;
}

/** Judges the given predictions in an open run, each `count` times; `refs` are in output order. */
export async function judgeRows(
  work: Judging,
  run: Run,
  refs: readonly PredictionRef[],
  count: number,
): Promise<StageResult> {
  const { io, settings } = work;
  const { listeners, ...stage } = await judgeStage(work, run, refs, count);
  return runStage(stage, [...listenersOf(io, settings, run), ...listeners]);
}

/** The same as a stage, with who else is to hear it. @throws UserError (2) for a budget in dollars without a price */
export async function judgeStage(
  work: Judging,
  run: Run,
  refs: readonly PredictionRef[],
  count: number,
): Promise<Stage<JudgeJob> & { readonly listeners: readonly StageListener[] }> {
  const { settings, predictions, mode, target } = work;
  if (mode.asksJudge) requirePriced(settings, run.ledger.usd !== undefined, target);
  const method = checkedMethod(settings.mode, mode, work.method);
  const watch = new LegibilityWatch(run.journal, settings);
  const { maxRetries } = settings;
  const asks = ({ ref }: JudgeJob) =>
    mode.asksJudge && ref.failure === undefined && !predictions.settled?.has(rowId(ref.key, ref.repeat));
  const { rows, ...output } = judgeOutput(predictions, refs, count, run.journal.ids(), (job) =>
    holds(run, job, markOf(run)),
  );
  adoptSnapshot(run);
  return {
    io: work.io,
    run,
    settings,
    target,
    responseFormat: replyFormOf(settings, work.method),
    rows,
    ...output,
    order: inJudgeOrder(rows.filter(({ index }) => index < count)),
    stampOf,
    asks,
    solve: oneByOne(async (job, ask) => {
      const read = () => predictions.read(job.ref);
      if (asks(job)) {
        const seedOf = (part: number, tried: number) => seedOffsetOf(job, part, tried, maxRetries);
        // Of batch files each further try is another batch: what cannot be read is noted at once.
        const onUnread = (reply: string) => run.batch !== undefined && watch.unread(job.id, reply);
        const record = await judgementOf({ method, read, maxRetries, seedOf, onUnread }, sameSnapshot(run, ask));
        return recordOf(job, record, markOf(run));
      }
      const subject = await read();
      const { failure } = job.ref;
      const record =
        failure === undefined
          ? (method.alone?.(subject) ?? method.join([], subject))
          : method.fail(withoutPrediction(failure), subject);
      return recordOf(job, record, markOf(run));
    }),
    async questions({ ref }) {
      return method.parts(await predictions.read(ref)).map((part) => part.request(0));
    },
    placeOf({ ref, isFurther }) {
      if (isFurther) return undefined;
      return { place: `${basename(predictions.path)}:${ref.line}`, bytes: predictions.bytesOf(ref) };
    },
    manifest: manifestOf(work, run),
    absent: settings.recheck === undefined ? absentFrom(work.inferred, refs) : {},
    listeners: mode.asksJudge ? [watch] : [],
  };
}

/**
 * The rows of the output, and the line of each. Judgements beyond the count are kept where they are good, and not asked for where they
 * are not.
 */
export function judgeOutput(
  predictions: Pick<PredictionFile, 'read'>,
  refs: readonly PredictionRef[],
  count: number,
  recorded: Iterable<string>,
  holds: (job: JudgeJob) => boolean,
) {
  const most = Math.max(count, recordedCount(recorded));
  const rows = jobsOf(refs, most).filter((job) => job.index < count || holds(job));
  return {
    rows,
    isDone: (_job: JudgeJob, summary: RowSummary) => isDone(summary),
    async compose({ ref, index }: JudgeJob, { row }: JournalRecord) {
      return rowText(ref, await predictions.read(ref), recordedJudgement(row), index);
    },
    outputForm: {
      predictions: fingerprintOf({ rows: rows.map(({ id, ref }) => `${id} ${ref.stamp} ${ref.length}`) }),
    },
  };
}

/** The prediction's own text, an earlier judgement in it replaced by this one. */
function rowText(ref: PredictionRef, predicted: PredictedRow, record: JudgementRecord, index: number): string {
  const { key, trajectory, repeat } = ref;
  const { text, gen } = predicted;
  const prediction = { key, trajectory, repeat, gen, ...flagged(predicted) };
  return withMembers(text, JUDGEMENT_KEYS, judgementMembers(prediction, record, index));
}

/** The prediction's flags. An `awb` object that infer wrote has its own; one that it wrote before it knew suspicion gets that flag. */
function flagged({ gen, awb, sample }: PredictedRow): { readonly flags: readonly Flag[]; readonly awb: JsonObject } {
  const flags = flagsOf({ content: gen });
  if (!isSuspicious(tricksIn(readPrediction(gen)), sample)) return { flags, awb };
  const before = Array.isArray(awb.flags) ? awb.flags : undefined;
  const isKnown = before === undefined || before.includes('suspicious');
  return { flags: [...flags, 'suspicious'], awb: isKnown ? awb : { ...awb, flags: [...before, 'suspicious'] } };
}

function manifestOf(
  { settings, shown, inferred, predictions, target, pricing }: Judging,
  run: Run,
): Stage<JudgeJob>['manifest'] {
  return {
    label: inferred?.label ?? settings.label,
    meta: inferred?.meta ?? {},
    settings: shown,
    endpoints: target.hosts,
    get price() {
      return priceOf(run, pricing);
    },
    data: { predictions: predictions.path, rows: predictions.refs.length },
    predictions: inferred,
  };
}

/** What the ratings depend on: whose predictions, which judge, told what, read how. How often each is judged is no part of it. */
export function judgeIdentity(work: Judging, stored: Manifest | undefined): Identity {
  const { settings, inferred, mode, method } = work;
  // Two checkpoints may be asked under one name and one set of settings: the file tells them apart, wherever the folders are moved.
  const predictions = { file: relative(work.dir, work.predictions.path), run: inferred?.fingerprint };
  if (!mode.asksJudge) return { mode: settings.mode, predictions, ...method.identity };
  return {
    mode: settings.mode,
    predictions,
    // A judge that was not started is taken to be the run's own.
    judge: work.target.identity ?? stored?.identity.judge,
    // Found out by asking: the snapshot behind the name. A later one is refused while rows are being judged.
    ...(stored?.identity.snapshot === undefined ? {} : { snapshot: stored.identity.snapshot }),
    ...method.identity,
    sampling: samplingIdentity(settings, stored),
  };
}

/** Rows that infer chose and that have no line in the predictions, by domain. */
export function absentFrom(inferred: Manifest | undefined, refs: Iterable<PredictionRef>): Record<string, number> {
  const absent = new Map(Object.entries(inferred?.chosen ?? {}));
  for (const { domain } of refs) absent.set(domain, (absent.get(domain) ?? 0) - 1);
  return Object.fromEntries([...absent].filter(([, rows]) => rows > 0));
}
