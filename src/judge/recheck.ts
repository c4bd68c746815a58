// `awb judge --recheck N`: stored rows are judged again with today's judge, so that a drifting judge shows.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readJudged } from '../benchmark/judged.js';
import type { PredictionFile, PredictionRef } from '../benchmark/predictions.js';
import { estimateDocument } from '../core/document.js';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { counted, intervalText, signed, twoDecimals } from '../core/figures.js';
import { differencesOf, type Identity } from '../core/identity.js';
import { countedPoints, isRated } from '../core/points.js';
import { printable } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import type { Estimate, JudgedRow } from '../core/types.js';
import { billOrAsk, withRun } from '../run/command.js';
import { madeWith } from '../run/made-with.js';
import type { Manifest } from '../run/manifest.js';
import { wayOn } from '../run/session.js';
import type { StageResult } from '../run/stage.js';
import { withShownPaths } from '../settings/shown-path.js';
import { pairedShift } from '../stats/clusters.js';
import { isUniform, smallestEffect } from '../stats/intervals.js';
import { noiseOf } from '../stats/sampling.js';
import { fileOfLabel, judgingsIn, RECHECK, type StoredJudging } from './judged-files.js';
import { type Judging, judgeIdentity, judgeStage } from './judging.js';
import { judgementState } from './records.js';

/**
 * Judges `count` rows of a stored judging again, into a file of today's beside it, and prints the shift of their totals with its
 * 95 % interval (points of 0-100, clustered by trajectory). Repeated on the same day it continues, and may take more rows.
 * It judges the stored file's own predictions again, whatever infer has written since.
 */
export async function recheck(
  work: Judging,
  count: number,
  open: (path: string) => Promise<PredictionFile>,
): Promise<ExitCode> {
  if (!work.mode.asksJudge) {
    throw new UserError(`--recheck measures the shift of a judge, and --mode ${work.settings.mode} asks none`);
  }
  if (!work.mode.rates) {
    throw new UserError(
      `--recheck measures the shift of a judge's ratings, and --mode ${work.settings.mode} makes none`,
    );
  }
  const stored = await storedJudging(work);
  const path = join(work.dir, `${stored.name}.jsonl`);
  const before = await readJudged(path);
  const predictions = await open(path);
  try {
    const sample = sampleOf(before.rows, predictions.refs, count);
    const name = `${stored.name}${RECHECK}${new Date().toISOString().slice(0, 10)}`;
    const { fresh, dryRun } = work.settings;
    const identity = (manifest: Manifest | undefined) => ({
      ...judgeIdentity(work, manifest),
      recheck: stored.manifest.fingerprint,
    });
    const { dir, pricing } = work;
    return await withRun(
      { kind: 'judge', dir, name, fresh, dryRun, identity, stateOf: judgementState, pricing },
      (run) =>
        billOrAsk(judgeStage({ ...work, predictions }, run, sample, 1), async (result) => {
          const after = result.manifest.counts.ok === 0 ? [] : (await readJudged(run.outputPath)).rows;
          const found = { judged: path, stored, result, shift: shiftOf(before.rows, after) };
          work.io.stdout.write(
            work.settings.json
              ? `${JSON.stringify(documentOf(found))}\n`
              : `${withShownPaths(linesOf(found).join('\n'), work.io)}\n`,
          );
          return result.exitCode;
        }),
    );
  } finally {
    await predictions.close();
  }
}

/** The judging to compare with: the labelled one, or one under these settings, whatever snapshot judged it. */
async function storedJudging(work: Judging): Promise<StoredJudging> {
  const { label } = work.settings;
  const judgings = await judgingsIn(work.dir);
  const differences = ({ manifest }: StoredJudging) =>
    differencesOf(withoutSnapshot(manifest.identity), withoutSnapshot(judgeIdentity(work, manifest)));
  const wanted = judgings.filter(({ name }) => label === undefined || name === fileOfLabel(label));
  const same = wanted.find((judging) => differences(judging).length === 0);
  if (same !== undefined) return same;
  const [other] = wanted;
  if (other === undefined) {
    throw new UserError(
      `--recheck needs a judging to compare with, and there is none${label === undefined ? '' : ` under the label "${label}"`} in ${work.dir}; leave --recheck out to judge first`,
      EXIT.inputMissing,
    );
  }
  throw new UserError(
    [
      `--recheck compares a judge with itself, and these settings are not those of ${other.name}.jsonl:`,
      ...differences(other).map((line) => `  ${line}`),
      'Give the settings of before.',
    ].join('\n'),
    EXIT.identityDiffers,
  );
}

/** The snapshot is what a recheck measures; everything else has to be as it was. */
function withoutSnapshot({ snapshot: _snapshot, ...identity }: Identity): Identity {
  return identity;
}

/** The same rows every time, and a smaller sample is part of a larger: judged rows, ranked by a hash of their id. */
function sampleOf(rows: readonly JudgedRow[], refs: readonly PredictionRef[], count: number): PredictionRef[] {
  const rank = (id: string) => createHash('sha256').update(`recheck ${id}`).digest('hex');
  const judged = firstJudgements(rows)
    .filter((row) => totalOf(row) !== undefined)
    .map(idOf);
  const taken = new Set(judged.sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, count));
  if (taken.size < 2) throw new UserError('--recheck needs at least two judged rows to compare', EXIT.badData);
  return refs.filter((ref) => taken.has(idOf(ref)));
}

