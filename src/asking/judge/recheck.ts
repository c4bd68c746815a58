// `awb judge --recheck N`: stored rows are judged again with today's judge, so that a drifting judge shows.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readJudged } from '../../bench/judged.js';
import type { PredictionFile, PredictionRef } from '../../bench/predictions.js';
import { EXIT, type ExitCode, UserError } from '../../errors.js';
import { countedPoints, isRated } from '../../points.js';
import { rowId } from '../../row-id.js';
import { differencesOf, type Identity } from '../../run/identity.js';
import { pairedShift } from '../../score/clusters.js';
import { noiseOf } from '../../score/sampling.js';
import type { JudgedRow } from '../../types.js';
import { printBill } from '../bill/dry-run.js';
import { openRun } from '../run.js';
import { fileOfLabel, judgingsIn, RECHECK, type StoredJudging } from './judged-files.js';
import { type Judging, judgeIdentity, judgeRows, judgeStage } from './judging.js';
import { printRecheck, type Shift } from './recheck-report.js';
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
    const run = await openRun({
      kind: 'judge',
      dir: work.dir,
      name: `${stored.name}${RECHECK}${new Date().toISOString().slice(0, 10)}`,
      fresh: work.settings.fresh,
      dryRun: work.settings.dryRun,
      identity: (manifest) => ({ ...judgeIdentity(work, manifest), recheck: stored.manifest.fingerprint }),
      stateOf: judgementState,
      pricing: work.pricing,
    });
    try {
      const asked = [{ ...work, predictions }, run, sample, 1] as const;
      if (work.settings.dryRun) return await printBill(await judgeStage(...asked), work.target, work.settings);
      const result = await judgeRows(...asked);
      const after = result.manifest.counts.ok === 0 ? [] : (await readJudged(run.outputPath)).rows;
      printRecheck(work.io, work.settings, { judged: path, stored, result, shift: shiftOf(before.rows, after) });
      return result.exitCode;
    } finally {
      await run.close();
    }
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
