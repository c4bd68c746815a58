// What a recheck says: how far the judge's totals have shifted, and whether that is more than its own noise.

import { counted, intervalText, signed, twoDecimals } from '../../figures.js';
import { printable } from '../../printable.js';
import { estimateDocument } from '../../report/document.js';
import { madeWith } from '../../run/made-with.js';
import { isUniform, smallestEffect } from '../../score/intervals.js';
import { withShownPaths } from '../../settings/shown-path.js';
import type { Estimate, Io } from '../../types.js';
import { wayOn } from '../session.js';
import type { StageResult } from '../stage.js';
import type { StoredJudging } from './judged-files.js';

/** How the totals of the rows have changed that were judged then and now. */
export interface Shift {
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

/** Prints it to stdout, as text or, under `--json`, as one document. */
export function printRecheck(io: Io, settings: { readonly json: boolean }, recheck: Recheck): void {
  io.stdout.write(
    settings.json ? `${JSON.stringify(documentOf(recheck))}\n` : `${withShownPaths(linesOf(recheck).join('\n'), io)}\n`,
  );
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
