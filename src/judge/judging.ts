// Judging, complete or as a sample: predictions through a mode, in an open run; the judgings in a folder, each with its own files; and `awb
// judge --recheck N`, which judges stored rows again with today's judge to reveal drift.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { readJudged } from '../benchmark/judged.js';
import type { PredictedRow, PredictionFile, PredictionRef } from '../benchmark/predictions.js';
import { withMembers } from '../benchmark/row-text.js';
import { attacksIn, isSuspicious } from '../benchmark/suspicion.js';
import { estimateDocument } from '../core/document.js';
import { badData, closing, identityDiffers, inputMissing, UserError } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { differencesOf, fingerprintOf, type Identity, inHashOrder } from '../core/identity.js';
import { JUDGEMENT_KEYS, judgementMembers } from '../core/judged-row.js';
import { MOST_JUDGEMENTS, recordedJudgement, withoutPrediction } from '../core/judgement.js';
import { countedPoints, isRated } from '../core/points.js';
import { MOST_REPEATS } from '../core/prediction.js';
import { counted, intervalText, printable, signed, twoDecimals, withShownPaths } from '../core/printable.js';
import { readPrediction } from '../core/reply.js';
import { parseRowId, rowId } from '../core/row-id.js';
import type { Estimate, Io, JudgedRow } from '../core/types.js';
import { flagsOf } from '../infer/inferring.js';
import { billOrAsk, withRun } from '../run/command.js';
import type { JournalRecord } from '../run/journal.js';
import { madeWith } from '../run/made-with.js';
import { type Manifest, readManifest } from '../run/manifest.js';
import type { Pricing, RowSummary, Run } from '../run/run.js';
import { wayOn } from '../run/session.js';
import type { StageResult } from '../run/stage.js';
import { markOf, oneByOne, type Stage, type StageJob } from '../run/stage-contract.js';
import { priceOf, requirePriced, type Target } from '../run/target.js';
import type { ShownSettings } from '../settings/command.js';
import { noiseOf } from '../stats/aggregate.js';
import { pairedShift } from '../stats/clusters.js';
import { isUniform, smallestEffect } from '../stats/intervals.js';
import { holds, identityOfJudge, isDone, judgementState, openJudge, recordOf, stampOf } from './asking.js';
import { type Method, MOST_PARTS, type Mode } from './mode.js';
import { JUDGE_OPTIONS, type JudgedPredictions, type JudgeSettings } from './opening.js';

/** Everything that one judging works on. */
export interface Judging {
  readonly settings: JudgeSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly predictions: JudgedPredictions;
  /** The predictions' own manifest, if it lies next to them. */
  readonly inferred: Manifest | undefined;
  readonly mode: Mode;
  /** The opened mode. */
  readonly method: Method;
  /** Whom to ask; unused in modes that ask no judge. */
  readonly target: Target;
  readonly pricing: Pricing;
  readonly dir: string;
}

/**
 * Judgements of the given predictions as a stage, `count` of each.
 * @param refs in output order
 * @param chosen the predictions that are asked about; the output contains earlier judgements of the others
 * @throws UserError (2) for a budget in dollars without a price
 */
export function judgeStage(
  { settings, io, predictions, mode, method, target, pricing, shown, inferred }: Judging,
  run: Run,
  refs: readonly PredictionRef[],
  count: number,
  chosen: readonly PredictionRef[] = refs,
): Stage<JudgeJob> {
  if (mode.asksJudge) requirePriced(settings, run.ledger.usd !== undefined, target);
  const judge = openJudge(run, settings, method);
  const asks = ({ ref }: JudgeJob) =>
    mode.asksJudge && ref.failure === undefined && !predictions.settled?.has(rowId(ref.key, ref.repeat));
  const isHeld = (job: JudgeJob) => holds(run, job, markOf(run));
  const wanted = new Set(chosen);
  const isWanted = ({ ref }: JudgeJob) => wanted.has(ref);
  const isTaken = (job: JudgeJob) => isWanted(job) || run.journal.has(job.id);
  const { rows, ...output } = judgeOutput(predictions, refs, count, run.journal.ids(), isHeld, isTaken);
  const isPart = rows.filter(({ index }) => index === 0).length < refs.length;
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
    order: inJudgeOrder(rows.filter((job) => job.index < count && isWanted(job))),
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
    absent: settings.recheck === undefined && !isPart ? absentFrom(inferred, refs) : {},
    listeners: mode.asksJudge ? [judge.watch] : [],
  };
}

