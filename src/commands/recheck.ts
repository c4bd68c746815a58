// `awb judge --recheck N`: stored rows are judged again with today's judge, so that a drifting judge shows.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readJudged } from '../bench/judged.js';
import { EXIT, type ExitCode, UserError } from '../errors.js';
import { recordId } from '../run/journal.js';
import { differencesOf, type Manifest, readManifest } from '../run/manifest.js';
import { pairedShift } from '../score/statistics.js';
import type { Estimate, JudgedRow } from '../types.js';
import { type JudgeJob, type Judging, jobsOf, judgeIdentity, judgeRows, summarise } from './judging.js';
import { openRun } from './stage.js';

/**
 * Judges `count` rows of the folder's first judging again, into a file of today's, and prints the shift of their totals with its
 * 95 % interval (points of 0-100, clustered by trajectory). Run again on the same day it continues.
 */
export async function recheck(work: Judging, count: number): Promise<ExitCode> {
  const name = work.settings.label === undefined ? 'judged' : `judged.${work.settings.label}`;
  const stored = await storedJudging(work, name);
  const before = await readJudged(join(work.dir, `${name}.jsonl`));
  const sample = sampleOf(before.rows, jobsOf(work.predictions.refs), count);
  const day = new Date().toISOString().slice(0, 10);
  const run = await openRun({
    kind: 'judge',
    dir: work.dir,
    name: `${name}.recheck-${day}`,
    fresh: work.settings.fresh,
    identity: (manifest) => ({ ...judgeIdentity(work, manifest), recheck: { of: stored.fingerprint, rows: count } }),
    summarise,
  });
  try {
    const result = await judgeRows(work, run, sample);
    const after = await readJudged(run.outputPath);
    const shift = shiftOf(before.rows, after.rows);
    report(work, stored, result.manifest, shift);
    return result.exitCode;
  } finally {
    await run.close();
  }
}

async function storedJudging(work: Judging, name: string): Promise<Manifest> {
  const path = join(work.dir, `${name}.manifest.json`);
  const stored = await readManifest(path);
  if (stored === undefined || work.pack === undefined) {
    throw new UserError(
      `--recheck needs a judging by rubric to compare with, and ${path} is not there; run awb judge first`,
      EXIT.inputMissing,
    );
  }
  // Everything but the snapshot has to be as it was: the snapshot is what is being measured.
  const { snapshot: _stored, ...was } = stored.identity;
  const { snapshot: _now, ...is } = judgeIdentity(work, stored);
  const differences = differencesOf(was, is);
  if (differences.length > 0) {
    throw new UserError(
      [
        `--recheck compares a judge with itself, and these settings differ from ${path}:`,
        ...differences.map((line) => `  ${line}`),
      ].join('\n'),
      EXIT.identityDiffers,
    );
  }
  return stored;
}

/** The same rows every time: judged ones, ranked by a hash of their key. */
function sampleOf(rows: readonly JudgedRow[], jobs: readonly JudgeJob[], count: number): JudgeJob[] {
  const rank = (id: string) => createHash('sha256').update(`recheck ${id}`).digest('hex');
  const judged = rows.filter((row) => row.failed === 0).map((row) => recordId(row.key, row.repeat));
  const taken = new Set(judged.sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, count));
  const sample = jobs.filter((job) => taken.has(job.id));
  if (sample.length < 2) throw new UserError('--recheck needs at least two judged rows', EXIT.badData);
  return sample;
}

function shiftOf(before: readonly JudgedRow[], after: readonly JudgedRow[]): Estimate {
  const totals = new Map(before.map((row) => [recordId(row.key, row.repeat), row.total]));
  const pairs = after
    .filter((row) => row.failed === 0)
    .map((row) => ({
      a: score(totals.get(recordId(row.key, row.repeat)) as number),
      b: score(row.total),
      cluster: row.trajectory,
    }));
  return pairedShift(pairs);
}

/** A rating of 1-5 on the scale of 0-100. */
function score(rating: number): number {
  return ((rating - 1) / 4) * 100;
}

function report(work: Judging, before: Manifest, after: Manifest, shift: Estimate): void {
  const { settings, io } = work;
  const snapshots = { before: before.identity.snapshot, after: after.identity.snapshot };
  if (settings.json) {
    io.stdout.write(
      `${JSON.stringify({ schema: 'awb.recheck/1', ...snapshots, shift, output: after.output?.file })}\n`,
    );
    return;
  }
  const interval =
    shift.low === undefined || shift.high === undefined
      ? 'no interval: the rows fall into one trajectory'
      : `95 % interval ${signed(shift.low)} to ${signed(shift.high)}`;
  const drifted = shift.low !== undefined && shift.high !== undefined && (shift.low > 0 || shift.high < 0);
  io.stdout.write(
    [
      `recheck of ${shift.rows} rows in ${shift.clusters} trajectories`,
      `judge before: ${snapshots.before ?? 'not reported'}; today: ${snapshots.after ?? 'not reported'}`,
      `shift of the total: ${signed(shift.value)} points (${interval})`,
      drifted
        ? 'the judge has drifted: judge all runs that you compare with the same judge again'
        : 'no drift shown: the interval includes 0',
      '',
    ].join('\n'),
  );
}

function signed(points: number): string {
  return `${points >= 0 ? '+' : ''}${points.toFixed(2)}`;
}
