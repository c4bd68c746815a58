// The work of judging, whole or a sample: predictions through a mode, in an open run.

import { basename, relative } from 'node:path';
import type { PredictedRow, PredictionFile, PredictionRef } from '../benchmark/predictions.js';
import { withMembers } from '../benchmark/row-text.js';
import { isSuspicious, tricksIn } from '../benchmark/suspicion.js';
import { groupBy } from '../core/groups.js';
import { fingerprintOf, type Identity } from '../core/identity.js';
import { JUDGEMENT_KEYS, judgementMembers } from '../core/judged-row.js';
import { MOST_JUDGEMENTS, recordedJudgement, withoutPrediction } from '../core/judgement.js';
import { MOST_REPEATS } from '../core/prediction.js';
import { readPrediction } from '../core/reply.js';
import { parseRowId, rowId } from '../core/row-id.js';
import type { Flag, Io } from '../core/types.js';
import { flagsOf } from '../infer/inferring.js';
import type { JournalRecord } from '../run/journal.js';
import type { Manifest } from '../run/manifest.js';
import type { Pricing, RowSummary, Run } from '../run/run.js';
import { markOf, oneByOne, type Stage, type StageJob } from '../run/stage-contract.js';
import { priceOf, requirePriced, type Target } from '../run/target.js';
import type { ShownSettings } from '../settings/command.js';
import { holds, identityOfJudge, isDone, openJudge, recordOf, stampOf } from './asking.js';
import { type Method, MOST_PARTS, type Mode } from './mode.js';
import type { JudgedPredictions } from './opening.js';
import { JUDGE_OPTIONS, type JudgeSettings } from './options.js';

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

/**
 * Judgements of the given predictions as a stage, `count` of each.
 * @param refs in output order
 * @throws UserError (2) for a budget in dollars without a price
 */
export function judgeStage(
  { settings, io, predictions, mode, method, target, pricing, shown, inferred }: Judging,
  run: Run,
  refs: readonly PredictionRef[],
  count: number,
): Stage<JudgeJob> {
  if (mode.asksJudge) requirePriced(settings, run.ledger.usd !== undefined, target);
  const judge = openJudge(run, settings, method);
  const asks = ({ ref }: JudgeJob) =>
    mode.asksJudge && ref.failure === undefined && !predictions.settled?.has(rowId(ref.key, ref.repeat));
  const isHeld = (job: JudgeJob) => holds(run, job, markOf(run));
  const { rows, ...output } = judgeOutput(predictions, refs, count, run.journal.ids(), isHeld);
  return {
    io,
    run,
    settings,
    target,
    options: JUDGE_OPTIONS,
    asksAgent: mode.asksAgent,
    responseFormat: method.replyForm,
    rows,
    ...output,
    order: inJudgeOrder(rows.filter(({ index }) => index < count)),
    stampOf,
    asks,
    solve: oneByOne(async (job, ask) => {
      const { failure } = job.ref;
      const read = () => predictions.read(job.ref);
      const seedOf = (part: number, tried: number) => seedOffsetOf(job, part, tried, settings.maxRetries);
      if (asks(job)) return judge.judge(job, read, seedOf, ask);
      const subject = await read();
      const record = failure
        ? method.fail(withoutPrediction(failure), subject)
        : (method.alone?.(subject) ?? method.join([], subject));
      return recordOf(job, record, markOf(run));
    }),
    questions: ({ ref }) => judge.questions(() => predictions.read(ref)),
    placeOf({ ref, isFurther }) {
      if (isFurther) return undefined;
      return { place: `${basename(predictions.path)}:${ref.line}`, bytes: predictions.bytesOf(ref) };
    },
    manifest: {
      label: inferred?.label ?? settings.label,
      meta: inferred?.meta ?? {},
      settings: shown,
      endpoints: target.hosts,
      get price() {
        return priceOf(run, pricing);
      },
      data: { predictions: predictions.path, rows: predictions.refs.length },
      predictions: inferred,
    },
    absent: settings.recheck === undefined ? absentFrom(inferred, refs) : {},
    listeners: mode.asksJudge ? [judge.watch] : [],
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
    /** The prediction's own text, an earlier judgement in it replaced by this one. */
    async compose({ ref, index }: JudgeJob, { row }: JournalRecord) {
      const predicted = await predictions.read(ref);
      const { key, trajectory, repeat } = ref;
      const { gen, awb } = predicted;
      const prediction = { key, trajectory, repeat, gen, awb, flags: flagsIn(predicted) };
      const members = judgementMembers(prediction, recordedJudgement(row), index);
      return withMembers(predicted.text, JUDGEMENT_KEYS, members);
    },
    outputForm: { predictions: fingerprintOf({ rows: rows.map(({ id, ref }) => `${id} ${ref.stamp} ${ref.length}`) }) },
  };
}