/**
 * The rows of the output, and the line of each. Judgements beyond the count are kept if they are valid, and not asked for otherwise.
 * @param isTaken which of the first `count` to include
 */
export function judgeOutput(
  predictions: Pick<PredictionFile, 'read'>,
  refs: readonly PredictionRef[],
  count: number,
  recorded: Iterable<string>,
  holds: (job: JudgeJob) => boolean,
  isTaken: (job: JudgeJob) => boolean = () => true,
) {
  const most = Math.max(count, recordedCount(recorded));
  const rows = jobsOf(refs, most).filter((job) => (job.index < count ? isTaken(job) : holds(job)));
  return {
    rows,
    isDone: (_job: JudgeJob, summary: RowSummary) => isDone(summary),
    /** The prediction's own text, with an earlier judgement in it replaced by this one. */
    async compose({ ref, index }: JudgeJob, { row }: JournalRecord) {
      const predicted = await predictions.read(ref);
      const { key, trajectory, repeat } = ref;
      const prediction = { key, trajectory, repeat, gen: predicted.gen, ...flagged(predicted) };
      const members = judgementMembers(prediction, recordedJudgement(row), index);
      return withMembers(predicted.text, JUDGEMENT_KEYS, members);
    },
    outputForm: { predictions: fingerprintOf({ rows: rows.map(({ id, ref }) => `${id} ${ref.stamp} ${ref.length}`) }) },
  };
}

/** The prediction's flags. An `awb` object brings its own, but cannot hide that the prediction is suspicious. */
function flagged({ gen, awb, sample }: PredictedRow) {
  const flags = flagsOf({ content: gen });
  if (!isSuspicious(attacksIn(readPrediction(gen)), sample)) return { flags, awb };
  const own = Array.isArray(awb.flags) ? awb.flags : ['suspicious'];
  return {
    flags: [...flags, 'suspicious' as const],
    awb: own.includes('suspicious') ? awb : { ...awb, flags: [...own, 'suspicious'] },
  };
}

/**
 * What the ratings depend on: the predictions, the judge, its instructions, and the reading of its replies. How often each is judged is not
 * included.
 */
export function judgeIdentity(work: Judging, stored: Manifest | undefined): Identity {
  const { settings, inferred, mode, method } = work;
  // Two checkpoints may be asked under the same name and settings: the file distinguishes them, wherever the folders are moved.
  const predictions = { file: relative(work.dir, work.predictions.path), run: inferred?.fingerprint };
  const own = mode.asksJudge ? identityOfJudge(work, stored) : method.identity;
  return { mode: settings.mode, predictions, ...own };
}

/** Rows that infer chose but that have no line in the predictions, by domain. */
export function absentFrom(inferred: Manifest | undefined, refs: Iterable<PredictionRef>): Record<string, number> {
  const absent = new Map(Object.entries(inferred?.chosen ?? {}));
  for (const { domain } of refs) absent.set(domain, (absent.get(domain) ?? 0) - 1);
  return Object.fromEntries([...absent].filter(([, rows]) => rows > 0));
}

/** One judgement of one prediction. */
export interface JudgeJob extends StageJob {
  readonly ref: PredictionRef;
  /** The index of this judgement of the prediction, from 0. */
  readonly index: number;
  /** Identifies what its record is made from. */
  readonly stamp: string;
}