/** A recheck judges each prediction once, so it compares with the first judgement of each. */
function firstJudgements(rows: readonly JudgedRow[]): JudgedRow[] {
  return rows.filter(({ index }) => index === 0);
}

function idOf({ key, repeat }: Pick<JudgedRow, 'key' | 'repeat'>): string {
  return rowId(key, repeat);
}

/** Undefined where no row could be judged again. */
function shiftOf(before: readonly JudgedRow[], after: readonly JudgedRow[]): Shift | undefined {
  const totals = new Map(firstJudgements(before).map((row) => [idOf(row), totalOf(row)]));
  const pairs = after.flatMap((row) => {
    const [a, b] = [totals.get(idOf(row)), totalOf(row)];
    return a === undefined || b === undefined ? [] : [{ a, b, cluster: row.trajectory }];
  });
  return pairs.length === 0 ? undefined : { estimate: pairedShift(pairs), noise: noiseOf(pairs) };
}

/** What the judge gave, in points of 0-100; undefined where it rated no dimension. */
function totalOf(row: JudgedRow): number | undefined {
  return isRated(row) ? countedPoints(row, 'total') : undefined;
}

/** How the totals of the rows have changed that were judged then and now. */
interface Shift {
  /** Now minus before, in points of 0-100. */
  readonly estimate: Estimate;
  /** The standard deviation of one judgement, in points: the judge's own noise. */
  readonly noise: number;
}

/** What a recheck has found. */
interface Recheck {
  readonly judged: string;
  readonly stored: StoredJudging;
  readonly result: StageResult;
  readonly shift: Shift | undefined;
}

/**
 * The document of `--json`. In points of 0-100: `shift`, null where nothing was compared, `judge_sd` and `smallest_shift` (what
 * these rows would have shown, with 80 % power). `drifted` is null where nothing can be concluded.
 */
function documentOf({ judged, stored, result, shift }: Recheck) {
  const { manifest } = result;
  return {
    schema: 'awb.recheck/1',
    exit_code: result.exitCode,
    state: manifest.state,
    judged,
    output: manifest.output?.file,
    snapshot_before: madeWith(stored.manifest).snapshot ?? null,
    snapshot_now: madeWith(manifest).snapshot ?? null,
    counts: manifest.counts,
    shift: shift === undefined ? null : estimateDocument(shift.estimate),
    judge_sd: shift?.noise ?? null,
    smallest_shift: (shift && smallestEffect(shift.estimate)) ?? null,
    drifted: (shift && hasDrifted(shift.estimate)) ?? null,
  };
}

/** Whether the interval leaves 0 out, or every row moved alike; undefined where nothing can be concluded. */
function hasDrifted(shift: Estimate): boolean | undefined {
  if (isUniform(shift)) return Math.abs(shift.value) > 1e-9;
  if (shift.low === undefined || shift.high === undefined) return undefined;
  return shift.low > 0 || shift.high < 0;
}

const CONCLUSIONS = {
  true: 'the judge has drifted: judge all runs that you compare again, with one and the same judge',
  false: 'no drift shown',
  undefined: 'nothing can be concluded without an interval: take more rows, of more trajectories',
};

function linesOf({ judged, stored, result, shift }: Recheck): string[] {
  const { counts, state, output } = result.manifest;
  const { snapshot: before = 'not reported' } = madeWith(stored.manifest);
  const { snapshot: now = 'not reported' } = madeWith(result.manifest);
  const lines = [
    `recheck of ${judged}: ${counts.ok} of ${counts.chosen} rows judged again${counts.failed > 0 ? `, ${counts.failed} failed` : ''}`,
    `judge before: ${printable(before)}; now: ${printable(now)}`,
  ];
  if (shift !== undefined) {
    const { estimate, noise } = shift;
    const least = smallestEffect(estimate);
    lines.push(`shift of the total: ${signed(estimate.value)} points (${surenessOf(estimate)})`);
    lines.push(CONCLUSIONS[`${hasDrifted(estimate)}`]);
    lines.push(`the judge's own noise: a judgement has a standard deviation of ${twoDecimals(noise)} points`);
    if (least !== undefined) {
      lines.push(
        `a shift of ${twoDecimals(least)} points is the smallest that these rows would have shown, with 80 % power`,
      );
    }
  }
  if (output !== undefined) lines.push(`written: ${output.file}`);
  if (state !== 'complete') {
    const why = result.stopReason === undefined ? '' : ` ${printable(result.stopReason)};`;
    lines.push(`${state}:${why} everything finished is saved; ${wayOn(false, result.exitCode)}`);
  }
  return lines;
}

function surenessOf(shift: Estimate): string {
  const { rows, clusters } = shift;
  const over = `${counted(rows, 'row')} in ${counted(clusters, 'trajectory', 'trajectories')}`;
  if (isUniform(shift)) return `the same for each of ${over}`;
  const interval = intervalText(shift, signed);
  return interval === undefined ? `${over}: no interval` : `95 % interval ${interval}, ${over}`;
}