/** The prediction's flags, for a row in which infer has left none. */
function flagsIn({ gen, sample }: PredictedRow): readonly Flag[] {
  return [
    ...flagsOf({ content: gen }),
    ...(isSuspicious(tricksIn(readPrediction(gen)), sample) ? (['suspicious'] as const) : []),
  ];
}

/** What the ratings depend on: whose predictions, which judge, told what, read how. How often each is judged is no part of it. */
export function judgeIdentity(work: Judging, stored: Manifest | undefined): Identity {
  const { settings, inferred, mode, method } = work;
  // Two checkpoints may be asked under one name and one set of settings: the file tells them apart, wherever the folders are moved.
  const predictions = { file: relative(work.dir, work.predictions.path), run: inferred?.fingerprint };
  const own = mode.asksJudge ? identityOfJudge(work, stored) : method.identity;
  return { mode: settings.mode, predictions, ...own };
}

/** Rows that infer chose and that have no line in the predictions, by domain. */
export function absentFrom(inferred: Manifest | undefined, refs: Iterable<PredictionRef>): Record<string, number> {
  const absent = new Map(Object.entries(inferred?.chosen ?? {}));
  for (const { domain } of refs) absent.set(domain, (absent.get(domain) ?? 0) - 1);
  return Object.fromEntries([...absent].filter(([, rows]) => rows > 0));
}

/** One judgement of one prediction. */
export interface JudgeJob extends StageJob {
  readonly ref: PredictionRef;
  /** Which of the prediction's judgements it is, from 0. */
  readonly index: number;
  /** What its record is made from. */
  readonly stamp: string;
}

/**
 * The first `count` judgements of every prediction, in the order of the file; those of one prediction follow each other. Where the
 * prediction is missing there is nothing to judge, and one record says so.
 */
export function jobsOf(refs: readonly PredictionRef[], count: number): JudgeJob[] {
  return refs.flatMap((ref) =>
    Array.from({ length: ref.failure === undefined ? count : 1 }, (_, index) => judgeJob(ref, index)),
  );
}

export function judgeJob(ref: PredictionRef, index: number): JudgeJob {
  const { key, repeat, domain, trajectory: group, stamp } = ref;
  return { id: rowId(key, repeat, index), domain, group, ref, index, stamp, isFurther: index > 0 ? true : undefined };
}

/** How many judgements of one prediction a journal holds at most, by the ids of its records. */
export function recordedCount(ids: Iterable<string>): number {
  const most = Array.from(ids).reduce((most, id) => Math.max(most, (parseRowId(id)?.index ?? 0) + 1), 0);
  return Math.min(most, MOST_JUDGEMENTS);
}

/**
 * Rows with the same judge prompt follow each other, and within them the turns of a trajectory, so that prefix caches hit. The
 * judgements of one prediction share all of their prompt, so they follow each other too: only the first of them is paid in full.
 * Whoever wants every prediction judged once before any is judged twice gives the command once without, and once with the count.
 */
export function inJudgeOrder(jobs: readonly JudgeJob[]): JudgeJob[] {
  return [...groupBy(jobs, ({ domain }) => domain).values()].flatMap((own) =>
    [...groupBy(own, ({ group }) => group).values()].flatMap((turns) =>
      turns.toSorted((a, b) => a.ref.turnIdx - b.ref.turnIdx),
    ),
  );
}

/**
 * Which seed a try is asked under: a number of its own for each repeat, judgement, part and try, counted in blocks. A block holds the
 * tries of every repeat; the first is that of the first part of the first judgement, so that a prediction which is judged once is
 * asked under the seeds of old, whatever the count. `part` and `tried` are 0-based, `tried` is less than `maxRetries`.
 */
export function seedOffsetOf({ ref, index }: JudgeJob, part: number, tried: number, maxRetries: number): number {
  const block = index * MOST_PARTS + part;
  return (block * MOST_REPEATS + ref.repeat) * maxRetries + tried;
}