/**
 * The first `count` judgements of every prediction, in the order of the file; those of one prediction are adjacent. If the prediction is
 * missing there is nothing to judge, and one record says so.
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

/** The most judgements of any one prediction in a journal, by the ids of its records. */
export function recordedCount(ids: Iterable<string>): number {
  const most = Array.from(ids).reduce((most, id) => Math.max(most, (parseRowId(id)?.index ?? 0) + 1), 0);
  return Math.min(most, MOST_JUDGEMENTS);
}

/**
 * Rows with the same judge prompt are adjacent, and within them the turns of a trajectory, so that prefix caches hit. The judgements of one
 * prediction share their entire prompt, so they are adjacent too: only the first one is paid in full. To get every prediction judged once
 * before any is judged twice, run the command first without the count, then with it.
 */
export function inJudgeOrder(jobs: readonly JudgeJob[]): JudgeJob[] {
  return [...groupBy(jobs, ({ domain }) => domain).values()].flatMap((own) =>
    [...groupBy(own, ({ group }) => group).values()].flatMap((turns) =>
      turns.toSorted((a, b) => a.ref.turnIdx - b.ref.turnIdx),
    ),
  );
}

/**
 * The seed offset of a try: a separate number for each repeat, judgement, part and try, counted in blocks. A block holds the tries of every
 * repeat; the first block belongs to the first part of the first judgement, so that a prediction that is judged once keeps the seeds of
 * earlier versions, whatever the count. `part` and `tried` are 0-based, `tried` is less than `maxRetries`.
 */
export function seedOffsetOf({ ref, index }: JudgeJob, part: number, tried: number, maxRetries: number): number {
  const block = index * MOST_PARTS + part;
  return (block * MOST_REPEATS + ref.repeat) * maxRetries + tried;
}

/** A judging that was started in the folder: `<name>.jsonl`, its journal and its manifest. */
type StoredJudging = Awaited<ReturnType<typeof judgingsIn>>[number];

const FIRST = 'judged';
/** Part of the names of rechecks, which are not judgings of their own. */
export const RECHECK = '.recheck-';

/**
 * The file that a judging belongs to: the one started under the same identity; `judged` if the folder has none yet; otherwise a new one,
 * named by the label, or after what judges. Without its extension; `why` says why it is not the folder's first.
 */
export async function chooseFile(
  dir: string,
  identity: (stored: Manifest | undefined) => Identity,
  names: { readonly label: string | undefined; readonly judge: string },
) {
  const stored = await judgingsIn(dir);
  const labelled = names.label === undefined ? undefined : fileOfLabel(names.label);
  // The manifest of a killed run contains the counts from before the run: only a run that was stopped properly is believed.
  const begun = stored.filter(({ manifest }) => manifest.state !== 'stopped' || manifest.counts.ok > 0);
  const isSame = ({ manifest }: StoredJudging) =>
    fingerprintOf(identity(manifest)) === fingerprintOf(manifest.identity);
  const own = begun.find(({ name }) => name === labelled) ?? stored.find(isSame);
  if (own !== undefined) return { name: own.name, replaces: false, why: undefined };
  const first = begun.find(({ name }) => name === FIRST);
  const isStray = !stored.some(({ name }) => name === FIRST) && existsSync(join(dir, `${FIRST}.jsonl`));
  const isFirst = first === undefined && !isStray;
  const derived = `${names.judge}-${fingerprintOf(identity(undefined)).slice(0, 6)}`;
  const name = isFirst ? FIRST : (labelled ?? fileOfLabel(derived));
  /** Whether a judging of that name was stopped before it judged anything (a mistyped model, a wrong key); it is then replaced. */
  const replaces = stored.some((judging) => judging.name === name);
  if (isFirst) return { name, replaces, why: undefined };
  const holds =
    first === undefined
      ? 'was not written by awb judge'
      : `contains another judging (${differencesOf(first.manifest.identity, identity(first.manifest)).join('; ')})`;
  return { name, replaces, why: `${FIRST}.jsonl ${holds}; it is kept, and this judging goes to ${name}.jsonl` };
}

/** All judgings of a folder, by name. @throws UserError (65) if a manifest cannot be read. */
async function judgingsIn(dir: string) {
  const files = await readdir(dir).catch(() => []);
  const found: { readonly name: string; readonly manifest: Manifest }[] = [];
  for (const file of files.sort()) {
    if (!/^judged(\..*)?\.manifest\.json$/.test(file) || file.includes(RECHECK)) continue;
    const manifest = await readManifest(join(dir, file));
    if (manifest?.kind === 'judge') found.push({ name: file.slice(0, -'.manifest.json'.length), manifest });
  }
  return found;
}

/** The name of a labelled judging's files, safe for any file system. */
function fileOfLabel(label: string): string {
  const fit = label.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '');
  return `${FIRST}.${fit || 'judging'}`;
}

/**
 * Judges `count` rows of a stored judging again, into today's file next to it, and prints the shift of their totals with its 95 % interval
 * (points of 0-100, clustered by trajectory). Repeating it on the same day continues it, and may take more rows. It judges the stored
 * file's own predictions again, whatever infer has written since.
 */
export async function recheck(work: Judging, count: number, open: (path: string) => Promise<PredictionFile>) {
  const { mode, dir, pricing, io } = work;
  const { fresh, dryRun, json } = work.settings;
  if (!mode.asksJudge || !mode.rates) {
    throw new UserError(`--recheck measures the shift of ratings, but --mode ${work.settings.mode} produces none`);
  }
  const stored = await storedJudging(work);
  const judged = join(dir, `${stored.name}.jsonl`);
  const before = totalsOf((await readJudged(judged)).rows);
  const name = `${stored.name}${RECHECK}${new Date().toISOString().slice(0, 10)}`;
  const begun = { recheck: stored.manifest.fingerprint };
  const identity = (manifest: Manifest | undefined) => ({ ...judgeIdentity(work, manifest), ...begun });
  const opening = { kind: 'judge', dir, name, fresh, dryRun, identity, stateOf: judgementState, pricing } as const;
  return closing(await open(judged), (predictions) => {
    const sample = sampleOf(predictions.refs, [...before.keys()], count);
    return withRun(opening, (run) =>
      billOrAsk(judgeStage({ ...work, predictions }, run, sample, 1), async (result) => {
        const after = totalsOf(result.manifest.counts.ok > 0 ? (await readJudged(run.outputPath)).rows : []);
        const pairs = [...after].flatMap(([id, { points: b, cluster }]) => {
          const a = before.get(id)?.points;
          return a === undefined ? [] : [{ a, b, cluster }];
        });
        const { document, lines } = told(judged, stored, result, pairs);
        io.stdout.write(`${json ? JSON.stringify(document) : withShownPaths(lines.join('\n'), io)}\n`);
        return result.exitCode;
      }),
    );
  });
}

/** What the `pairs` of judgements, then and now, say about the judge: the document of `--json`, and lines for people. */
function told(
  judged: string,
  stored: StoredJudging,
  { manifest, exitCode, stopReason }: StageResult,
  pairs: readonly { readonly a: number; readonly b: number; readonly cluster: string }[],
) {
  const { counts, state, output } = manifest;
  const shift = pairs.length === 0 ? undefined : pairedShift(pairs);
  const before = madeWith(stored.manifest).snapshot;
  const now = madeWith(manifest).snapshot;
  const document = {
    schema: 'awb.recheck/1',
    exit_code: exitCode,
    state,
    judged,
    output: output?.file,
    snapshot_before: before ?? null,
    snapshot_now: now ?? null,
    counts,
    // In points of 0-100, like the next two; null if nothing was compared.
    shift: shift === undefined ? null : estimateDocument(shift),
    // The standard deviation of one judgement: the judge's own noise.
    judge_sd: shift === undefined ? null : noiseOf(pairs),
    // The smallest shift these rows would have shown, with 80 % power.
    smallest_shift: (shift && smallestEffect(shift)) ?? null,
    // Null if no conclusion is possible.
    drifted: (shift && hasDrifted(shift)) ?? null,
  };
  const { smallest_shift: least } = document;
  const lines = [
    `recheck of ${judged}: ${counts.ok} of ${counts.chosen} rows judged again${counts.failed > 0 ? `, ${counts.failed} failed` : ''}`,
    `judge before: ${printable(before ?? 'not reported')}; now: ${printable(now ?? 'not reported')}`,
  ];
  if (shift !== undefined) {
    const over = `${counted(shift.rows, 'row')} in ${counted(shift.clusters, 'trajectory', 'trajectories')}`;
    const interval = intervalText(shift, signed);
    const sureness = interval === undefined ? 'no interval' : `95 % interval ${interval}`;
    lines.push(
      `shift of the total: ${signed(shift.value)} points (${sureness}, ${over})`,
      CONCLUSIONS[`${document.drifted}`],
      `the judge's own noise: a judgement has a standard deviation of ${twoDecimals(document.judge_sd ?? 0)} points`,
      ...(least === null
        ? []
        : [`minimum detectable shift with these rows, at 80 % power: ${twoDecimals(least)} points`]),
    );
  }
  if (output !== undefined) lines.push(`written: ${output.file}`);
  if (state !== 'complete') {
    const why = stopReason === undefined ? '' : ` ${printable(stopReason)};`;
    lines.push(`${state}:${why} all finished work is saved; ${wayOn(false, exitCode)}`);
  }
  return { document, lines };
}

/** The judging to compare with: the labelled one, or one under these settings, whatever snapshot judged it. */
async function storedJudging(work: Judging): Promise<StoredJudging> {
  const { label } = work.settings;
  const judgings = await judgingsIn(work.dir);
  // The snapshot is what a recheck measures; everything else must be unchanged.
  const snapshot = undefined;
  const differences = ({ manifest }: StoredJudging) =>
    differencesOf({ ...manifest.identity, snapshot }, { ...judgeIdentity(work, manifest), snapshot });
  const wanted = judgings.filter(({ name }) => label === undefined || name === fileOfLabel(label));
  const same = wanted.find((judging) => differences(judging).length === 0);
  if (same !== undefined) return same;
  const [other] = wanted;
  if (other === undefined) {
    throw inputMissing(
      `--recheck needs a judging to compare with, but there is none${label === undefined ? '' : ` under the label "${label}"`} in ${work.dir}; leave --recheck out to judge first`,
    );
  }
  throw identityDiffers(
    [
      `--recheck compares a judge with itself; repeat the settings of ${other.name}.jsonl, from which these differ:`,
      ...differences(other).map((line) => `  ${line}`),
    ].join('\n'),
  );
}

/** The total of each prediction's first judgement, in points of 0-100, since a recheck judges each once; only if it rated any dimension. */
function totalsOf(rows: readonly JudgedRow[]) {
  return new Map(
    rows.flatMap((row) => {
      const points = row.index === 0 && isRated(row) ? countedPoints(row, 'total') : undefined;
      return points === undefined ? [] : [[rowId(row.key, row.repeat), { points, cluster: row.trajectory }] as const];
    }),
  );
}

/** Judged rows, ranked by a hash of their id: the sample is always the same, and a smaller one is part of a larger one. */
function sampleOf(refs: readonly PredictionRef[], judged: readonly string[], count: number): PredictionRef[] {
  const taken = new Set(inHashOrder(judged, (id) => `recheck ${id}`).slice(0, count));
  if (taken.size < 2) throw badData('--recheck needs at least two judged rows to compare');
  return refs.filter(({ key, repeat }) => taken.has(rowId(key, repeat)));
}

/** Whether the interval excludes 0, or every row moved equally; undefined if no conclusion is possible. */
function hasDrifted(shift: Estimate): boolean | undefined {
  if (isUniform(shift)) return Math.abs(shift.value) > 1e-9;
  if (shift.low === undefined || shift.high === undefined) return undefined;
  return shift.low > 0 || shift.high < 0;
}

const CONCLUSIONS = {
  true: 'the judge has drifted: rejudge all runs that you compare, with one judge',
  false: 'no drift shown',
  null: 'no conclusion without an interval: recheck more rows, from more trajectories',
};
